import { expect } from 'vitest'
import { type OperationId, operation } from '../../src/api/operations/table.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { countDeliveries } from '../../src/engine/tables/deliveries.js'
import { listRecords } from '../../src/engine/tables/jobs.js'
import type { AcceptedWork } from './accepted-work.js'

const contact = (at: number) => ({
  firstname: 'Ada',
  domain: 'known.example',
  lastname: at % 3 === 0 ? 'Nobody' : 'Byron',
})

/** Has so many jobs accepted, of every kind that is paid for, takes from a quota, streams, or does neither. */
export async function acceptMixed(work: AcceptedWork, jobs: number): Promise<void> {
  const hook = { webhook_url: work.receiver.url }
  const contacts = Array.from({ length: 30 }, (_, one) => contact(one))
  const growth = { min_headcount_growth_percentage: 1, streaming: true }
  const kinds: readonly ((at: number) => readonly [OperationId, object])[] = [
    (at) => ['accounts.search', { keyword: 'known', limit: 120 + (at % 90) }],
    (at) => ['intents.growth', { ...growth, limit: 20 + (at % 30) }],
    (at) => ['intents.stack', { stacks: ['react'], limit: 60 + (at % 100) }],
    () => ['contacts.bulk_enrich', { enrichment_type: ['email'], contacts }],
    (at) => ['lists.create', { name: `List ${at}`, companies: [{ domain: 'known.example' }] }],
  ]
  for (let at = 0; at < jobs; at++) {
    const [id, input] = (kinds[at % kinds.length] as (typeof kinds)[number])(at)
    await work.accept(id, { ...hook, ...input })
  }
}

/** How far accepted work is, from 0 to 1: records kept, jobs ended, deliveries received. */
export async function progressOf(work: AcceptedWork): Promise<number> {
  const jobs = await work.jobs()
  const { pending, delivered } = await work.store.read((tx) => countDeliveries(tx, work.workspaceId))
  const ended = jobs.filter(({ state }) => state === 'finished' || state === 'failed').length
  if (ended === jobs.length && pending === 0) return 1
  const expected = jobs.reduce((sum, job) => sum + job.expected, 0)
  const done = jobs.reduce((sum, job) => sum + job.done, 0)
  const streamed = jobs.reduce((sum, job) => sum + (job.streaming ? job.expected : 1), 0)
  return Math.min(0.999, (done + ended + delivered) / (expected + jobs.length + streamed))
}

/** Expects that nothing was lost, doubled, left open, or paid otherwise than it was kept. */
export async function expectNothingLost(work: AcceptedWork) {
  const jobs = await work.jobs()
  let [records, spent, companies, deliveries] = [0, 0, 0, 0]
  const firstArrivals = new Map<string, number>()
  for (const [at, { id }] of work.receiver.arrivals.entries())
    if (!firstArrivals.has(id)) firstArrivals.set(id, at)
  for (const job of jobs) {
    expect([job.state, job.error, job.held, job.truncated]).toEqual(['finished', null, 0, false])
    const kept = await work.store.read((tx) => listRecords(tx, job.id, { after: 0 }, 1_000_000))
    const isList = job.kind === 'list_import'
    expect(kept.map(({ ordinal }) => ordinal)).toEqual(
      Array.from({ length: isList ? 0 : job.expected }, (_, one) => one + 1),
    )
    records += kept.length
    spent += paidFor(job.operation, kept)
    if (operation(job.operation).quota === 'companies') companies += kept.length
    const sent = [...(await work.deliveries(job.id))].sort((one, other) => one.seq - other.seq)
    const some = job.streaming ? job.expected + 1 : job.kind === 'contact_enrichment' ? job.expected : 1
    expect(sent.map(({ seq, state }) => [seq, state])).toEqual(
      Array.from({ length: some }, (_, one) => [one + 1, 'delivered']),
    )
    deliveries += sent.length
    const places = sent.map(({ id }) => firstArrivals.get(id) ?? Number.NaN)
    expect(places).toEqual([...places].sort((one, other) => one - other))
  }
  await expectLedger(work, spent, companies)
  expectArrivals(work, deliveries)
  return { jobs: jobs.length, records, deliveries, twice: work.receiver.arrivals.length - firstArrivals.size }
}

function paidFor(id: Parameters<typeof operation>[0], kept: readonly { record: string }[]): number {
  const { price } = operation(id)
  if ('company' in price) return kept.length * Number(price.company)
  if (!('email' in price)) return 0
  return kept.filter(({ record }) => JSON.parse(record).email !== null).length * Number(price.email)
}

async function expectLedger({ admin, store, workspaceId }: AcceptedWork, spent: number, companies: number) {
  const position = await store.read((tx) => readBalances(tx, workspaceId))
  expect([position.spent, position.held]).toEqual([spent, 0])
  expect((await admin.verify()).problems).toEqual([])
  const { quotas } = await admin.status()
  expect([quotas.daily_company_import.used, quotas.monthly_company_import.used]).toEqual([
    companies,
    companies,
  ])
}

/** Each delivery arrived, signed, and whenever it came again it was the same. */
function expectArrivals({ receiver }: AcceptedWork, deliveries: number): void {
  const bodies = new Map<string, string>()
  for (const { id, body, verified } of receiver.arrivals) {
    expect(verified).toBe(true)
    expect(bodies.get(id) ?? body).toBe(body)
    bodies.set(id, body)
  }
  expect(bodies.size).toBe(deliveries)
}
