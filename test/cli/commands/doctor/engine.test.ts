import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Delivery, insertDeliveries } from '../../../../src/engine/tables/deliveries.js'
import { type AsyncJob, insertJob } from '../../../../src/engine/tables/jobs.js'
import { listMembers, listWorkspaces } from '../../../../src/engine/tables/members.js'
import { type NewRun, runsOver } from '../../../../src/runs/journal/runs.js'
import { fileLocks } from '../../../../src/runs/records.js'
import { openState } from '../../../../src/storage/state/open.js'
import { eventsOver } from '../../../../src/storage/state/webhook-inbox.js'
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

  it.each(['event', 'run'])('warns about an %s from the future', async (kind) => {
    const state = await openState(here.path('state.db'))
    const later = Date.now() + day
    if (kind === 'run') await runsOver(state).add({ ...run, startedAt: later })
    else await eventsOver(state).keep({ ...event, receivedAt: later })
    await state.close()
    await here.says(/^warning \| A record of this machine is dated/, 'clock')
  })
})

const event = {
  id: 'e1',
  path: 'p',
  event: 'record',
  search: null,
  verified: true,
  headers: {},
  body: '{}',
}
const run: NewRun = {
  id: 'run-1',
  identityKey: 'k',
  operation: 'accounts.enrich',
  target: 'local',
  workspace: 'ours',
  file: '/in.csv',
  fileHash: 'h',
  profile: 'default',
  request: '{}',
  output: null,
  total: 9,
  startedAt: 1,
}

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

/** Adds jobs and deliveries to the engine. */
const working = (jobs: readonly Partial<AsyncJob>[], deliveries: readonly Partial<Delivery>[] = []) =>
  here.engine((_, store) =>
    store.transaction(async (tx) => {
      const [used] = await listWorkspaces(tx)
      const workspaceId = used?.id ?? ''
      const [member] = await listMembers(tx, workspaceId)
      const usual = { ...job, workspaceId, memberId: member?.id ?? '', held: 0, createdAt: Date.now() }
      for (const one of jobs) await insertJob(tx, { ...usual, ...one })
      await insertDeliveries(
        tx,
        deliveries.map((one, at) => ({ ...delivery(workspaceId, at), ...one })),
      )
    }),
  )

const delivery = (workspaceId: string, at: number): Delivery => ({
  id: `d${at}`,
  workspaceId,
  jobId: 'j1',
  seq: at + 1,
  event: 'stack_import.record',
  url: 'https://hooks.example/in/secret-path',
  first: 1,
  last: 1,
  part: null,
  parts: null,
  state: 'pending',
  attempts: 0,
  dueAt: Date.now(),
  status: null,
  error: null,
  createdAt: Date.now(),
  finishedAt: null,
  token: null,
  leaseUntil: 0,
})

describe('doctor: jobs', () => {
  it('accepts no open jobs, or jobs with a worker', async () => {
    expect(await here.lines('jobs')).toEqual(['ok | No jobs are open. | '])
    await working([{ id: 'j1', state: 'running', leaseUntil: Date.now() + minutes }, { id: 'j2' }])
    expect(await here.lines('jobs')).toEqual(['ok | 2 jobs open, none stuck. | '])
  })

  it.each([
    [{ state: 'running', leaseUntil: 1 }, '(j1) is running without a worker'],
    [{ state: 'queued', createdAt: Date.now() - 11 * minutes }, '(j1) is waiting for longer than 10 minutes'],
    [{ state: 'queued', attempts: 3 }, '(j1) is at attempt 3 or later'],
  ] as const)('warns about a job with %j', async (change, text) => {
    await working([{ id: 'j1', ...change }])
    expect(await here.look('jobs')).toMatchObject([
      { status: 'warning', text: expect.stringContaining(text) },
    ])
  })

  it('counts several waiting jobs in one warning', async () => {
    await working([
      { id: 'j1', createdAt: 1 },
      { id: 'j2', createdAt: 2 },
    ])
    await here.says(
      /^warning \| 2 jobs \(j\d, …\) are waiting .* \| Run them: prospect engine jobs run/,
      'jobs',
    )
  })
})

