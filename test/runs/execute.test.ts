import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ConnectionLost, type Input } from '../../src/api/calls/caller.js'
import { ApiError, failureOf, Refusal } from '../../src/api/calls/errors.js'
import { hintOf } from '../../src/cli/context/errors.js'
import { execute } from '../../src/runs/execute.js'
import type { ReadRow } from '../../src/runs/input/mapping.js'
import { runsOver } from '../../src/runs/journal/runs.js'
import { exitCodeOf, type RunProgress } from '../../src/runs/output/report.js'
import type { Batch } from '../../src/runs/ports.js'
import { openState } from '../../src/storage/state/open.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { casesOf } from '../support/fixtures.js'
import { newFolder } from '../support/new-folder.js'
import {
  company,
  companyBatch,
  csvOf,
  domainsOf,
  fakeCaller,
  fakeTime,
  fillDisk,
  lookupsFor,
  memorySink,
  newLookups,
  newRun,
  reply,
} from './fakes.js'

const folder = perFile(newFolder)

const rowsOf = (text: string) => parse(text, { columns: true }) as Record<string, string>[]

/** Runs rows of domains through a caller; answers what came out. */
async function runDomains(
  rows: readonly string[],
  answer: Parameters<typeof fakeCaller>[0],
  more: Partial<Batch> = {},
  sink = memorySink(),
) {
  const fake = fakeCaller(answer)
  const batch = await companyBatch(folder.file(csvOf(rows)), fake.caller, sink, {
    total: rows.length,
    ...more,
  })
  const report = await execute(batch)
  return { report, sink, fake, rows: sink.text() === '' ? [] : rowsOf(sink.text()) }
}

const tableOf = (rows: Batch['table']['rows']) => ({ header: ['domain'], rows })

/** A table whose rows are read all at once. */
const atOnce = (names: readonly string[]) =>
  tableOf(async function* () {
    yield names.map((name, at) => ({ line: at + 2, cells: [name] }))
  })

const found = (input: Input) => company(input.domain)
const later = () => new Promise((resolve) => setImmediate(resolve))

