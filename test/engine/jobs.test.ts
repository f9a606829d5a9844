import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Provider } from '../../src/api/ports/ports.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { keepStep, LeaseLost } from '../../src/engine/jobs/progress.js'
import { createEngine } from '../../src/engine/request/engine.js'
import {
  type AsyncJob,
  claimJob,
  findJob,
  insertJob,
  jobStates,
  listRecords,
  renewJob,
  updateJob,
} from '../../src/engine/tables/jobs.js'
import { findWorkspace, insertWorkspace } from '../../src/engine/tables/members.js'
import { createWorker, runJob } from '../../src/engine/worker/worker.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { openBench, randomIds } from '../support/engine.js'
import { idOf, portsOf } from './fake-sender.js'

const hook = 'https://hook.example/'
const search = { webhook_url: hook, keyword: 'known' }
const lead = { ...search, live: false }
const bench = perTest(openBench)

async function finished(id: string): Promise<AsyncJob> {
  const job = await createWorker(portsOf(bench)).finish(id)
  if (!job) throw new Error('the job was not free')
  return job
}

const recordsOf = (id: string) => bench.store.read((tx) => listRecords(tx, id, { after: 0 }, 100_000))

const position = () => bench.store.read((tx) => readBalances(tx, bench.workspaceId))

describe('an import', () => {
  it.each([
    [120, 500, 120, true],
    [120, 100, 100, false],
    [120, 120, 120, false],
    [500, 230, 230, false],
  ])(
    'with a quota of %i left and a limit of %i keeps %i: truncated %s',
    async (quota, limit, kept, truncated) => {
      bench.source.matches = 230
      await bench.admin.setQuotas({ dailyProfiles: quota })
      const { body } = await bench.call('leads.advanced_search', { ...lead, limit })
      const job = await finished(idOf(body))
      expect([job.done, job.truncated, job.state]).toEqual([kept, truncated, 'finished'])
      expect(await recordsOf(job.id)).toHaveLength(kept)
    },
  )

  it('leaves out the fields that scale leaves out', async () => {
    bench.source.matches = 1
    const { body } = await bench.call('leads.advanced_search', { ...lead, scale: true })
    await finished(idOf(body))
    const saved = (await bench.call('searches.get', { id: idOf(body) })).body as { leads: { lead: object }[] }
    const { lead: found = {} } = saved.leads[0] ?? {}
    expect(Object.keys(found).filter((name) => ['connections_count', 'headline'].includes(name))).toEqual([])
    expect(found).toMatchObject({ network_profile_url: 'https://www.network.example/in/ACoAA0' })
  })

  it('fails when the source fails, and keeps its records', async () => {
    bench.source.matches = 230
    const { body } = await bench.call('intents.stack', { webhook_url: hook, stacks: ['react'] })
    const held = await position()
    expect(held).toMatchObject({ credits: 310, held: 690 })
    let asked = 0
    bench.source.before = () => {
      if (++asked > 1) throw new Error('unplugged')
    }
    const job = await finished(idOf(body))
    expect(job).toMatchObject({ state: 'failed', done: 100, error: 'Internal error', held: 0, spent: 300 })
    const { body: search } = await bench.call('searches.get', { id: idOf(body) })
    expect(search).toMatchObject({ search: { status: 'ERROR', error: 'Internal error' } })
    expect(await position()).toMatchObject({ credits: 700, held: 0, spent: 300 })
    expect(await bench.admin.verify()).toMatchObject({ ok: true })
  })
})

