import { parse } from 'csv-parse/sync'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Caller, ConnectionLost, type Input, type Reply } from '../../src/api/calls/caller.js'
import type { LookupOptions } from '../../src/lookups/store.js'
import { execute } from '../../src/runs/execute.js'
import { asRead } from '../../src/runs/input/mapping.js'
import { type Run, runsOver, stopKilled } from '../../src/runs/journal/runs.js'
import type { Batch } from '../../src/runs/ports.js'
import { type Driver, readNumber } from '../../src/storage/driver/connection.js'
import { states } from '../support/databases.js'
import { perFile } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import {
  company,
  companyBatch,
  csvOf,
  fakeCaller,
  fakeTime,
  lookupsFor,
  memorySink,
  newRun,
  reply,
} from './fakes.js'

const folder = perFile(newFolder)
const day = 86_400_000
/** A call without an answer: its process is killed before that. */
const never = new Promise<never>(() => {})

describe.each(states())('parts of a run in %s', (_, open) => {
  let driver: Driver

  beforeEach(async () => {
    driver = await open()
  })

  const begin = (id: string) => runsOver(driver).add(newRun({ id, identityKey: id }))
  const record = async ({ id }: Run) => (await runsOver(driver).find(id))[0] as Run
  const openRows = () =>
    driver.read((reads) =>
      reads.all(`SELECT run, row FROM lookups WHERE state IN ('asked', 'accepted') OR held <> 0`),
    )

  /** Runs a part to its end; those that are killed are left before it. */
  function part(
    run: Run,
    rows: readonly string[],
    caller: Caller,
    { options = {}, ...more }: Partial<Batch> & { readonly options?: Partial<LookupOptions> } = {},
  ) {
    const sink = memorySink()
    const ended = (async () => {
      const lookups = await lookupsFor(driver, run, {
        maxAgeMs: 30 * day,
        isAlive: async () => false,
        ...options,
      })
      const batch = await companyBatch(folder.file(csvOf(rows)), caller, sink, { lookups, ...more })
      return execute(batch)
    })()
    return { ended, rows: () => parse(sink.text(), { columns: true }) as Record<string, string>[] }
  }

  /** Answers, but for some rows: those are charged, and their process is killed before their answers are there. */
  function killedAt(isLast: (input: Input) => boolean, answer: (input: Input) => Reply = found) {
    const { caller, calls } = fakeCaller((input) => (isLast(input) ? never : answer(input)))
    /** Resolves when so many calls were made, and all other answers are on record. */
    const isKilled = async (made: number, others: number) => {
      await expect.poll(() => calls.length).toBe(made)
      await expect.poll(answered).toBe(others)
    }
    return { caller, calls, isKilled }
  }
  /** Fails for a domain the first time, and is killed over it the second time. */
  function killedAtSecond(failing: string) {
    const answer = (input: Input): Reply =>
      input.domain === failing ? reply(500, { error: 'down' }) : found(input)
    let nth = 0
    return killedAt(({ domain }) => domain === failing && ++nth === 2, answer)
  }
  const answered = async () => {
    const sql = 'SELECT count(*) AS rows FROM lookups WHERE answered_at IS NOT NULL'
    return (await driver.read((reads) => reads.get<{ rows: number }>(sql)))?.rows
  }
  const found = ({ domain }: Input) => company(domain)
  const keysOf = (calls: ReturnType<typeof fakeCaller>['calls']) =>
    calls.map(({ input, options }) => [input.domain, options?.idempotencyKey])

  it('keep an answer that a row took in another spelling, whoever paid for it', async () => {
    const alsoAnswers = (_: string, body: unknown) =>
      (body as { domain: string }).domain === 'a' ? ['domain b', 'domain c'] : []
    const first = await begin('first')
    await part(first, ['a'], fakeCaller(found).caller).ended
    const run = await begin('run')
    const rows = ['a', 'x', 'b', 'b', 'c']
    const { caller, calls } = fakeCaller(found)
    const before = part(run, rows, caller, { alsoAnswers, concurrency: 1 })
    await before.ended
    const again = part(await record(run), rows, fakeCaller(found).caller, { alsoAnswers })
    expect(await again.ended).toMatchObject({ found: 5 })
    expect(again.rows().map(({ industry }) => industry)).toEqual(
      before.rows().map(({ industry }) => industry),
    )
    expect(again.rows()[3]).toMatchObject({ industry: 'Industry of a', _source: 'duplicate' })
    expect(calls.map(({ input }) => input.domain)).toEqual(['x'])
  })

  it('ask again for a row that was sent, though an answer has come that is about it, too', async () => {
    const run = await begin('run')
    const rows = ['a', 'x', 'y', 'b']
    const alsoAnswers = (_: string, body: unknown) =>
      (body as { domain: string }).domain === 'a' ? ['domain b'] : []
    const late = Promise.withResolvers<void>()
    const { caller, calls, isKilled } = killedAt(({ domain }) => domain === 'b')
    const slow: Caller = {
      ...caller,
      call: async (id, input, options) => {
        const answer = caller.call(id, input, options)
        if (input.domain === 'b') late.resolve()
        // Not before the other spelling is under way, too.
        if (input.domain === 'a') await late.promise
        return answer
      },
    }
    void part(run, rows, slow, { alsoAnswers, concurrency: 2 }).ended
    await isKilled(4, 3)
    const { caller: next, calls: more } = fakeCaller(found)
    const last = await part(run, rows, next, { alsoAnswers, concurrency: 2 }).ended
    expect([last.found, keysOf(calls).at(-1), keysOf(more)]).toEqual([4, ['b', 'run-3'], [['b', 'run-3']]])
    expect(await record(run)).toMatchObject({ credits: 4, reserved: 0 })
    expect(await openRows()).toEqual([])
  })

  it('send a row under the key that a later equal one was sent under before', async () => {
    const run = await begin('run')
    const { caller, isKilled } = killedAtSecond('a')
    const rows = ['a', 'x', 'a']
    void part(run, rows, caller, { concurrency: 1 }).ended
    await isKilled(3, 2)
    const { caller: next, calls } = fakeCaller(found)
    expect(
      await part(run, rows, next, { concurrency: 1, options: { budgets: { perRun: 2 } } }).ended,
    ).toMatchObject({
      found: 3,
      credits: 2,
    })
    expect(keysOf(calls)).toEqual([['a', 'run-2']])
    expect(await record(run)).toMatchObject({ credits: 2, reserved: 0, status: 'finished' })
    expect(await openRows()).toEqual([])
  })

  it('do not send a row where a later equal one may have been paid for, and no key shows that', async () => {
    const run = await begin('run')
    const { caller, isKilled } = killedAtSecond('a')
    const rows = ['a', 'x', 'a']
    const more = { concurrency: 1, options: { mayRepeat: false } }
    void part(run, rows, caller, more).ended
    await isKilled(3, 2)
    const { caller: next, calls } = fakeCaller(found)
    expect([(await part(run, rows, next, more).ended).failed, calls]).toEqual([2, []])
    expect(await record(run)).toMatchObject({ credits: 1, reserved: 1 })
    await part(run, rows, next, { ...more, options: { mayRepeat: false, retryUnknown: true } }).ended
    expect([calls.length, await record(run)]).toMatchObject([1, { credits: 2, reserved: 0 }])
  })

  it('leave to others what a killed run sent, where they stop before they send it again', async () => {
    const [killed, stopped, last] = await Promise.all(['killed', 'stopped', 'last'].map(begin))
    if (!killed || !stopped || !last) throw new Error('a run was not recorded')
    const { caller, isKilled } = killedAt(({ domain }) => domain === 'a')
    void part(killed, ['a'], caller).ended
    await isKilled(1, 0)
    const stop = new AbortController()
    const stopping = fakeCaller((input) => {
      stop.abort()
      return found(input)
    })
    await part(stopped, ['x', 'a'], stopping.caller, { concurrency: 2, signal: stop.signal }).ended
    expect(stopping.domains()).toEqual(['x'])
    const { caller: next, calls } = fakeCaller(found)
    await part(last, ['a'], next).ended
    expect(keysOf(calls)).toEqual([['a', 'killed-0']])
  })

  it('know that a row may have been paid for, though its server is gone when it is sent again', async () => {
    const run = await begin('run')
    const { caller, isKilled } = killedAt(({ domain }) => domain === 'a')
    void part(run, ['a', 'b'], caller).ended
    await isKilled(2, 1)
    const gone = fakeCaller(({ domain }) => {
      if (domain === 'b') return found({ domain })
      throw new ConnectionLost('refused', false)
    })
    const { ended, rows } = part(run, ['a', 'b', 'c'], gone.caller)
    expect([(await ended).failed, rows()[0]?._error]).toEqual([2, 'outcome_unknown'])
    expect(await record(run)).toMatchObject({ reserved: 1 })
  })

  it('leave an unknown outcome to a run that asks for the same, which pays for both', async () => {
    const [run, other] = [await begin('run'), await begin('other')]
    const lost = fakeCaller(() => {
      throw new ConnectionLost('cut', true)
    })
    await part(run, ['a'], lost.caller).ended
    const { caller, calls } = fakeCaller(found)
    expect(await part(other, ['w', 'a'], caller).ended).toMatchObject({ found: 2, credits: 2 })
    expect(keysOf(calls)).toEqual([
      ['w', 'other-0'],
      ['a', 'run-0'],
    ])
    expect(await record(run)).toMatchObject({ reserved: 0, credits: 0, status: 'finished' })
    const again = part(run, ['a'], fakeCaller(found).caller, { options: { mayRepeat: false } })
    expect([(await again.ended).failed, again.rows()[0]?._error]).toEqual([1, 'outcome_unknown'])
    const retried = part(run, ['a'], fakeCaller(found).caller, { options: { retryUnknown: true } })
    expect([(await retried.ended).credits, retried.rows()[0]?._source]).toEqual([0, 'reused'])
  })

  it('set nothing aside for rows that were refused', async () => {
    const run = await begin('run')
    const refused = fakeCaller(() => reply(402, { code: 'insufficient_credits' }))
    expect((await part(run, ['a', 'b', 'c'], refused.caller).ended).stopped).toMatchObject({ exit_code: 4 })
    expect([await record(run), await openRows()]).toMatchObject([{ reserved: 0 }, []])
  })

  describe('with a limit that a budget lowered', () => {
    const jobs = (limit: number) => reply(200, { jobs: Array(limit).fill({}) }, limit)
    const hiring = {
      operation: 'accounts.hiring',
      most: () => 100,
      perRecord: 1,
      read: ([domain]: readonly string[]) => asRead({ domain, limit: 100 }),
    } as const

    it('give no other run what a budget cut, not even after a kill', async () => {
      const [one, other] = [await begin('one'), await begin('other')]
      const { caller, isKilled } = killedAt(() => true)
      const short = { ...hiring, options: { budgets: { perRun: 40 } } }
      void part(one, ['a'], caller, short).ended
      await isKilled(1, 0)
      const asked: Input[] = []
      const answering = fakeCaller((input) => {
        asked.push(input)
        return jobs(Number(input.limit))
      })
      await part(one, ['a'], answering.caller, short).ended
      await part(other, ['a'], answering.caller, hiring).ended
      expect(asked.map(({ limit }) => limit)).toEqual([40, 100])
    })

    it('leave no other run the key of a request for fewer records', async () => {
      const [one, other] = [await begin('one'), await begin('other')]
      const { caller, isKilled } = killedAt(() => true)
      void part(one, ['a'], caller, { ...hiring, options: { budgets: { perRun: 40 } } }).ended
      await isKilled(1, 0)
      const { caller: next, calls } = fakeCaller(({ limit }) => jobs(Number(limit)))
      await part(other, ['a'], next, hiring).ended
      expect(calls.map(({ input, options }) => [input.limit, options?.idempotencyKey])).toEqual([
        [100, 'other-0'],
      ])
    })
  })

  describe('with a budget for the day', () => {
    const budgets = { perDay: 3 }
    const rows = ['a', 'b', 'c', 'd', 'e', 'f']

    it('spend no more on a day because others were sent before midnight', async () => {
      const [one, other] = [await begin('one'), await begin('other')]
      let now = day - 1
      const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const { caller } = fakeCaller(async (input, nth) => {
        if (nth === 3) asked.resolve()
        await answered.promise
        return found(input)
      })
      const options = { budgets, now: () => now }
      const first = part(one, rows.slice(0, 3), caller, { options })
      await asked.promise
      now = day
      const { caller: next, calls } = fakeCaller(found)
      expect((await part(other, rows.slice(3), next, { options }).ended).stopped?.exit_code).toBe(12)
      answered.resolve()
      expect([(await first.ended).credits, calls.length]).toEqual([3, 0])
    })

    it('have room for what a killed run has not sent: of rows that the target refused for now nothing is held', async () => {
      const [killed, next] = [await begin('killed'), await begin('next')]
      let nth = 0
      const { caller, calls } = fakeCaller(() =>
        ++nth <= 2
          ? never
          : reply(429, { error: 'Rate limit exceeded' }, 0, { 'retry-after': '60', 'ratelimit-limit': '2' }),
      )
      const waits = { ...fakeTime(), sleep: () => never }
      const many = Array.from({ length: 40 }, (_each, at) => `row-${at}`)
      void part(killed, many, caller, {
        options: { budgets: { perDay: 50 }, now: () => 5 * day },
        time: waits,
      }).ended
      await expect.poll(() => calls.length).toBeGreaterThan(2)
      const unsent = () =>
        driver.read((reads) => readNumber(reads, 'SELECT count(*) FROM lookups WHERE input IS NULL'))
      await expect.poll(unsent).toBe(3)
      await stopKilled(driver, () => ({ release: () => {} }))
      expect(await record(killed)).toMatchObject({ status: 'stopped', reserved: 2 })
      expect(await openRows()).toHaveLength(2)
      const { caller: asking, calls: asked } = fakeCaller(found)
      const { ended } = part(next, rows, asking, { options: { budgets, now: () => 5 * day } })
      expect([(await ended).credits, asked.length]).toEqual([1, 1])
    })

    it.each([
      ['on its last day', 0, 1],
      ['on no other day', day, 3],
    ])('leave room for what a killed run may have spent %s', async (_name, later, count) => {
      const [killed, next] = [await begin('killed'), await begin('next')]
      const { caller, isKilled } = killedAt(({ domain }) => domain === 'x' || domain === 'y')
      void part(killed, ['x', 'y'], caller, { options: { now: () => 5 * day } }).ended
      await isKilled(2, 0)
      await driver.transaction((c) => c.run(`UPDATE runs SET status = 'stopped' WHERE id = 'killed'`))
      const { caller: asking, calls } = fakeCaller(found)
      await part(next, rows, asking, { options: { budgets, now: () => 5 * day + later } }).ended
      expect(calls).toHaveLength(count)
    })
  })
})
