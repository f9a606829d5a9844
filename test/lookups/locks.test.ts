import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { leaseLocks, type RunLocks } from '../../src/lookups/leases.js'
import type { Ask, Claim } from '../../src/lookups/store.js'
import { type Run, runsOver, settleLost, stopKilled } from '../../src/runs/journal/runs.js'
import { fileLocks } from '../../src/runs/records.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { findShared, openState } from '../../src/storage/state/open.js'
import { lookupsFor, newRun } from '../runs/fakes.js'
import { perTest } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { emptyTables, freshSchema, type TestDatabase } from '../support/postgres.js'
import { until } from '../support/until.js'

const home = perTest(newFolder)

let schema: TestDatabase
/** The same database, as two machines have it. */
let here: Driver
let there: Driver
beforeAll(async () => {
  schema = await freshSchema()
  here = await openState(schema.url)
  there = await openState(schema.url)
})
afterAll(async () => {
  await Promise.all([here.close(), there.close()])
  await schema.drop()
})
beforeEach(() => schema.sql(emptyTables(schema.name)))
const sql = (text: string) => schema.sql(`SET search_path TO ${schema.name}_state; ${text}`)

const locksOf = (driver: Driver, holder: string, leaseMs = 30_000) => {
  let tokens = 0
  return leaseLocks(driver, { token: () => `${holder} ${++tokens}`, holder, leaseMs })
}
const expire = () => sql('UPDATE run_locks SET lease_until = 1')
const wanted = [0, 1].map((ordinal) => ({
  ordinal,
  identity: `id ${ordinal}`,
  hash: ordinal,
  most: 1,
  input: { domain: `d${ordinal}.example` },
}))
const asksIn = (claims: readonly Claim[]): Ask[] =>
  claims.flatMap((claim) => (claim.is === 'ask' ? [claim.ask] : []))
const answered = (asks: readonly Ask[]) =>
  asks.map((ask, at) => ({
    ...(wanted[at % 2] as (typeof wanted)[0]),
    ordinal: ask.ordinal,
    answer: { status: 'found', error: null, body: {}, credits: 1 } as const,
    source: 'live' as const,
    ask,
  }))

/** A run that one machine holds and has begun. */
async function held() {
  const locks = locksOf(here, 'here')
  const lock = await locks.take('known')
  const runs = runsOver(here, locks.fenceOf)
  const run = await runs.add(newRun())
  const lookups = await lookupsFor(here, run, { fence: locks.fenceOf('known') })
  return { locks, lock, runs, run, lookups }
}

describe.each<[string, (machine: string) => RunLocks]>([
  [
    'a file in the home of one machine',
    () => fileLocks({ home: { state: home.at('state.db') }, clock: { now: Date.now } }),
  ],
  ['a lease in a shared database', (machine) => locksOf(machine === 'here' ? here : there, machine)],
])('the lock of a run, %s,', (_, locksAt) => {
  it('is held by one until it is released', async () => {
    const [one, other] = [locksAt('here'), locksAt('there')]
    const lock = await one.take('known')
    expect(await other.isHeld('known')).toBe(true)
    expect(await other.holder('known')).toMatch(/^here$|^process \d+/)
    expect(await other.take('known')).toBeUndefined()
    const another = await other.take('another')
    expect(another).toBeDefined()
    await lock?.release()
    expect(await other.isHeld('known')).toBe(false)
    const next = await other.take('known')
    expect(next).toBeDefined()
    await Promise.all([another?.release(), next?.release()])
  })

  it('is granted to one of many who ask at once', async () => {
    const all = Array.from({ length: 6 }, (_, at) => locksAt(at % 2 === 0 ? 'here' : 'there'))
    const taken = await Promise.all(all.map((locks) => locks.take('known')))
    const held = taken.filter((lock) => lock !== undefined)
    expect(held).toHaveLength(1)
    await held[0]?.release()
  })
})

describe('the lock of a run in a shared database', () => {
  it('is renewed for as long as its holder lives', async () => {
    const locks = locksOf(here, 'here', 300)
    const lock = await locks.take('known')
    const end = async () => Number((await sql('SELECT lease_until FROM run_locks'))[0]?.lease_until)
    const before = await end()
    await until(async () => (await end()) > before)
    await lock?.release()
    expect(await sql('SELECT name FROM run_locks')).toEqual([])
  })

  it('is free when its lease expired, or when the clock of the database went back', async () => {
    await held()
    const other = locksOf(there, 'there')
    await expire()
    expect(await other.take('known')).toBeDefined()
    await sql('UPDATE run_locks SET lease_until = lease_until + 86400000')
    expect(await locksOf(here, 'here again').take('known')).toBeDefined()
  })
})