describe('P04: hold, then settle once', () => {
  it('holds price times records, pays for each record, and releases the rest', async () => {
    bench.source.matches = 50
    const { body } = await bench.call('intents.stack', { webhook_url: hook, stacks: ['react'], limit: 80 })
    expect(await position()).toMatchObject({ credits: 850, held: 150, spent: 0 })
    const shown = (await bench.call('credits.show', {})).body
    expect(shown).toMatchObject({ credits: { enrichment: 850 } })
    bench.source.matches = 40
    const job = await finished(idOf(body))
    expect(job).toMatchObject({ done: 40, spent: 120, held: 0, truncated: false })
    expect(await position()).toMatchObject({ credits: 880, held: 0, spent: 120 })
  })

  it('never pays more than it holds, however many records match later', async () => {
    bench.source.matches = 10
    const { body } = await bench.call('intents.hiring', { webhook_url: hook })
    bench.source.matches = 500
    const job = await finished(idOf(body))
    expect(job).toMatchObject({ done: 10, spent: 10, held: 0, truncated: true })
  })

  it('counts held credits against the weekly limit, and releases them', async () => {
    bench.source.matches = 50
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 100 })
    const first = await bench.call('intents.hiring', { webhook_url: hook, limit: 60 })
    const second = await bench.call('intents.hiring', { webhook_url: hook, limit: 51 })
    expect(second.status).toBe(202)
    const over = await bench.call('accounts.enrich', { domain: 'known.example' })
    expect(over).toMatchObject({ status: 403, body: { code: 'workspace_limit_exceeded' } })
    bench.source.matches = 20
    await finished(idOf(first.body))
    expect((await bench.call('accounts.enrich', { domain: 'known.example' })).status).toBe(200)
    await finished(idOf(second.body))
    const [member] = await bench.admin.members()
    // Two searches that found 20 each, and the lookup.
    expect(member?.spentThisWeek).toBe(41)
  })

  it('loses and doubles nothing under concurrency', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ limit: fc.integer({ min: 1, max: 120 }), later: fc.integer({ min: 0, max: 150 }) }),
          { minLength: 1, maxLength: 6 },
        ),
        fc.integer({ min: 0, max: 700 }),
        async (asks, credits) => {
          bench.source.matches = 150
          await bench.admin.setCredits(credits)
          const before = await position()
          const accepted: string[] = []
          for (const { limit } of asks) {
            const { status, body } = await bench.call('intents.stack', {
              webhook_url: hook,
              stacks: ['react'],
              limit,
            })
            if (status === 202) accepted.push(idOf(body))
          }
          bench.source.matches = asks[0]?.later ?? 0
          const jobs = await Promise.all(accepted.map((id) => finished(id)))
          const { credits: left, held, spent } = await position()
          expect(spent - before.spent).toBe(3 * jobs.reduce((sum, { done }) => sum + done, 0))
          expect([held, left + spent - before.spent]).toEqual([0, credits])
          expect(await bench.admin.verify()).toMatchObject({ ok: true })
        },
      ),
      { numRuns: tries(20, 40) },
    )
  })
})

