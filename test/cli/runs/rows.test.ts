import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { perFile, perTest } from '../../support/each.js'
import { csvOf, known, machines, paid } from './paying.js'

const filled = perFile(() => machines(60, 1_000))

const here = perTest(() => filled.copy())
beforeEach(() => here.write('in.csv', csvOf(20)))

const charged = async () => (await here.charges()).reduce((sum, one) => sum + one, 0)
const written = () => here.rows('out.csv')
const quoted = async (more = '') => (await here.enrich(`--dry-run --json ${more}`)).json

describe('--rows', () => {
  it('looks up the first rows, and the same command without it pays for the others only', async () => {
    const first = await here.enrich('--rows 3')
    expect([first.code, written().length, await charged()]).toEqual([0, 3, 3])
    expect(first.stderr).toContain('Looked up 3 of 20 rows.')
    expect(await here.runs()).toMatchObject([{ status: 'stopped', rows: 20, done: 3, credits: 3 }])
    expect((await here.enrich('--rows 3')).code).toBe(0)
    expect(await charged()).toBe(3)
    const rest = await here.enrich()
    expect([rest.code, written().length, paid(written()), await charged()]).toEqual([0, 20, 20, 20])
    expect(await quoted()).toMatchObject({ lookups: 0, spent_before: 20 })
    expect(await here.runs()).toMatchObject([{ status: 'finished', rows: 20, done: 20, credits: 20 }])
  })

  it('is remembered by runs resume, which takes another number', async () => {
    await here.enrich('--rows 6 --max-credits 2')
    expect(await charged()).toBe(2)
    const [run] = await here.runs()
    const { stderr } = await here.run(`runs resume ${run?.id ?? ''} --max-credits 100`)
    expect(stderr).toContain('Looked up 6 of 20 rows. With a higher --rows, it continues with the others.')
    expect([written().length, await charged()]).toEqual([6, 6])
    await here.run(`runs resume ${run?.id ?? ''} --rows 20`)
    expect([written().length, await charged()]).toEqual([20, 20])
  })

  it('larger than the file finishes the run, and of a finished run writes the first rows again', async () => {
    await here.enrich('--rows 500')
    expect(await here.runs()).toMatchObject([{ status: 'finished', done: 20 }])
    expect((await here.enrich('--rows 4')).stderr).not.toContain('continues with the others')
    expect([written().length, await charged()]).toEqual([4, 20])
    expect(await here.runs()).toMatchObject([{ status: 'finished' }])
  })

  it('and a budget leave rows that the summary counts', async () => {
    const summary = async (more: string) => {
      await here.enrich(`${more} --summary-json summary.json`)
      return JSON.parse(here.read('summary.json'))
    }
    expect(await summary('--rows 5 --max-credits 2')).toMatchObject({
      rows: 2,
      rows_left: 18,
      stopped: { rows_left: 3 },
    })
    expect(await summary('--rows 5')).toMatchObject({ rows: 5, rows_left: 15, stopped: null })
    expect(await summary('')).toMatchObject({ rows: 20, rows_left: 0 })
    expect(await summary('--map domain=Nothing')).toMatchObject({ status: 'refused', rows_left: null })
  })

  it('counts only those rows in the quote, and not those that were paid before', async () => {
    expect(await quoted('--rows 5')).toMatchObject({ rows: 5, lookups: 5, credits: { max: 5 } })
    await here.enrich('--rows 5')
    expect(await quoted()).toMatchObject({ rows: 20, done: 5, lookups: 15, credits: { max: 15 } })
  })
})

it('a quote says how many lookups are paid for already when none are reused', async () => {
  await here.enrich()
  here.write('in.csv', csvOf(30))
  expect(await quoted('--max-age 0')).toMatchObject({
    in_store: 0,
    paid_again: 20,
    lookups: 30,
    credits: { max: 30 },
  })
  expect(await quoted()).toMatchObject({ in_store: 20, paid_again: 0, lookups: 10 })
})

