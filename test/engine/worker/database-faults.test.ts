import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Input } from '../../../src/api/calls/caller.js'
import { isUnavailable } from '../../../src/api/calls/retry.js'
import type { OperationId } from '../../../src/api/operations/table.js'
import { createEngine } from '../../../src/engine/request/engine.js'
import { type Driver, StorageFault } from '../../../src/storage/driver/connection.js'
import {
  fromPostgresError,
  leftBehind,
  NoHost,
  otherHost,
} from '../../../src/storage/driver/postgres/errors.js'
import { perTest } from '../../support/each.js'
import { openBench, randomIds, TestSource } from '../../support/engine.js'
import { workerOf } from '../fake-sender.js'

const bench = perTest(openBench)

const coded = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more })
const said = (code: string, severity = 'ERROR') => coded(code, { severity })

/** What PostgreSQL, its driver and the system say while a primary is lost, replaced, frozen, or out of space. */
const errors: readonly unknown[] = [
  ...['57P01', '57P02', '57P03', '57P05', '25P03', '25P04', '53300', '08006', '55000'].map((code) =>
    said(code, 'FATAL'),
  ),
  said('XX000', 'PANIC'),
  // A pooler that has lost its server.
  ...['08P01', '26000', '42P05', '25P01', '25P02'].map((code) => said(code)),
  ...['25006', '40001', '40P01', '40003', '55P03', '57014', '55000'].map((code) => said(code)),
  ...['53100', '53200', '53400', '58030', '58P01', 'XX000', 'XX001', '42P01', '42501', 'F0000'].map((code) =>
    said(code),
  ),
  ...['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EAI_AGAIN'].map((code) =>
    coded(code, { syscall: 'connect' }),
  ),
  ...['EADDRNOTAVAIL', 'EMFILE', 'ENOBUFS', 'ENOTCONN', 'ECANCELED'].map((code) =>
    coded(code, { syscall: 'connect' }),
  ),
  ...['ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SSL_BAD_RECORD_TYPE'].map((code) =>
    coded(code),
  ),
  coded('CERT_HAS_EXPIRED'),
  new Error('Connection terminated'),
  new Error('Connection terminated unexpectedly'),
  new Error('Connection terminated due to connection timeout'),
  new Error('timeout expired'),
  new Error('timeout exceeded when trying to connect'),
  new Error('Query read timeout'),
  new Error('Client has encountered a connection error and is not queryable'),
  new Error('Client was closed and is not queryable'),
  new Error('Received unexpected commandComplete message from backend.'),
  new Error('This socket has been ended by the other party'),
  leftBehind(),
  otherHost(),
  new NoHost([coded('ECONNREFUSED', { syscall: 'connect' }), new Error('timeout expired')]),
]

const unknownCommit = new StorageFault('commit_unknown')

/** The calls of a database and of a source over it, of which one fails: before anything is done, or after it was. */
function failingAt(store: Driver, nth: number, error: unknown) {
  let calls = 0
  const failure = () => fromPostgresError(error)
  const hit = async <T>(work: () => Promise<T> | T): Promise<T> => {
    calls++
    if (calls !== nth) return work()
    // What was committed is lost only with its answer.
    if (error === unknownCommit) await work()
    throw failure()
  }
  const failing: Driver = {
    ...store,
    read: (work) => hit(() => store.read(work)),
    find: (sql, text) => hit(() => store.find(sql, text)),
    readShared: (name, work) => hit(() => store.readShared(name, work)),
    transaction: (work, scope, length) => hit(() => store.transaction(work, scope, length)),
  }
  const source = new TestSource()
  source.matches = 150
  source.before = () => hit(() => {})
  source.ladder = [
    { name: 'catalogue', email: () => hit(() => undefined), person: () => hit(() => undefined) },
    { name: 'other', email: () => hit(() => ({ email: 'a@known.example', status: 'valid' as const })) },
  ]
  return { store: failing, source, calls: () => calls }
}

const hook = { webhook_url: 'https://hook.example/' }
const ada = { firstname: 'Ada', lastname: 'Byron', domain: 'known.example', enrichment_type: ['email'] }

/** Accepted work of each kind. */
const kinds: readonly (readonly [OperationId, Input])[] = [
  ['contacts.enrich', { ...ada, ...hook }],
  ['leads.advanced_search', { keyword: 'known', live: false, ...hook }],
  ['lists.create', { name: 'All', companies: [{ domain: 'known.example' }, { domain: 'nobody.example' }] }],
]

/** Has work done by workers of whom the nth call fails. Returns what came of it, and how many calls there were. */
async function workedOff([operation, input]: (typeof kinds)[number], nth: number, error: unknown) {
  const { admin, clock, call } = bench
  const credits = await bench.balance()
  expect((await call(operation, input)).status).toBeLessThan(300)
  const { store, source, calls } = failingAt(bench.store, nth, error)
  const { worker, sender } = workerOf(bench, { store, source })
  const jobNow = async () => (await admin.jobs(1))[0]
  const deliveriesOf = async (state?: 'pending' | 'delivered') =>
    (await admin.deliveries({ jobId: (await jobNow())?.id ?? '', ...(state && { state }) }, 10)).length
  clock.advance(1_000)
  for (let round = 0; round < 6; round++) {
    await worker.drain().catch(() => {})
    clock.advance(60_000)
    await bench.expire()
    if ((await jobNow())?.finishedAt && (await deliveriesOf('pending')) === 0) break
  }
  const { state, error: reason, done, spent, held } = (await jobNow()) ?? {}
  return {
    came: {
      ...{ state, reason, done, spent, held },
      paid: credits - (await bench.balance()),
      deliveries: await deliveriesOf(),
      delivered: await deliveriesOf('delivered'),
      sent: new Set(sender.attempts.map(({ id }) => id)).size,
    },
    calls: calls(),
  }
}