describe('the rows of a batch', () => {
  test('are written in the order of the input, whatever the order of the answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 40 }),
        async (delays, concurrency) => {
          const names = domainsOf(delays.length)
          const { rows, report, fake } = await runDomains(
            names,
            async (input, nth) => {
              for (let turns = delays[nth - 1] ?? 0; turns > 0; turns--) await later()
              return company(input.domain)
            },
            { concurrency },
          )
          expect(rows.map((row) => row.domain)).toEqual(names)
          expect(rows.map((row) => row['result.domain'])).toEqual(names)
          expect(report).toMatchObject({ rows: names.length, found: names.length, credits: names.length })
          expect(fake.most()).toBeLessThanOrEqual(concurrency)
        },
      ),
      { numRuns: tries(25, 100) },
    )
  })

  const replies =
    casesOf<[what: string, number, body: unknown, expected: Record<string, string>]>('runs/execute/statuses')
  const lost = { _status: 'failed', _error: 'outcome_unknown', _credits: '0' }

  test.each<[string, Parameters<typeof fakeCaller>[0], Record<string, string>]>([
    ...replies.map(([what, status, body, expected]) => [what, () => reply(status, body), expected] as never),
    ['found', found, { _status: 'found', _error: '', _credits: '1', _source: 'lookup' }],
    [
      'a connection that was lost before anything was sent',
      () => Promise.reject(new ConnectionLost('the address is unknown', false)),
      { ...lost, _error: 'No answer: the address is unknown' },
    ],
    ['a connection that was lost later', () => Promise.reject(new ConnectionLost('it was cut')), lost],
    [
      'a reply that leaves open whether the work was done',
      () => ({ ...reply(502, { error: 'Upstream answered with nothing' }), unknown: true as const }),
      lost,
    ],
  ])('have the right status: %s', async (_, answer, expected) => {
    const { rows, report, sink } = await runDomains(['a'], answer)
    expect(rows).toEqual([expect.objectContaining(expected)])
    expect(sink.ended()).toBe('finished')
    const isWrong = ['failed', 'invalid'].includes(expected._status ?? '')
    expect([exitCodeOf(report), exitCodeOf(report, 'none')]).toEqual([isWrong ? 11 : 0, 0])
  })

  test('do not report a bug as a lost connection, and what such a call may have cost stays set aside', async () => {
    const state = await openState(':memory:')
    const lookups = await newLookups({}, state)
    await expect(
      runDomains(['a'], () => Promise.reject(new TypeError('x is not a function')), { lookups }),
    ).rejects.toThrow('x is not a function')
    expect(await runsOver(state).list()).toMatchObject([{ status: 'stopped', reserved: 1 }])
  })

  test('are not sent when they are ragged or invalid', async () => {
    const fake = fakeCaller(found)
    const sink = memorySink()
    const file = folder.file('domain,country\na,DE\nb,FR,x,y\n\nc,XX\n"d\n",FR,1\n')
    const validate = ({ input }: ReadRow) => {
      if (input.country === 'XX') throw new ApiError('invalid', { reason: 'country XX is unknown' })
    }
    const report = await execute(await companyBatch(file, fake.caller, sink, { validate }))
    expect(rowsOf(sink.text()).map((row) => [row._status, row._error, row._credits, row._source])).toEqual([
      ['found', '', '1', 'lookup'],
      ['invalid', 'the row has 4 cells; the header has 2', '0', ''],
      ['invalid', 'country XX is unknown', '0', ''],
      ['invalid', 'the row has 3 cells; the header has 2', '0', ''],
    ])
    expect(fake.domains()).toEqual(['a'])
    expect(report).toMatchObject({ rows: 4, found: 1, invalid: 3, credits: 1 })
  })

  test('leave nothing of a reply in the output or on record that found nothing', async () => {
    const state = await openState(':memory:')
    const echoing = (input: Input) => reply(404, { error: 'No company found', industry: input.domain })
    const { rows } = await runDomains(['x'], echoing, { lookups: await newLookups({}, state) })
    expect(rows).toMatchObject([{ _status: 'not_found', industry: '' }])
    expect(await state.read((one) => one.all('SELECT body FROM lookups'))).toEqual([{ body: null }])
  })

  test('are reported as progress also while they wait for others of their row batch', async () => {
    const seen: RunProgress[] = []
    let now = 0
    const slow = async (input: Input, nth: number) => {
      for (let turns = nth; turns > 0; turns--) await later()
      now += 600
      return found(input)
    }
    const time = { ...fakeTime(), now: () => now }
    const onProgress = (progress: RunProgress) => void seen.push(progress)
    await runDomains(domainsOf(64), slow, { concurrency: 64, time, onProgress })
    const rows = seen.map((progress) => progress.rows)
    expect([rows.some((count) => count > 0 && count < 32), rows.at(-1)]).toEqual([true, 64])
    expect(rows).toEqual(rows.toSorted((a, b) => a - b))
    for (const { found, credits, rows } of seen) expect([found, credits]).toEqual([rows, rows])
  })

  test('are reported as progress five times a second while they wait for others of their row batch', async () => {
    const seen: number[] = []
    let now = 0
    const oneByOne = async (input: Input, nth: number) => {
      for (let turns = 4 * nth; turns > 0; turns--) await later()
      now += 100
      return found(input)
    }
    await runDomains(domainsOf(5), oneByOne, {
      concurrency: 8,
      table: atOnce(domainsOf(5)),
      time: { ...fakeTime(), now: () => now },
      onProgress: ({ rows }) => void seen.push(rows),
    })
    expect(seen).toEqual([2, 4, 5])
  })

  test('are reported as progress once when they come and are written in the same moment', async () => {
    const seen: RunProgress[] = []
    await runDomains(domainsOf(4), found, {
      concurrency: 4,
      table: atOnce(domainsOf(4)),
      onProgress: (progress) => void seen.push(progress),
    })
    expect(seen).toMatchObject([{ rows: 4, found: 4 }])
  })

  test('are reported apart from those that an earlier execution answered', async () => {
    const state = await openState(':memory:')
    const run = await runsOver(state).add(newRun())
    const refused = (input: Input, nth: number) =>
      nth > 3 ? reply(402, { code: 'insufficient_credits' }) : found(input)
    await runDomains(domainsOf(9), refused, { lookups: await lookupsFor(state, run), concurrency: 1 })
    const seen: RunProgress[] = []
    const onProgress = (progress: RunProgress) => void seen.push(progress)
    await runDomains(domainsOf(9), found, { lookups: await lookupsFor(state, run), onProgress })
    expect(seen.at(-1)).toMatchObject({ rows: 9, replayed: 3, credits: 9, credits_before: 3 })
  })

  test('can be missing: the output then has a header only', async () => {
    const { sink, report } = await runDomains([], found)
    expect(sink.text()).toBe('domain,result.domain,industry,_status,_error,_credits,_source\n')
    expect(report).toMatchObject({ rows: 0, credits: 0, output: 'out.csv', partial: null })
  })
})