it('a quote says what --refresh pays for again, and that without it the stored answers are used', async () => {
  await here.enrich()
  const shown = async (more: string) =>
    (await here.run(`accounts enrich --csv in.csv --dry-run --format table ${more}`)).stdout.replace(
      /\s+/g,
      ' ',
    )
  const paidFor = /paid for already: .*?stored answers( are used)?/
  expect((await shown('--refresh')).match(paidFor)?.[0]).toBe(
    'paid for already: --refresh pays for them again, up to 20 credits; without it, the stored answers are used',
  )
  here.write('in.csv', csvOf(30))
  expect(await shown('--refresh')).toContain(
    '20 of 30 lookups are paid for already: --refresh pays for them again; without it, the stored answers are used',
  )
  expect((await shown('--refresh --max-age 0')).match(paidFor)?.[0]).toBe(
    'paid for already: --refresh pays for them again; with --max-age 90d in its place, the stored answers are used',
  )
  expect((await shown('--max-age 0')).match(paidFor)?.[0]).toBe(
    'paid for already: --max-age 90d uses the stored answers',
  )
  const reused = await shown('')
  expect([reused, paidFor.test(reused)]).toEqual([expect.stringContaining('20 of 30, the oldest'), false])
})

it('of a run that was killed before it recorded how many rows are done, its answers are counted', async () => {
  await here.enrich('--max-credits 5')
  const database = new Database(here.path('state.db'))
  expect(
    database.prepare(`UPDATE runs SET status = 'running', done = 0 WHERE total = 20`).run().changes,
  ).toBe(1)
  database.close()
  expect(await here.runs()).toMatchObject([{ status: 'stopped', done: 5, credits: 5 }])
  expect(await here.json('runs show --last')).toMatchObject({ done: 5, credits: 5, lookups: { total: 5 } })
  // Another command records that it was killed.
  await here.run(`accounts enrich ${known(50)}`)
  expect(await here.runs()).toMatchObject([{ status: 'stopped', done: 5, credits: 5 }])
  const { stderr } = await here.enrich()
  expect(stderr).toMatch(/^Resuming run \S+: 5 of 20 rows are answered, 5 credits paid\.$/m)
  expect(await here.runs()).toMatchObject([{ status: 'finished', done: 20, credits: 20 }])
})

it('a part that ends before an earlier one leaves the number of answered rows as it is', async () => {
  await here.enrich('--max-credits 5')
  await here.enrich('--rows 2')
  expect(await here.runs()).toMatchObject([{ status: 'stopped', done: 5, credits: 5 }])
  const { stderr } = await here.enrich()
  expect(stderr).toMatch(/^Resuming run \S+: 5 of 20 rows are answered, 5 credits paid\.$/m)
})

describe('--sample', () => {
  it('looks up rows spread over the file, and the whole file then takes their answers', async () => {
    expect(await quoted('--sample 4')).toMatchObject({ rows: 4, lookups: 4 })
    await here.enrich('--sample 4')
    const sampled = written().map(({ Website }) => Website)
    expect([sampled.length, await charged()]).toEqual([4, 4])
    expect(new Set(sampled.map((one) => Math.floor(Number(one?.match(/\d+/)?.[0]) / 5))).size).toBe(4)
    await here.enrich('--sample 4')
    expect([written().map(({ Website }) => Website), await charged()]).toEqual([sampled, 4])
    expect(await quoted()).toMatchObject({ rows: 20, in_store: 4, lookups: 16 })
    await here.enrich()
    expect([written().length, paid(written()), await charged()]).toEqual([20, 16, 20])
    expect(await here.runs()).toMatchObject([
      { status: 'finished', rows: 20 },
      { status: 'finished', rows: 4 },
    ])
  })

  it('is paid for again with --fresh and --refresh, as the summary says', async () => {
    await here.enrich('--sample 4 --refresh')
    const { stderr } = await here.enrich('--refresh')
    expect(stderr).toMatch(/^4 of 20 reused, the oldest \d+ s old; --fresh asks again\.$/m)
    await here.enrich('--fresh --refresh')
    expect(await charged()).toBe(40)
  })

  it('that was stopped is resumed by its own command, and leaves what it paid for to the whole file', async () => {
    await here.enrich('--sample 6 --max-credits 2')
    expect(await charged()).toBe(2)
    await here.enrich('--sample 6')
    expect([written().length, await charged()]).toEqual([6, 6])
    await here.enrich('--sample 10')
    expect(written()).toHaveLength(10)
    const spent = await charged()
    await here.enrich()
    expect([written().length, (await charged()) <= 20, spent <= 16]).toEqual([20, true, true])
    expect(await charged()).toBe(20)
  })
})