it.each(kinds)(
  'work of %s is done and paid once, whatever its database says at any of its calls',
  async (...kind) => {
    await bench.admin.setQuotas({ dailyProfiles: 1_000_000 })
    await bench.admin.setCredits(100_000)
    const { came: whole, calls } = await workedOff(kind, 0, undefined)
    expect(whole).toMatchObject({ state: 'finished', reason: null, delivered: whole.sent })
    const places = Array.from({ length: calls }, (_, at) => at + 1)
    const faults = [
      ...errors.map((error, at) => [error, places[at % calls] ?? 1] as const),
      ...places.flatMap((nth) => [[unknownCommit, nth] as const, [errors[nth], nth] as const]),
    ]
    for (const [error, nth] of faults)
      expect((await workedOff(kind, nth, error)).came, `call ${nth}: ${String(error)}`).toEqual(whole)
  },
)

it('a lookup under a key is answered and paid once, whatever its database says at any of its calls', async () => {
  await bench.admin.setCredits(100_000)
  let key = 0
  /** Asks until there is an answer. */
  async function asked(operation: OperationId, input: Input, nth: number, error: unknown) {
    const credits = await bench.balance()
    const { store, source, calls } = failingAt(bench.store, nth, error)
    const { call } = createEngine({
      store,
      source,
      clock: bench.clock,
      ids: randomIds,
      sleep: async () => {},
    })
    const options = { apiKey: bench.key, idempotencyKey: `key-${key++}` }
    for (let round = 0; round < 6; round++) {
      const { status, body } = await call(operation, input, options)
      await pause(0)
      if (status < 500 && status !== 409)
        return { came: { status, body, paid: credits - (await bench.balance()) }, calls: calls() }
      expect(isUnavailable({ status }) || status === 409, `${status}`).toBe(true)
      bench.clock.advance(60_000)
      await bench.expire()
    }
    throw new Error('nobody answers')
  }
  for (const [operation, input, paid] of [
    ['contacts.enrich_sync', ada, 3],
    ['accounts.enrich', { domain: 'known.example' }, 1],
    ['accounts.enrich', { domain: 'nobody.example' }, 0],
  ] as const) {
    const { came: whole, calls } = await asked(operation, input, 0, undefined)
    expect(whole.paid).toBe(paid)
    const same = (body: unknown) => ({ ...(body as object), enrichment_id: null })
    const places = Array.from({ length: calls }, (_, at) => at + 1)
    const faults = [
      ...errors.map((error, at) => [error, places[at % calls] ?? 1] as const),
      ...places.flatMap((nth) => [[unknownCommit, nth] as const, [errors[nth], nth] as const]),
    ]
    for (const [error, nth] of faults) {
      const { came } = await asked(operation, input, nth, error)
      const what = `${operation}, call ${nth}: ${String(error)}`
      expect({ ...came, body: same(came.body) }, what).toEqual({ ...whole, body: same(whole.body) })
    }
  }
})

describe('a standby that stands in and lags behind', () => {
  /** The database of a worker whose next reads, so many of them behind those that are let through, see nothing of the last moments. */
  async function lagging(skip: number, lag: number) {
    const empty = await openBench()
    let reads = 0
    const store: Driver = {
      ...bench.store,
      read: (work) => {
        reads++
        return (reads > skip && reads <= skip + lag ? empty : bench).store.read(work)
      },
    }
    return { store, reads: () => reads }
  }

  it.each(kinds)('ends no work of %s for want of what it has not seen yet', async (operation, input) => {
    bench.source.ladder = [
      { name: 'catalogue', email: () => ({ email: 'a@known.example', status: 'valid' }) },
    ]
    bench.source.matches = 3
    let skip = 0
    for (; ; skip++) {
      const credits = await bench.balance()
      await bench.call(operation, input)
      bench.clock.advance(1_000)
      const { store, reads } = await lagging(skip, 1)
      const { worker } = workerOf(bench, { store })
      for (let round = 0; round < 4; round++) {
        await worker.drain().catch(() => {})
        bench.clock.advance(60_000)
        await bench.expire()
      }
      const [job] = await bench.admin.jobs(1)
      const deliveries = await bench.admin.deliveries({ jobId: job?.id ?? '' }, 10)
      const came = { state: job?.state, done: job?.done, paid: credits - (await bench.balance()) }
      const paid = operation === 'contacts.enrich' ? 3 : 0
      const done = { 'contacts.enrich': 1, 'leads.advanced_search': 3 }[operation as string] ?? 2
      expect(came, `read ${skip + 1}`).toEqual({ state: 'finished', done, paid })
      expect(deliveries.every(({ state }) => state === 'delivered')).toBe(true)
      if (reads() <= skip) break
    }
    expect(skip).toBeGreaterThan(3)
  })
})