describe('duplicate rows', () => {
  test('are paid once, whether the first answer is in flight, in memory or stored', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 64 }),
        fc.nat({ max: 3 }),
        async (picks, concurrency, delay) => {
          const names = picks.map((pick) => `d${pick}.example`)
          const { rows, report, fake } = await runDomains(
            names,
            async (input, nth) => {
              for (let turns = (nth * delay) % 4; turns > 0; turns--) await later()
              return company(input.domain)
            },
            { concurrency },
          )
          const distinct = new Set(names).size
          expect(fake.calls).toHaveLength(distinct)
          expect(report).toMatchObject({
            rows: names.length,
            credits: distinct,
            duplicates: names.length - distinct,
          })
          expect(rows.map((row) => row.industry)).toEqual(names.map((name) => `Industry of ${name}`))
          const first = new Set<string>()
          for (const row of rows) {
            const again = first.has(row.domain ?? '')
            first.add(row.domain ?? '')
            expect([row._source, row._credits]).toEqual(again ? ['duplicate', '0'] : ['lookup', '1'])
          }
        },
      ),
      { numRuns: tries(15, 60) },
    )
  })

  test('share an answer that nothing was found', async () => {
    const { fake, report } = await runDomains(['x', 'x', 'x'], () =>
      reply(404, { error: 'No company found' }),
    )
    expect(fake.calls).toHaveLength(1)
    expect(report).toMatchObject({ not_found: 3, duplicates: 2 })
  })

  test('are looked up again after a failure that is no longer shared', async () => {
    const names = ['x', ...domainsOf(40), 'x']
    const { fake, rows } = await runDomains(
      names,
      (input, nth) => (nth === 1 ? reply(500, { error: 'down' }) : company(input.domain)),
      { concurrency: 1 },
    )
    expect(fake.domains().filter((domain) => domain === 'x')).toHaveLength(2)
    expect(rows.at(-1)).toMatchObject({ _status: 'found', _source: 'lookup' })
  })

  test('are recognised only by their identity', async () => {
    const { fake } = await runDomains(['x', 'x'], found, { identity: () => undefined })
    expect(fake.calls).toHaveLength(2)
  })
})

