import { beforeEach, describe, expect, it } from 'vitest'
import { hashNumber, hashOf } from '../../src/csv/identity-filter.js'
import { type Ask, claimScope, type LookupOptions, type Lookups } from '../../src/lookups/store.js'
import { type Run, runsOver } from '../../src/runs/journal/runs.js'
import { purgeRuns } from '../../src/runs/purge.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { lookupsFor, newRun } from '../runs/fakes.js'
import { states } from '../support/databases.js'

let driver: Driver

const row = (ordinal: number, about: number, repeats = false) => ({
  ordinal,
  identity: `id ${about}`,
  hash: 1_000 - about,
  most: 1,
  input: { about },
  repeats,
})

/** A run that has begun, with a lock of its own that is held. */
async function begun(id: string, more: Partial<LookupOptions> = {}): Promise<{ run: Run; lookups: Lookups }> {
  const run = await runsOver(driver).add(newRun({ id, identityKey: id }))
  return { run, lookups: await opened(run, more) }
}
const opened = (run: Run, more: Partial<LookupOptions> = {}) =>
  lookupsFor(driver, run, { maxAgeMs: 1_000, isAlive: async () => true, ...more })

/** Looks up a row and records its answer, unless it has one. Returns what became of it. */
async function look(lookups: Lookups, one: ReturnType<typeof row>): Promise<string> {
  const [claim] = await lookups.claim([one])
  if (claim?.is === 'answered') return claim.outcome.source ?? ''
  if (claim?.is === 'ask') await lookups.settle([settled(one, claim.ask)])
  return claim?.is ?? ''
}
const settled = (one: ReturnType<typeof row>, ask: Ask) => ({
  ...one,
  answer: { status: 'found', error: null, body: { of: one.identity }, credits: 1 } as const,
  source: 'live' as const,
  ask,
})
const indexed = async () => {
  const sql = 'SELECT run, row FROM equal_lookups ORDER BY run, row'
  const found = await driver.read((reads) => reads.all<{ run: number; row: number }>(sql))
  return found.map(({ run, row: ordinal }) => `${run} ${ordinal}`)
}