describe('a job', () => {
  const queued = async (matches: number) => {
    bench.source.matches = matches
    return idOf((await bench.call('leads.advanced_search', lead)).body)
  }
  const claimed = async (id: string, token: string) => {
    const claim = { token, leaseMs: 30_000, id }
    return (await bench.store.transaction((tx) => claimJob(tx, claim))) as AsyncJob
  }

  it('is announced once it is stored, so that a worker begins at once', async () => {
    const { store, source, clock, key, workspaceId } = await openBench()
    const announced: Promise<AsyncJob | undefined>[] = []
    const accepted = (id: string) => void announced.push(store.read((tx) => findJob(tx, workspaceId, id)))
    const { call } = createEngine({ store, source, clock, ids: randomIds, accepted })
    const { body } = await call('leads.advanced_search', lead, { apiKey: key })
    expect(await Promise.all(announced)).toMatchObject([{ id: idOf(body), state: 'queued' }])
  })

  it('belongs to one worker while its lease lasts, then to the next', async () => {
    const id = await queued(10)
    expect(await claimed(id, 'a')).toMatchObject({ state: 'running', attempts: 1 })
    expect(await claimed(id, 'b')).toBeUndefined()
    await bench.expire()
    expect(await claimed(id, 'b')).toMatchObject({ token: 'b', attempts: 2 })
  })

  it('P44: is not written by a worker that lost it', async () => {
    const [id, ports] = [await queued(250), portsOf(bench)]
    const step = { records: [{ lead: {} }], place: '1', ended: false }
    const half = await keepStep(ports, await claimed(id, 'a'), step)
    await bench.expire()
    const second = await claimed(id, 'b')
    await expect(keepStep(ports, half, step)).rejects.toBeInstanceOf(LeaseLost)
    expect(await bench.store.transaction((tx) => renewJob(tx, id, 'a', 9e15))).toBe(false)
    expect(await runJob(ports, second)).toMatchObject({ state: 'finished', done: 250 })
    expect(await runJob(ports, half)).toBeUndefined()
    expect((await recordsOf(id)).map(({ ordinal }) => ordinal)).toEqual(
      Array.from({ length: 250 }, (_, at) => at + 1),
    )
  })

  it('is enriched once one of its leads can be reached, whatever it finds later', async () => {
    const reachable = { lead: { most_probable_email: 'ada@known.example' } }
    let job = await claimed(await queued(250), 'a')
    for (const records of [[reachable, { lead: {} }], [{ lead: {} }]])
      job = await keepStep(portsOf(bench), job, { records, place: '1', ended: false })
    expect(job).toMatchObject({ done: 3, enriched: true })
  })

  it.each([
    [{ phones: ['+491701234567'] }, true],
    [{ phones: [] }, false],
    [{}, false],
  ])('can be reached by an address or a number: %j', async (lead, enriched) => {
    const job = await claimed(await queued(250), 'a')
    const step = { records: [{ lead }], place: '1', ended: false }
    expect(await keepStep(portsOf(bench), job, step)).toMatchObject({ enriched })
  })

  it('is given back after its turn, and continues in the next one', async () => {
    const id = await queued(250)
    for (const done of [100, 200]) {
      const given = runJob(portsOf(bench), await claimed(id, `turn ${done}`), undefined, undefined, 0)
      expect(await given).toMatchObject({ state: 'running', done })
    }
    expect(await finished(id)).toMatchObject({ state: 'finished', done: 250 })
  })

  it('P13: goes from queued to running to its end, and no other way', async () => {
    const id = await queued(1)
    const job = await bench.admin.job(id)
    const legal = ['queued running', 'running finished', 'running failed']
    for (const from of jobStates)
      for (const to of jobStates.filter((state) => state !== from)) {
        const copy = `${from} ${to}`
        const moved = bench.store.transaction(async (tx) => {
          await insertJob(tx, { ...job, id: copy, state: from })
          await updateJob(tx, copy, { state: to })
        })
        if (legal.includes(copy)) await moved
        else await expect(moved, copy).rejects.toThrow()
      }
  })

  it('of a workspace has its turn after one of each other, however many came before it', async () => {
    const id = await queued(1)
    const [job, workspace] = [await bench.admin.job(id), await bench.store.read((tx) => findWorkspace(tx))]
    if (!workspace) throw new Error('no workspace')
    await bench.store.transaction(async (tx) => {
      await insertWorkspace(tx, { ...workspace, id: 'z', name: 'Second' }, false)
      await updateJob(tx, id, { state: 'running' })
      await updateJob(tx, id, { state: 'finished' })
      for (const [at, workspaceId] of [workspace.id, workspace.id, workspace.id, 'z', 'z'].entries())
        await insertJob(tx, { ...job, id: `job ${at}`, workspaceId, createdAt: 10 - at })
    })
    const taken: (string | undefined)[] = []
    for (let after = ''; taken.length < 6; ) {
      const claim = { token: `t${taken.length}`, after, leaseMs: 30_000 }
      const found = await bench.store.transaction((tx) => claimJob(tx, claim))
      taken.push(found?.id)
      after = found?.workspaceId ?? after
    }
    expect(taken).toEqual(['job 2', 'job 4', 'job 1', 'job 3', 'job 0', undefined])
  })

  it('fails after it killed its process again and again', async () => {
    const id = await queued(10)
    for (let attempt = 0; attempt < 10; attempt++) {
      await claimed(id, `lost ${attempt}`)
      await bench.expire()
    }
    expect(await finished(id)).toMatchObject({ state: 'failed', done: 0 })
  })
})