describe('rows that an earlier answer shows to be the same company', () => {
  const spellings = ['domain', 'url', 'id'] as const
  /** What a cell asks for, such as `domain 7`. Any spelling brings the whole record. */
  const identity = ({ domain }: Input) => String(domain)
  const record = (input: Input) => {
    const [, number] = identity(input).split(' ')
    return reply(
      200,
      { ...Object.fromEntries(spellings.map((one) => [one, number])), industry: `of ${number}` },
      1,
    )
  }
  const alsoAnswers = (_: string, body: unknown) =>
    spellings.map((one) => `${one} ${(body as Record<string, string>)[one]}`)
  const file = fc.uniqueArray(fc.nat({ max: 299 }), { minLength: 300, maxLength: 300 })
  const cellsOf = (order: readonly number[]) =>
    order.map((at) => `${spellings[at % 3]} ${Math.floor(at / 3)}`)

  test('are never sent once that answer is there, whatever the order and the number of calls', async () => {
    await fc.assert(
      fc.asyncProperty(file, fc.constantFrom(1, 8, undefined), async (order, concurrency) => {
        const answered = new Set<string>()
        const late: string[] = []
        const { fake, report, rows } = await runDomains(
          cellsOf(order),
          async (input, nth) => {
            const company = identity(input).split(' ')[1] ?? ''
            if (answered.has(company)) late.push(company)
            for (let turns = nth % 3; turns >= 0; turns--) await later()
            // What is on its way to the caller in this moment still goes out.
            void later().then(() => answered.add(company))
            return record(input)
          },
          { identity, alsoAnswers, ...(concurrency && { concurrency }) },
        )
        expect(late).toEqual([])
        if (concurrency === 1) expect(fake.calls).toHaveLength(100)
        const sent = fake.calls.length
        expect(report).toMatchObject({ rows: 300, found: 300, credits: sent, duplicates: 300 - sent })
        expect(rows.map(({ industry }) => industry)).toEqual(
          cellsOf(order).map((cell) => `of ${cell.split(' ')[1]}`),
        )
      }),
      { numRuns: tries(6, 20) },
    )
  })

  test('are not sent by a run that was killed and goes on', async () => {
    await fc.assert(
      fc.asyncProperty(file, fc.integer({ min: 1, max: 99 }), async (order, kill) => {
        const state = await openState(':memory:')
        const run = await runsOver(state).add(newRun())
        const names = cellsOf(order)
        const killed = new AbortController()
        const lookups = await lookupsFor(state, run)
        lookups.end = async () => {}
        const part = { identity, alsoAnswers, concurrency: 1 }
        const first = await runDomains(
          names,
          (input, nth) => {
            if (nth === kill) killed.abort()
            return record(input)
          },
          { ...part, lookups, signal: killed.signal },
        )
        const [again = run] = await runsOver(state).find(run.id)
        const rest = await runDomains(names, record, {
          ...part,
          lookups: await lookupsFor(state, again),
        })
        expect([first.fake.calls.length, rest.fake.calls.length]).toEqual([kill, 100 - kill])
        expect(rest.report).toMatchObject({ rows: 300, found: 300 })
        // The rows have answers of their own from now on.
        const last = await runDomains(names, record, {
          ...part,
          lookups: await lookupsFor(state, again),
        })
        expect(last.fake.calls).toEqual([])
      }),
      { numRuns: tries(2, 20) },
    )
  })

  test('are those with exactly an identity of the answer', async () => {
    const { fake } = await runDomains(['a', 'b', 'c'], found, {
      concurrency: 1,
      alsoAnswers: (_, body) =>
        (body as { domain: string }).domain === 'a' ? ['domain c', 'domain bb'] : [],
    })
    expect(fake.domains()).toEqual(['a', 'b'])
  })

  test('are within a budget that is used up by then', async () => {
    const { report } = await runDomains(['a', 'b', 'c'], found, {
      lookups: await newLookups({ budgets: { perRun: 1 } }),
      concurrency: 1,
      alsoAnswers: () => ['domain b', 'domain c'],
    })
    expect(report).toMatchObject({ rows: 3, credits: 1, duplicates: 2 })
  })
})

describe('the record of a run', () => {
  test('stores rows before they are sent and answers before they are written, and provides the keys', async () => {
    const log: string[] = []
    const lookups = await newLookups()
    for (const name of ['claim', 'settle', 'written', 'withdraw', 'end', 'flush'] as const) {
      const method = lookups[name].bind(lookups) as (...given: unknown[]) => Promise<unknown>
      const noted = (...given: unknown[]) => {
        const rows = Array.isArray(given[0]) ? given[0].map(({ ordinal }) => ordinal) : []
        log.push(`${name} ${rows}`.trim())
        return method(...given)
      }
      Object.assign(lookups, { [name]: noted })
    }
    const { fake } = await runDomains(
      ['a', 'b', 'a'],
      (input) => {
        log.push(`call ${input.domain}`)
        return company(input.domain)
      },
      { lookups, concurrency: 16, table: atOnce(['a', 'b', 'a']) },
    )
    expect(log).toEqual([
      'claim 0,1,2',
      'call a',
      'call b',
      'settle 0,2,1',
      'written',
      'withdraw',
      'end',
      'flush',
    ])
    expect(fake.calls.map(({ options }) => options?.idempotencyKey)).toEqual(['run-1-0', 'run-1-1'])
  })

  test('ends the run when it fails, and what was paid is still written', async () => {
    const lookups = fillDisk(await newLookups(), 0)
    const { report, rows, fake } = await runDomains(domainsOf(5_000), found, { lookups, concurrency: 4 })
    expect(report.stopped).toMatchObject({
      exit_code: 10,
      reason: expect.stringContaining('the disk is full'),
    })
    expect(fake.calls.length).toBeLessThan(5_000)
    expect(rows).toHaveLength(fake.calls.length)
  })
})

