import { describe, expect, it } from 'vitest'
import { readBalances } from '../../../src/engine/credits/ledger.js'
import { keepStep } from '../../../src/engine/jobs/progress.js'
import { type AsyncJob, claimJob, listRecords } from '../../../src/engine/tables/jobs.js'
import { perTest } from '../../support/each.js'
import { idOf, openWorked, portsOf } from '../fake-sender.js'

const hook = 'https://hook.example/'
const lead = { webhook_url: hook, keyword: 'known', live: false }
const bench = perTest(openWorked)

const recordsOf = (id: string) => bench.store.read((tx) => listRecords(tx, id, { after: 0 }, 100_000))

const position = () => bench.store.read((tx) => readBalances(tx, bench.workspaceId))

/** An import that has begun. */
async function begun(): Promise<AsyncJob> {
  bench.source.matches = 250
  const { body } = await bench.call('leads.advanced_search', lead)
  const claim = { token: 'a', leaseMs: 30_000, id: idOf(body) }
  return (await bench.store.transaction((tx) => claimJob(tx, claim))) as AsyncJob
}

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
      const job = await bench.worker.finish(idOf(body))
      expect([job?.done, job?.truncated, job?.state]).toEqual([kept, truncated, 'finished'])
      expect(await recordsOf(idOf(body))).toHaveLength(kept)
    },
  )

  it('leaves out the fields that scale leaves out', async () => {
    bench.source.matches = 1
    const { body } = await bench.call('leads.advanced_search', { ...lead, scale: true })
    await bench.worker.finish(idOf(body))
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
    const job = await bench.worker.finish(idOf(body))
    expect(job).toMatchObject({ state: 'failed', done: 100, error: 'Internal error', held: 0, spent: 300 })
    const { body: search } = await bench.call('searches.get', { id: idOf(body) })
    expect(search).toMatchObject({ search: { status: 'ERROR', error: 'Internal error' } })
    expect(await position()).toMatchObject({ credits: 700, held: 0, spent: 300 })
    expect(await bench.admin.verify()).toMatchObject({ ok: true })
  })

  it('is enriched once one of its leads can be reached, whatever it finds later', async () => {
    const reachable = { lead: { most_probable_email: 'ada@known.example' } }
    let job = await begun()
    for (const records of [[reachable, { lead: {} }], [{ lead: {} }]])
      job = await keepStep(portsOf(bench), job, { records, place: '1', ended: false })
    expect(job).toMatchObject({ done: 3, enriched: true })
  })

  it.each([
    [{ phones: ['+491701234567'] }, true],
    [{ phones: [] }, false],
    [{}, false],
  ])('can be reached by an address or a number: %j', async (lead, enriched) => {
    const job = await begun()
    const step = { records: [{ lead }], place: '1', ended: false }
    expect(await keepStep(portsOf(bench), job, step)).toMatchObject({ enriched })
  })
})
