import { writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Delivery, insertDeliveries } from '../../../../src/engine/tables/deliveries.js'
import { insertJob } from '../../../../src/engine/tables/jobs.js'
import { listMembers, listWorkspaces } from '../../../../src/engine/tables/members.js'
import { job } from '../../../conformance/store-work.js'
import { canary } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { place } from './place.js'

const here = perTest(place)
beforeEach(async () => {
  await here.json('init')
  await here.json('engine', 'status')
})

const minutes = 60_000
const day = 86_400_000

describe('doctor: clock', () => {
  it('accepts an engine clock that shows the time', async () => {
    await here.says(/^ok /, 'clock')
  })

  it('warns about a clock that was moved or frozen', async () => {
    await here.engine((admin) => admin.advanceClock(day))
    await here.says(
      /^warning \| The engine clock was changed: .* \| Set it to real time: prospect engine clock reset/,
      'clock',
    )
    await here.engine((admin) => admin.setClock(Date.parse('2030-01-01T00:00:00Z'), true))
    await here.says('is frozen at 2030-01-01T00:00:00.000Z', 'clock')
  })

  it('warns about a ledger from the future', async () => {
    const clock = { now: () => Date.now() - 10 * minutes }
    await here.says(/^warning \| The newest ledger entry is dated .*in the future/, 'clock', { clock })
  })
})

describe('doctor: workspace', () => {
  it('names the faults that are set', async () => {
    await here.engine((admin) => admin.addFault({ where: 'accounts.enrich', rules: { status: 500 } }))
    await here.engine((admin) => admin.addFault({ where: 'deliveries', rules: { lose: true } }))
    expect(await here.lines('workspace')).toEqual([
      expect.stringMatching(/^ok/),
      'warning | Faults are set, so that calls or deliveries fail: f1 (accounts.enrich), f2 (deliveries). | To remove them: prospect engine faults clear',
    ])
  })

  it('names the workspace and its plan', async () => {
    expect(await here.lines('workspace')).toEqual(['ok | The workspace Local has the plan growth. | '])
  })

  it('warns that an unlisted plan has the limits of Free', async () => {
    await here.engine((admin) => admin.setPlan('Gold'))
    await here.says(/^warning .*limits of Free/, 'workspace')
  })
})

describe('doctor: key', () => {
  const stored = 'The stored key'

  it('accepts the stored key', async () => {
    expect(await here.lines('key')).toEqual([`ok | ${stored} is accepted, as me@localhost. | `])
  })

  it('reports a revoked key', async () => {
    await here.engine(async (admin) => {
      for (const { id } of await admin.keys()) await admin.revokeKey(id)
    })
    await here.says(
      /^problem \| The stored key was revoked at .* \| Take "local:.*" out of .*credentials\.json/,
      'key',
    )
  })

  it("reports a key that has expired by the engine's clock", async () => {
    const expiresAt = Date.now() + day
    const { key } = await here.engine((admin) => admin.createKey({ member: 'me@localhost', expiresAt }))
    const env = { PROSPECT_API_KEY: key }
    const look = () => here.look('key', { env })
    expect(await look()).toMatchObject([{ status: 'ok' }])
    await here.engine((admin) => admin.advanceClock(2 * day))
    expect(await look()).toMatchObject([{ status: 'problem', text: expect.stringContaining('expired at') }])
  })

  it('warns about a key with limited scopes', async () => {
    const made = await here.engine((admin) => admin.createKey({ member: 'me@localhost', scopes: ['leads'] }))
    await here.says(/^warning .* for leads only/, 'key', { env: { PROSPECT_API_KEY: made.key } })
  })

  it('reports an unknown key without printing it', async () => {
    const [line] = await here.lines('key', { env: { PROSPECT_API_KEY: canary } })
    expect(line).toMatch(
      /^problem \| The key given .* is not known to the engine\. \| Unset PROSPECT_API_KEY/,
    )
    expect(line).not.toContain(canary.slice(0, 8))
  })

  it('says that a key will be created when none is stored', async () => {
    await writeFile(here.path('credentials.json'), '{"keys":{}}')
    expect(await here.look('key')).toMatchObject([
      { status: 'ok', text: expect.stringContaining('No key is stored') },
    ])
  })

  it('reports damaged credentials without printing them', async () => {
    await writeFile(here.path('credentials.json'), `{"keys": ${canary}`)
    const [line] = await here.lines('key')
    expect(line).toMatch(/^problem .*credentials\.json is damaged/)
    expect(line).not.toContain(canary)
  })

  it('ignores a given key that is for a server', async () => {
    const options = { baseUrl: 'https://api.example.com/api/v2' }
    await here.says(`${stored} is accepted`, 'key', { options, env: { PROSPECT_API_KEY: canary } })
  })
})

describe('doctor: sessions', () => {
  it('accepts valid sessions', async () => {
    await here.says(/^ok /, 'sessions')
  })

  it('warns about each invalid session', async () => {
    await here.engine((admin) => admin.setSession({ network: false }))
    await here.says(
      /^warning \| The network session .* \| prospect engine session set --network true/,
      'sessions',
    )
    await here.engine((admin) => admin.setSession({ premium: false }))
    expect(await here.look('sessions')).toHaveLength(2)
  })
})

const delivery: Delivery = {
  id: 'd1',
  workspaceId: '',
  jobId: 'j1',
  seq: 1,
  event: 'stack_import.record',
  url: 'https://hooks.example/in',
  first: 1,
  last: 1,
  part: null,
  parts: null,
  state: 'pending',
  attempts: 0,
  dueAt: 1,
  status: null,
  error: null,
  createdAt: 1,
  finishedAt: null,
  token: null,
  leaseUntil: 0,
}

describe('doctor: jobs', () => {
  it('counts open jobs and deliveries, and warns about deliveries that failed', async () => {
    await here.says('ok | No job or delivery is open. | ', 'jobs')
    await here.engine((_, store) =>
      store.transaction(async (tx) => {
        const [workspace] = await listWorkspaces(tx)
        const [member] = await listMembers(tx, workspace?.id ?? '')
        const ids = { workspaceId: workspace?.id ?? '', memberId: member?.id ?? '' }
        await insertJob(tx, { ...job, ...ids, id: 'j1', held: 0 })
        await insertDeliveries(tx, [
          { ...delivery, ...ids, id: 'd1', seq: 1 },
          { ...delivery, ...ids, id: 'd2', seq: 2, state: 'failed' },
        ])
      }),
    )
    expect(await here.lines('jobs')).toEqual([
      expect.stringMatching(/^ok \| 1 job and 1 delivery are open\. \| .* prospect engine jobs run/),
      expect.stringMatching(
        /^warning \| 1 delivery failed for good\. \| .* prospect engine deliveries retry ID/,
      ),
    ])
  })
})