describe('a refusal that applies to every row', () => {
  const refusals = casesOf<[status: number, body: unknown, exit: number]>('runs/execute/refusals')

  test.each(refusals)('%i stops the run: %j, exit %i', async (status, body, exit) => {
    const { report, rows, sink, fake } = await runDomains(
      domainsOf(100),
      (input, nth) => (nth <= 10 ? company(input.domain) : reply(status, body)),
      { concurrency: 1 },
    )
    expect(report.stopped).toMatchObject({ exit_code: exit, at_row: 11, rows_left: 90 })
    expect(report).toMatchObject({ rows: 10, credits: 10, output: null, partial: 'out.csv.partial' })
    expect(rows.map((row) => row.domain)).toEqual(domainsOf(10))
    expect(fake.calls).toHaveLength(11)
    expect(sink.ended()).toBe('abandoned')
    expect(exitCodeOf(report, 'none')).toBe(exit)
  })

  test.each(refusals)(
    '%i stops the run at a row that may have been sent before: %j, exit %i',
    async (status, body, exit) => {
      const failure = failureOf(status, body)
      const { report } = await runDomains(
        domainsOf(12),
        (input, nth) => {
          if (nth > 10) throw new ApiError('outcome_unknown', { reply: { status, body } })
          return company(input.domain)
        },
        { concurrency: 1 },
      )
      expect(report.stopped).toMatchObject({
        exit_code: exit,
        reason: failure.text,
        hint: hintOf(failure.means),
      })
    },
  )

  test.each([
    ['leaves open whether it was done keeps what is set aside for it', true, 1],
    ['says that it was not done frees what was set aside for it', undefined, 0],
  ])('that %s', async (_, unknown, reserved) => {
    const state = await openState(':memory:')
    const refused = reply(503, { error: 'The database cannot be used: the disk is full' })
    await runDomains(['a.example'], () => ({ ...refused, ...(unknown && { unknown }) }), {
      lookups: await newLookups({}, state),
    })
    expect(await runsOver(state).find('run-1')).toMatchObject([{ reserved }])
  })

  test('ends the reading of the file', async () => {
    let read = 0
    const table = tableOf(async function* () {
      for (const name of domainsOf(100)) yield [{ line: ++read + 1, cells: [name] }]
    })
    const refused = () => reply(402, { code: 'insufficient_credits' })
    await runDomains(domainsOf(100), refused, { concurrency: 1, table })
    expect(read).toBeLessThan(100)
  })

  test('leaves later answers in the output, in order, without the unanswered rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat({ max: 79 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 32 }),
        fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 20 }),
        async (refused, concurrency, delays) => {
          const answered: string[] = []
          const { report, rows, fake } = await runDomains(
            domainsOf(80),
            async (input, nth) => {
              for (let turns = delays[nth % delays.length] ?? 0; turns > 0; turns--) await later()
              const domain = String(input.domain)
              if (refused.includes(Number(domain.slice(1, -8))))
                return reply(402, { code: 'insufficient_credits' })
              answered.push(domain)
              return company(domain)
            },
            { concurrency },
          )
          expect(rows.map((row) => row.domain)).toEqual(
            domainsOf(80).filter((domain) => answered.includes(domain)),
          )
          expect(report).toMatchObject({ rows: answered.length, credits: answered.length })
          expect(report.stopped).toMatchObject({ exit_code: 4, rows_left: 80 - answered.length })
          const asked = new Set(fake.domains())
          const firstRefused = domainsOf(80).findIndex(
            (domain, at) => refused.includes(at) && asked.has(domain),
          )
          expect(report.stopped?.at_row).toBe(firstRefused + 1)
        },
      ),
      { numRuns: tries(25, 100) },
    )
  })

  test('leaves duplicates of the refused row out of the output', async () => {
    const names = ['a', 'b', 'b', 'a']
    const { rows, report } = await runDomains(
      names,
      (input) =>
        input.domain === 'b' ? reply(402, { code: 'insufficient_credits' }) : company(input.domain),
      { concurrency: 16, table: atOnce(names) },
    )
    expect(rows.map((row) => row.domain)).toEqual(['a', 'a'])
    expect(report.stopped).toMatchObject({ at_row: 2, rows_left: 2 })
  })
})

