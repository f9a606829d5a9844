import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { leaseLocks } from '../../../src/runs/journal/run-leases.js'
import { type Run, runsOver, settleLost, stopKilled } from '../../../src/runs/journal/runs.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { findShared, openState } from '../../../src/storage/state/open.js'
import { emptyTables, freshSchema, type TestDatabase } from '../../support/postgres.js'
import { foundAnswer, journalFor, journalRow, newRun } from '../fakes.js'

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
const wanted = [0, 1].map((ordinal) => journalRow(ordinal, { repeats: false }))
const answer = foundAnswer({})
const answered = wanted.map((row) => ({ ...row, answer, source: 'live' as const }))

/** A run that one machine holds and has begun. */
async function held() {
  const locks = locksOf(here, 'here')
  const lock = await locks.take('known')
  const runs = runsOver(here, locks.fenceOf)
  const run = await runs.add(newRun())
  const journal = await journalFor(here, run, { fence: locks.fenceOf('known') })
  return { locks, lock, runs, run, journal }
}

describe('the lock of a run in a shared database', () => {
  it('is held by one of all machines until it is released', async () => {
    const { lock } = await held()
    const other = locksOf(there, 'there')
    expect(await other.isHeld('known')).toBe(true)
    expect(await other.holder('known')).toBe('here')
    expect(await other.take('known')).toBeUndefined()
    expect(await other.take('another')).toBeDefined()
    await lock?.release()
    expect(await other.isHeld('known')).toBe(false)
    expect(await other.take('known')).toBeDefined()
  })

  it('is granted to one of many who ask at once', async () => {
    const all = [here, there, here, there, here, there].map((driver, at) => locksOf(driver, `node ${at}`))
    const taken = await Promise.all(all.map((locks) => locks.take('known')))
    expect(taken.filter((lock) => lock !== undefined)).toHaveLength(1)
  })

  it('is renewed for as long as its holder lives', async () => {
    const locks = locksOf(here, 'here', 300)
    const lock = await locks.take('known')
    const until = async () => Number((await sql('SELECT lease_until FROM run_locks'))[0]?.lease_until)
    const before = await until()
    while ((await until()) === before) await new Promise((resolve) => setTimeout(resolve, 20))
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
    const { journal, runs, run, locks } = await held()
    await journal.plan(wanted)
    await expire()
    const other = locksOf(there, 'there')
    expect(await other.take('known')).toBeDefined()
    const bulk = { number: 1, ordinals: [0, 1] } as never
    const change = { file: '/in.csv', output: null, request: '{}' }
    const end = { complete: true, certain: true, cleared: 2, invalid: 0 }
    for (const write of [
      () => journal.keep(answered),
      () => journal.plan(wanted),
      () => journal.bulks?.plan(wanted, 1),
      () => journal.bulks?.accept(bulk, {} as never),
      () => runs.begin(run, change, 5),
      () => runs.add(newRun({ id: 'new' })),
      () => journal.end(end),
    ])
      await expect(write()).rejects.toMatchObject({ code: 'run.taken_over' })
    expect(locks.fenceOf('known')).not.toBe(other.fenceOf('known'))

    const goesOn = runsOver(there, other.fenceOf)
    const [known] = (await goesOn.find('run-1')) as [Run]
    expect(known).toMatchObject({
      status: 'running',
      lostAt: expect.any(Number),
      reserved: 2,
      credits: 0,
      sentFrom: 0,
      sentTo: 2,
    })
    expect(await there.read((tx) => tx.all('SELECT place FROM answers'))).toEqual([])
    await goesOn.begin(known, change, 5)
    const next = await journalFor(there, known, { fence: other.fenceOf('known') })
    await next.resume(0, 2)
    await next.plan(wanted)
    await next.keep(answered)
    await next.end(end)
    expect((await goesOn.find('run-1'))[0]).toMatchObject({ status: 'finished', credits: 2, reserved: 0 })
  })

  it('is recorded for a finished run too, as its unknown rows may be sent again', async () => {
    const { runs, journal } = await held()
    await journal.end({ complete: true, certain: true, cleared: 0, invalid: 0 })
    expect((await runs.list())[0]).toMatchObject({ status: 'finished', lostAt: null })
    await expire()
    await locksOf(there, 'there').take('known')
    expect((await runs.list())[0]?.lostAt).toBeGreaterThan(0)
  })

  it('may still be sending only when its last attempt was not distributed', async () => {
    await held()
    await sql('UPDATE runs SET spread = 1')
    await expire()
    const other = locksOf(there, 'there')
    const next = await other.take('known')
    const runs = runsOver(there, other.fenceOf)
    const record = async () => (await runs.find('run-1'))[0] as Run
    const going = { file: '/in.csv', output: null, request: '{}' }
    expect(await record()).toMatchObject({ lostAt: null })
    expect(await runs.begin(await record(), { ...going, spread: 1 }, 5)).toMatchObject({ lostAt: null })
    await next?.release()
    await other.take('known')
    expect(await runs.begin(await record(), going, 6)).toMatchObject({ lostAt: 6, spread: 0 })
    expect(await runs.begin(await record(), { ...going, spread: 1 }, 7)).toMatchObject({
      lostAt: 6,
      spread: 1,
    })
  })

  it('keeps a run unsettled for a day, and for as long as its lock is held', async () => {
    const { runs, journal, lock } = await held()
    await journal.end({ complete: true, certain: true, cleared: 0, invalid: 0 })
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
    const { journal, runs } = await held()
    await journal.plan(wanted)
    const other = locksOf(there, 'there')
    const hold = ({ identityKey }: { identityKey: string }) => other.take(identityKey)
    await stopKilled(there, hold)
    expect((await runs.list())[0]).toMatchObject({ status: 'running', lostAt: null })
    await expire()
    await stopKilled(there, hold)
    expect((await runs.list())[0]).toMatchObject({ status: 'stopped', reserved: 2 })
    await expect(journal.keep(answered)).rejects.toMatchObject({ code: 'run.taken_over' })
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

  it('keeps concurrent runs within one daily budget', async () => {
    const perDay = 50
    const many = await Promise.all(
      [here, there, here, there].map(async (driver, at) => {
        const run = await runsOver(driver).add(newRun({ id: `run ${at}`, identityKey: `known ${at}` }))
        return journalFor(driver, run, { budget: { perDay } })
      }),
    )
    const planned = await Promise.all(
      many.map(async (journal) => {
        let count = 0
        for (let from = 0; from < 40; from += 2) {
          const rows = wanted.map((row) => ({ ...row, ordinal: row.ordinal + from }))
          const { planned: granted } = await journal.plan(rows)
          count += granted.length
          await journal.keep(rows.slice(0, granted.length).map((row) => ({ ...row, answer, source: 'live' })))
        }
        return count
      }),
    )
    expect(planned.reduce((sum, one) => sum + one, 0)).toBe(perDay)
  })
})