describe('a holder that lost the lock of a run', () => {
  it('writes nothing more to it, while the new holder resumes it', async () => {
    const { lookups, runs, run, locks } = await held()
    const asks = asksIn(await lookups.claim(wanted))
    await expire()
    const other = locksOf(there, 'there')
    expect(await other.take('known')).toBeDefined()
    const change = { file: '/in.csv', output: null, request: '{}' }
    for (const write of [
      () => lookups.settle(answered(asks)),
      () => lookups.claim(wanted),
      () => lookups.together([{ ordinal: 0 }, { ordinal: 1 }]),
      () => lookups.apart([0, 1]),
      () => lookups.accept([[0, { id: 'bulk', part: null, at: 0 }]]),
      () => lookups.withdraw(asks),
      () => runs.begin(run, change, 5),
      () => runs.add(newRun({ id: 'new' })),
      () => lookups.end(true, 0),
    ])
      await expect(write()).rejects.toMatchObject({ code: 'run.taken_over' })
    expect(locks.fenceOf('known')).not.toBe(other.fenceOf('known'))

    const goesOn = runsOver(there, other.fenceOf)
    const [known] = (await goesOn.find('run-1')) as [Run]
    expect(known).toMatchObject({ status: 'running', lostAt: expect.any(Number), reserved: 2, credits: 0 })
    expect(await there.read((tx) => tx.all('SELECT state FROM lookups'))).toEqual([
      { state: 'asked' },
      { state: 'asked' },
    ])
    await goesOn.begin(known, change, 5)
    const next = await lookupsFor(there, known, { fence: other.fenceOf('known') })
    const again = asksIn(await next.claim(wanted))
    expect(again.map(({ key }) => key)).toEqual(asks.map(({ key }) => key))
    await next.settle(answered(again))
    await next.end(true, 0)
    expect((await goesOn.find('run-1'))[0]).toMatchObject({ status: 'finished', credits: 2, reserved: 0 })
  })

  it('is recorded for a finished run too, as its unknown rows may be sent again', async () => {
    const { runs, lookups } = await held()
    await lookups.end(true, 0)
    expect((await runs.list())[0]).toMatchObject({ status: 'finished', lostAt: null })
    await expire()
    await locksOf(there, 'there').take('known')
    expect((await runs.list())[0]?.lostAt).toBeGreaterThan(0)
  })

  it('keeps a run unsettled for a day, and for as long as its lock is held', async () => {
    const { runs, lookups, lock } = await held()
    await lookups.end(true, 0)
    const day = 86_400_000
    await sql(`UPDATE runs SET lost_at = ${day}`)
    const settled: string[] = []
    const settle = async (now: number, target = 'local') => {
      const other = locksOf(there, 'there')
      const hold = async ({ identityKey }: { identityKey: string }) =>
        (await other.isHeld(identityKey)) ? undefined : other.take(identityKey)
      const one = { now, hold, settle: async (id: string) => void settled.push(id) }
      await settleLost(there, { target, profile: 'default' }, one)
      return settled.length
    }
    expect(await settle(2 * day)).toBe(0)
    await lock?.release()
    expect(await settle(2 * day, 'another')).toBe(0)
    expect(await settle(2 * day - 1)).toBe(0)
    expect(await settle(2 * day)).toBe(1)
    expect(await settle(3 * day)).toBe(1)
    expect((await runs.list())[0]).toMatchObject({ lostAt: null })
    // Its lock was left behind: whoever had it may be about to send.
    await sql(`UPDATE runs SET lost_at = ${day}; INSERT INTO run_locks VALUES ('known', 'x', 'nobody', 1)`)
    expect(await settle(4 * day)).toBe(1)
    expect((await runs.list())[0]?.lostAt).toBeGreaterThan(4 * day)
  })

  it('does not release the lock of the next holder', async () => {
    const { lock } = await held()
    await expire()
    const other = locksOf(there, 'there')
    await other.take('known')
    await lock?.release()
    expect(await other.isHeld('known')).toBe(true)
  })

  it('finds its run stopped when another machine cleaned up killed runs', async () => {
    const { lookups, runs } = await held()
    const asks = asksIn(await lookups.claim(wanted))
    const other = locksOf(there, 'there')
    const hold = ({ identityKey }: { identityKey: string }) => other.take(identityKey)
    await stopKilled(there, hold)
    expect((await runs.list())[0]).toMatchObject({ status: 'running', lostAt: null })
    await expire()
    await stopKilled(there, hold)
    expect((await runs.list())[0]).toMatchObject({ status: 'stopped', reserved: 2 })
    await expect(lookups.settle(answered(asks))).rejects.toMatchObject({ code: 'run.taken_over' })
  })
})

describe('a shared database of runs', () => {
  it('is found once it was created, and is not created by looking for it', async () => {
    const other = await freshSchema()
    expect(await findShared(other.url)).toBeUndefined()
    expect(await findShared(other.url)).toBeUndefined()
    await (await openState(other.url)).close()
    const found = await findShared(other.url)
    expect(found?.dialect.name).toBe('postgres')
    await found?.close()
    await other.drop()
  })
})