describe('a rate limit', () => {
  test('makes all rows wait exactly Retry-After, and then sends them again', async () => {
    const time = fakeTime()
    let opens = 0
    const { report, fake } = await runDomains(
      domainsOf(20),
      (input) => {
        if (opens === 0) opens = time.now() + 7_000
        return time.now() < opens ? reply(429, {}, 0, { 'retry-after': '7' }) : company(input.domain)
      },
      { time, concurrency: 5 },
    )
    expect(report).toMatchObject({ found: 20, failed: 0 })
    expect(time.slept).toEqual([7_000])
    // Only the first request of a row says that there can be no answer to it yet.
    const seen = new Set<string>()
    for (const { options: { idempotencyKey = '', row } = {} } of fake.calls) {
      expect(row?.fresh, idempotencyKey).toBe(!seen.has(idempotencyKey))
      seen.add(idempotencyKey)
    }
    expect(fake.calls.length).toBeLessThanOrEqual(25)
  })

  test('is reported as progress while rows wait for it, with the rows answered before', async () => {
    const time = fakeTime()
    const opensAt = time.now() + 42_000
    const seen: RunProgress[] = []
    const answer = (input: Input, nth: number) =>
      nth <= 8 || time.now() >= opensAt ? found(input) : reply(429, {}, 0, { 'retry-after': '42' })
    await runDomains(domainsOf(20), answer, { time, onProgress: (progress) => void seen.push(progress) })
    expect(seen.find(({ waitsUntil }) => waitsUntil === opensAt)).toMatchObject({ rows: 8, found: 8 })
  })

  test.each([
    ['for a second where the target says no time', {}, 1_000],
    ['until Retry-After where that is a date', { 'retry-after': new Date(1_003_000).toUTCString() }, 3_000],
  ])('is awaited %s', async (_, headers, ms) => {
    const time = fakeTime()
    const answer = (input: Input, nth: number) => (nth === 1 ? reply(429, {}, 0, headers) : found(input))
    await runDomains(['a'], answer, { time })
    expect(time.slept).toEqual([ms])
  })

  test('reduces the calls in flight to what its window admits', async () => {
    const time = fakeTime()
    let under = 0
    let most = 0
    await runDomains(
      domainsOf(60),
      async (input, nth) => {
        if (nth === 1 || time.slept.length === 0)
          return reply(429, {}, 0, { 'retry-after': '1', 'ratelimit-limit': '5' })
        under++
        await later()
        most = Math.max(most, under)
        under--
        return company(input.domain)
      },
      { time, concurrency: 20 },
    )
    expect(most).toBe(5)
  })

  test('is not awaited when the run is interrupted', async () => {
    const controller = new AbortController()
    const time = {
      now: () => 0,
      sleep: (_: number, signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve())
          controller.abort()
        }),
    }
    const { report } = await runDomains(domainsOf(9), () => reply(429, {}, 0, { 'retry-after': '3600' }), {
      time,
      signal: controller.signal,
    })
    expect(report).toMatchObject({ rows: 0, stopped: { exit_code: 130, rows_left: 9 } })
  })

  test('of one call at once leaves no row in its line when the run is interrupted', async () => {
    const controller = new AbortController()
    let now = 0
    const time = {
      now: () => now,
      sleep: async (ms: number) => {
        for (let turns = 0; turns < 3; turns++) await later()
        // No call is under way now, and the rows behind them are in line.
        if (now > 0) controller.abort()
        now += ms
      },
    }
    const refused = async () => {
      await later()
      return reply(429, {}, 0, { 'retry-after': '1', 'ratelimit-limit': '1' })
    }
    const { report } = await runDomains(domainsOf(9), refused, { time, signal: controller.signal })
    expect(report).toMatchObject({ rows: 0, stopped: { exit_code: 130, rows_left: 9 } })
  })
})

describe('a request that the target says is still in progress', () => {
  const busy = reply(409, { code: 'idempotency_in_progress' }, 0, { 'retry-after': '1' })

  test('is waited for three minutes, keeps no other row waiting, and has an unknown outcome then', async () => {
    const [time, notes]: [ReturnType<typeof fakeTime>, unknown[]] = [fakeTime(), []]
    const begun = time.now()
    let others = 0
    const { report, rows } = await runDomains(
      domainsOf(9),
      (input) => {
        if (input.domain === 'd4.example') return busy
        others = Math.max(others, time.now() - begun)
        return found(input)
      },
      { time, notify: (note) => void notes.push(note) },
    )
    expect(report).toMatchObject({ found: 8, failed: 1 })
    expect(rows[4]).toMatchObject({ _status: 'failed', _error: 'outcome_unknown' })
    expect(notes).toEqual([{ code: 'run.in_progress', details: { minutes: 3 } }])
    expect(others).toBeLessThan(30_000)
    expect(time.slept).toEqual(Array(180).fill(1_000))
  })

  test('is answered once it has ended', async () => {
    const time = fakeTime()
    const answer = (input: Input, nth: number) => (nth <= 100 ? busy : found(input))
    const { report } = await runDomains(['d0.example'], answer, { time })
    expect(report).toMatchObject({ found: 1, failed: 0 })
  })
})