describe.each(states())('lookups that equal ones find: %s', (_, open) => {
  beforeEach(async () => {
    driver = await open()
  })

  it('are those that may repeat in the file while a run is the only one', async () => {
    const { run, lookups } = await begun('a')
    for (const [at, repeats] of [false, true, false].entries()) await look(lookups, row(at, at, repeats))
    expect(await indexed()).toEqual([`${run.number} 1`])
    expect(await look(lookups, row(3, 1, true))).toBe('duplicate')
  })

  it('are all of it once another run begins, and all of both from then on', async () => {
    const one = await begun('a')
    await look(one.lookups, row(0, 0))
    const other = await begun('b')
    expect(await look(other.lookups, row(0, 0))).toBe('store')
    await look(one.lookups, row(1, 1))
    expect(await look(other.lookups, row(1, 1))).toBe('store')
    await look(other.lookups, row(2, 2))
    expect(await look(one.lookups, row(2, 2))).toBe('store')
  })

  it('are what is under way elsewhere, too', async () => {
    const one = await begun('a')
    const [claim] = await one.lookups.claim([row(0, 0)])
    const other = await begun('b')
    expect(await look(other.lookups, row(7, 0))).toBe('busy')
    if (claim?.is === 'ask') await one.lookups.settle([settled(row(0, 0), claim.ask)])
    expect(await look(other.lookups, row(7, 0))).toBe('store')
  })

  it('answer the rows of a claim, which ends with the last row that there is room to send', async () => {
    const one = await begun('a')
    for (const at of [0, 1, 2, 4]) await look(one.lookups, row(at, at))
    const other = await begun('b')
    const rows = [0, 1, 2, 3, 4, 5, 6].map((at) => row(at, at))
    const claims = await other.lookups.claim(rows, () => true, 1)
    expect(claims.map(({ is }) => is)).toEqual(['answered', 'answered', 'answered', 'ask'])
    expect(await indexed()).not.toContain(`${other.run.number} 5`)
    const rest = await other.lookups.claim(rows.slice(claims.length), () => true, 2)
    expect(rest.map(({ is }) => is)).toEqual(['answered', 'ask', 'ask'])
  })

  it('are what a killed run sent: its key is taken over', async () => {
    const one = await begun('a')
    await one.lookups.claim([row(4, 0)])
    const other = await begun('b', { isAlive: async () => false })
    expect((await other.lookups.claim([row(0, 0)]))[0]).toMatchObject({ is: 'ask', ask: { key: 'a-4' } })
  })

  it('are all of a run that ended, for a quote and for a run without stored answers alike', async () => {
    const one = await begun('a')
    for (const at of [0, 1]) await look(one.lookups, row(at, at))
    await one.lookups.end(true, 0)
    const quoted = await opened({ ...one.run, number: 0, id: '' })
    expect((await quoted.peek([row(5, 1)])).map((found) => found?.source)).toEqual(['store'])
    const refreshed = await begun('b', { maxAgeMs: undefined })
    expect(await look(refreshed.lookups, row(0, 0))).toBe('ask')
    await refreshed.lookups.end(true, 0)
    const last = await begun('c')
    expect(await look(last.lookups, row(0, 0))).toBe('store')
  })

  it('are found by a run that goes on after the other one ended', async () => {
    const one = await begun('a')
    await look(one.lookups, row(0, 0))
    await one.lookups.end(false, 0)
    const other = await begun('b')
    await look(other.lookups, row(0, 1))
    await other.lookups.end(true, 0)
    const resumed = await opened(one.run)
    expect(await look(resumed, row(1, 1))).toBe('store')
    await look(resumed, row(2, 2))
    expect(await look((await begun('c')).lookups, row(2, 2))).toBe('store')
  })

  it('of another workspace are not waited for, and the budget of a day that both spend is kept', async () => {
    const of = async (workspace: string) => {
      const run = await runsOver(driver).add(newRun({ id: workspace, identityKey: workspace, workspace }))
      return opened(run, { budgets: { perDay: 10 } })
    }
    const [one, other] = [await of('one'), await of('other')]
    const claimed = async (lookups: Lookups, from: number) => {
      let asked = 0
      for (let at = from; at < from + 10; at++)
        asked += (await lookups.claim([row(at, at)]))[0]?.is === 'ask' ? 1 : 0
      return asked
    }
    if (driver.dialect.name === 'postgres') {
      const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
      const scope = claimScope({ target: newRun().target, workspace: 'one' })
      const holding = driver.transaction(() => isOver, scope)
      expect(await other.claim([row(100, 100)])).toMatchObject([{ is: 'ask' }])
      end()
      await holding
    } else await other.claim([row(100, 100)])
    const asked = await Promise.all([claimed(one, 0), claimed(other, 20), claimed(one, 40)])
    expect(asked.reduce((sum, count) => sum + count, 0)).toBe(9)
  })

  it('are those whose answers state them, asked for by less: of runs that ended, of one under way, and of a new one', async () => {
    const stated = (body: unknown) => `id ${(body as { of: string }).of.slice(-1)}`
    const stating = {
      weakPrefixes: ['name '],
      answers: (identity: string, body: unknown) => identity === stated(body),
      hashesIn: (identity: string, body: unknown) =>
        identity.startsWith('name ') ? [hashNumber(hashOf(stated(body)))] : [],
    }
    const named = (ordinal: number, about: number) => ({
      ...row(ordinal, about),
      identity: `name ${about}`,
      hash: 2_000 - about,
    })
    const asked = (ordinal: number, about: number) => ({
      ...row(ordinal, about),
      hash: hashNumber(hashOf(`id ${about}`)),
    })
    const one = await begun('a', { stating })
    await look(one.lookups, named(0, 0))
    const other = await begun('b', { stating })
    expect(await look(other.lookups, asked(0, 0))).toBe('store')
    await look(one.lookups, named(1, 1))
    expect(await look(other.lookups, asked(1, 1))).toBe('store')
    await look(one.lookups, asked(2, 2))
    expect(await look(other.lookups, named(2, 2))).toBe('ask')
    const wrong = await begun('c', { stating: { ...stating, answers: () => false } })
    expect(await look(wrong.lookups, asked(0, 1))).toBe('ask')
  })

  it.each([
    ['the case of a letter', 'name acme', 'name Acme'],
    ['an accent', 'name Ecole', 'name École'],
    ['an accent that is a character of its own', 'name \u00e9', 'name e\u0301'],
    ['a blank at the end', 'name acme', 'name acme '],
    ['a sharp s', 'name weiss', 'name weiß'],
    ['a dotless i', 'name isik', 'name ısik'],
    ['an invisible character', 'name acme', 'name ac\u00adme'],
    ['a wildcard of SQL', 'name a_me', 'name acme'],
    ['characters beyond the first plane', 'name 😀', 'name 😁'],
    ['the end of a long text', `name ${'a'.repeat(10_000)}`, `name ${'a'.repeat(9_999)}b`],
  ])('are not those whose identities have one hash and differ by %s', async (_, one, other) => {
    const { lookups } = await begun('a')
    const lookOf = (ordinal: number, identity: string) =>
      look(lookups, { ...row(ordinal, 0, true), identity })
    expect(await lookOf(0, one)).toBe('ask')
    expect(await lookOf(1, other)).toBe('ask')
    expect(await lookOf(2, one)).toBe('duplicate')
    expect(await lookOf(3, other)).toBe('duplicate')
  })

  it('of one file are the same answer each time, until somebody forgets whom it is about', async () => {
    const { run, lookups } = await begun('a')
    expect(await look(lookups, row(0, 0, true))).toBe('ask')
    const taken = async (ordinal: number) => {
      const [claim] = await lookups.claim([row(ordinal, 0, true)])
      return claim?.is === 'answered' ? claim.outcome : undefined
    }
    const answer = { status: 'found', body: { of: 'id 0' }, credits: 0 }
    for (const ordinal of [1, 2, 3])
      expect(await taken(ordinal)).toMatchObject({ source: 'duplicate', answer, from: [run.number, 0] })
    const forget = `UPDATE lookups SET state = 'skipped', error = 'forgotten', identity = NULL, body = NULL WHERE run = ?`
    await driver.transaction((connection) => connection.run(forget, run.number))
    const forgotten = await taken(4)
    expect(forgotten?.answer).toMatchObject({ status: 'skipped', error: 'forgotten' })
    expect(forgotten?.answer.body).toBeUndefined()
    const sql = 'SELECT row, state, source, from_row FROM lookups WHERE run = ? ORDER BY row'
    const recorded = await driver.read((reads) => reads.all(sql, run.number))
    const before = { state: 'skipped', source: 'duplicate', from_row: 0 }
    expect(recorded.slice(1, 4)).toEqual([1, 2, 3].map((ordinal) => ({ row: ordinal, ...before })))
    expect(recorded[4]).not.toMatchObject({ state: 'found' })
  })

  it('are found by hashes of 53 bits, which are whole numbers', async () => {
    const { lookups } = await begun('a')
    for (const [at, hash] of [0, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER].entries()) {
      expect(await look(lookups, { ...row(2 * at, at, true), hash })).toBe('ask')
      expect(await look(lookups, { ...row(2 * at + 1, at, true), hash })).toBe('duplicate')
    }
  })

  it('go with their runs', async () => {
    const one = await begun('a')
    await look(one.lookups, row(0, 0, true))
    await one.lookups.end(true, 0)
    const hold = () => ({ release: () => {} })
    await purgeRuns(driver, { before: 2_000_000, now: 2_000_000, hold })
    expect(await indexed()).toEqual([])
  })
})