describe('doctor: deliveries', () => {
  it('accepts no open deliveries, or none overdue', async () => {
    expect(await here.lines('deliveries')).toEqual(['ok | No delivery is open or failed. | '])
    await working([{ id: 'j1' }], [{}])
    expect(await here.lines('deliveries')).toEqual(['ok | 1 delivery open, none overdue. | '])
  })

  it('warns about overdue deliveries', async () => {
    await working([{ id: 'j1' }], [{ dueAt: Date.now() - 11 * minutes }])
    await here.says(
      /^warning \| 1 delivery \(d0\) is due for longer .* \| Send what is due with prospect engine jobs run/,
      'deliveries',
    )
  })

  it('warns about failed deliveries without the path of their address', async () => {
    await working([{ id: 'j1' }], [{ state: 'failed', status: 410 }, { state: 'failed' }])
    const [line] = await here.lines('deliveries')
    expect(line).toMatch(/^warning \| 2 deliveries failed for good; the newest, to hooks\.example: /)
    expect(line).not.toContain('secret-path')
  })
})

describe('doctor: signing secret', () => {
  it('accepts a missing signing secret before the first delivery', async () => {
    await here.says(/^ok /, 'signing secret')
  })

  it('warns about a signing secret older than a year until it is rotated', async () => {
    const secret = await here.engine((admin) => admin.webhookSecret(false))
    const [fresh] = await here.lines('signing secret')
    expect(fresh).toMatch(/^ok \| The signing secret has not been changed since/)
    expect(fresh).not.toContain(secret)
    await here.engine((admin) => admin.advanceClock(366 * day))
    await here.says(
      /^warning .* for more than a year\. \| prospect engine webhooks secret --rotate/,
      'signing secret',
    )
    await here.engine((admin) => admin.webhookSecret(true))
    await here.says(/^ok /, 'signing secret')
  })
})

describe('doctor: runs', () => {
  const stop = async (...runs: readonly Partial<NewRun>[]) => {
    const state = await openState(here.path('state.db'))
    for (const each of runs) await runsOver(state).add({ ...run, ...each })
    await state.close()
  }
  const old = (path: string) => utimes(path, 1, 1)

  it('accepts a stopped run without a partial output', async () => {
    await stop({})
    await here.says(/^ok /, 'runs')
  })

  it('warns about a stopped run with a partial output, and suggests to resume it', async () => {
    const output = here.path('out.csv')
    await stop({ output })
    await here.says(/^ok /, 'runs')
    await writeFile(`${output}.partial`, '')
    expect(await here.lines('runs')).toEqual([
      `warning | The run run-1 was stopped after 0 of 9 rows; they are in ${output}.partial. | prospect runs resume run-1`,
    ])
  })

  it('says nothing of a run that is under way', async () => {
    const output = here.path('out.csv')
    await stop({ output })
    await writeFile(`${output}.partial`, '')
    const locks = fileLocks({ home: { state: here.path('state.db') }, clock: { now: () => Date.now() } })
    const lock = await locks.take(run.identityKey)
    await here.says(/^ok /, 'runs')
    await lock?.release()
    await here.says(/^warning /, 'runs')
  })

  it('names the newest stopped runs and counts the others', async () => {
    const output = here.path('out.csv')
    await writeFile(`${output}.partial`, '')
    await stop(...['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, output })))
    const found = await here.lines('runs')
    expect(found.map((line) => /run (\w) /.exec(line)?.[1])).toEqual(['e', 'd', 'c', undefined])
    expect(found.at(-1)).toBe('warning | 2 more runs were stopped. | prospect runs list')
  })

  it('warns about an old folder without a run', async () => {
    await stop({})
    await mkdir(here.path('runs/run-1'), { recursive: true })
    await mkdir(here.path('runs/gone'))
    await here.says(/^ok /, 'runs')
    await old(here.path('runs/gone'))
    await old(here.path('runs/run-1'))
    await here.says(/^warning \| 1 folder of no run in .*runs\./, 'runs')
  })

  it('warns about an old partial file', async () => {
    await writeFile(here.path('config.json.1.partial'), '')
    await old(here.path('config.json.1.partial'))
    expect(await here.look('runs')).toMatchObject([
      { status: 'warning', hint: `rm ${here.path('config.json.1.partial')}` },
    ])
  })
})