describe('an interrupted run', () => {
  test.each([
    [undefined, 130],
    ['SIGTERM', 143],
  ])('awaits the calls in flight and keeps their answers (%s)', async (reason, exit) => {
    const controller = new AbortController()
    const { report, rows, fake, sink } = await runDomains(
      domainsOf(200),
      async (input, nth) => {
        if (nth === 30) controller.abort(reason)
        await later()
        return company(input.domain)
      },
      { concurrency: 8, signal: controller.signal },
    )
    expect(fake.calls.length).toBeLessThan(200)
    expect(rows.map((row) => row.domain)).toEqual(fake.domains())
    expect(report.stopped).toMatchObject({
      exit_code: exit,
      at_row: null,
      rows_left: 200 - fake.calls.length,
    })
    expect(sink.ended()).toBe('abandoned')
  })

  test('is complete when it had all answers', async () => {
    const controller = new AbortController()
    const { report, sink } = await runDomains(
      domainsOf(3),
      async (input, nth) => {
        for (let turns = 0; turns < 5; turns++) await later()
        if (nth === 3) controller.abort()
        return company(input.domain)
      },
      { signal: controller.signal },
    )
    expect(report.stopped).toBeUndefined()
    expect(sink.ended()).toBe('finished')
  })

  test('sends nothing when it was interrupted before its start', async () => {
    const { fake, report } = await runDomains(domainsOf(3), found, { signal: AbortSignal.abort() })
    expect(fake.calls).toEqual([])
    expect(report.stopped).toMatchObject({ exit_code: 130, rows_left: 3 })
  })
})

describe('a failure in the middle of a run', () => {
  test('of the output ends the run, and the credits are still counted', async () => {
    const sink = memorySink()
    const failing = {
      ...sink,
      write: async (text: string) => {
        if (sink.text().length > 200)
          throw new Refusal('output.failed', {
            path: 'out.csv',
            cause: Object.assign(new Error(), { code: 'ENOSPC' }),
          })
        await sink.write(text)
      },
    }
    const { report, fake } = await runDomains(domainsOf(500), found, { concurrency: 4 }, failing)
    expect(report.stopped).toMatchObject({ exit_code: 10, reason: expect.stringContaining('ENOSPC') })
    expect(fake.calls.length).toBeLessThan(500)
    expect(report.credits).toBe(fake.calls.length)
    expect(report.rows).toBeLessThan(fake.calls.length)
    expect(sink.ended()).toBe('abandoned')
  })

  test('of the input ends the run with its line', async () => {
    const table = tableOf(async function* () {
      yield* atOnce(['a', 'b']).rows()
      throw new Refusal('csv.quote_open', { line: 9 })
    })
    const { report, sink } = await runDomains(['a', 'b'], found, { table })
    expect(report).toMatchObject({
      rows: 2,
      stopped: { exit_code: 2, reason: expect.stringContaining('Line 9: a quote is opened') },
    })
    expect(sink.ended()).toBe('abandoned')
  })

  test('of the program is thrown after everything paid has been written', async () => {
    const sink = memorySink()
    const identity = ({ domain }: Input) => {
      if (domain === 'd20.example') throw new TypeError('a bug')
      return String(domain)
    }
    const running = runDomains(domainsOf(50), found, { concurrency: 4, identity }, sink)
    await expect(running).rejects.toThrow('a bug')
    expect(rowsOf(sink.text())).toHaveLength(20)
    expect(sink.ended()).toBe('abandoned')
  })
})

test('a file is read at most a few times the number of calls in flight ahead', async () => {
  let [read, called, ahead] = [0, 0, 0]
  const table = tableOf(async function* () {
    for (; read < 400; read++) {
      ahead = Math.max(ahead, read - called)
      yield [{ line: read + 2, cells: [`d${read}.example`] }]
    }
  })
  const answer = async (input: Input, nth: number) => {
    called = nth
    await new Promise((resolve) => setTimeout(resolve, 1))
    return found(input)
  }
  const { report } = await runDomains([], answer, { concurrency: 8, table })
  expect(report.rows).toBe(400)
  expect(ahead).toBeLessThanOrEqual(32)
})