describe('a waterfall', () => {
  const ladder: Provider = {
    name: 'test',
    email: ({ lastName }) =>
      lastName === 'Nobody' ? undefined : { email: 'a@known.example', status: 'valid' },
    phones: () => [{ number: '+33639980001', type: 'mobile', country_code: 'FR' }],
  }
  beforeEach(() => {
    bench.source.ladder = [ladder]
  })
  const ada = { firstname: 'Ada', lastname: 'Byron', domain: 'known.example' }

  it('is pending, then finished, and pays for what it found', async () => {
    const custom = { a: 1 }
    const { body } = await bench.call('contacts.enrich', { ...ada, enrichment_type: ['email'], custom })
    const id = idOf(body)
    const who = { enrichment_id: id, first_name: 'Ada', last_name: 'Byron', custom }
    expect(body).toEqual({ ...who, status: 'pending' })
    expect((await bench.call('contacts.get', { id })).body).toMatchObject({ status: 'pending', email: null })
    expect(await position()).toMatchObject({ credits: 997, held: 3 })
    await finished(id)
    const { body: result } = await bench.call('contacts.get_enrichment', { id })
    const found = { email: 'a@known.example', email_status: 'valid', credits_used: 3 }
    expect(result).toMatchObject({ enrichment_id: id, status: 'finished', ...found, custom })
    expect(await position()).toMatchObject({ credits: 997, held: 0, spent: 3 })
  })

  it('in bulk returns each contact by its own id, and pays only for those found', async () => {
    const contacts = Array.from({ length: 45 }, (_, at) => ({
      ...ada,
      lastname: at % 3 === 0 ? 'Nobody' : `Byron ${at}`,
      custom: { at },
    }))
    const { body } = await bench.call('contacts.bulk_enrich', { contacts, enrichment_type: ['email'] })
    const { contacts: each } = body as { contacts: { enrichment_id: string; custom: { at: number } }[] }
    expect(each.map(({ custom }) => custom.at)).toEqual(contacts.map((_, at) => at))
    await finished(idOf(body))
    const all = (await bench.call('contacts.get', { id: idOf(body) })).body
    expect(all).toMatchObject({ status: 'finished', total: 45, finished: 45 })
    const one = (await bench.call('contacts.get', { id: each[3]?.enrichment_id ?? '' })).body
    expect(one).toMatchObject({ email: null, credits_used: 0, message: 'No data found', custom: { at: 3 } })
    expect(await position()).toMatchObject({ credits: 910, held: 0, spent: 90 })
  })

  it('is charged at once when it is answered at once, and can be read again', async () => {
    const { body, credits } = await bench.call('contacts.enrich_sync', { ...ada, enrichment_type: ['email'] })
    expect(credits).toBe(3)
    expect((await bench.call('contacts.get', { id: idOf(body) })).body).toEqual(body)
  })

  it('looks for personal addresses only with consent', async () => {
    const asked = { network_url: 'https://www.network.example/in/ada', enrichment_type: ['personal_email'] }
    const refused = await bench.call('contacts.enrich', asked)
    const error = 'Personal email enrichment requires consent'
    expect(refused).toMatchObject({ status: 422, body: { error } })
    await bench.admin.changeMember('me@localhost', { consentPersonalEmail: true })
    expect((await bench.call('contacts.enrich', asked)).status).toBe(201)
  })
})

describe('a list', () => {
  it('is pending, then completed, and limits searches to its companies', async () => {
    const companies = [{ domain: 'known.example' }, { domain: 'nobody.example' }, { name: 'Known' }]
    const { body, status } = await bench.call('lists.create', { name: 'Mine', companies })
    expect(status).toBe(201)
    const id = idOf(body)
    expect((await bench.call('lists.get', { id })).body).toMatchObject({ name: 'Mine', status: 'pending' })
    const asked = { ...lead, included_account_lists: [id] }
    expect(await bench.call('leads.advanced_search', asked)).toMatchObject({ status: 422 })
    expect(await finished(id)).toMatchObject({ state: 'finished', done: 3 })
    expect((await bench.call('lists.list', {})).body).toMatchObject({
      lists: [{ id, status: 'completed' }],
      pagination: { total_count: 1, has_more: false },
    })
    bench.clock.advance(1_000)
    const { body: started } = await bench.call('leads.advanced_search', asked)
    const job = await bench.admin.job(idOf(started))
    expect(job.plan).toMatchObject({
      search: { filters: { included_accounts: ['6b5d2f3e-0000-4000-8000-000000000001'] } },
    })
  })
})
