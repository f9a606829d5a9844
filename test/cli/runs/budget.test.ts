import { describe, expect, it, vi } from 'vitest'
import { perFile, perTest } from '../../support/each.js'
import { csv, csvOf, known, machines, paid } from './paying.js'

const filled = perFile(() => machines(count + 100, 5_000))

const here = perTest(() => filled.copy())

/** Rows of a file that costs a credit for each. */
const count = 360

const charged = async () => (await here.charges()).length

describe('--max-credits', () => {
  it.each([0, 1, 128, 257])(
    'spends exactly --max-credits %i before it stops, and the rest after the budget is raised',
    async (most) => {
      here.write('in.csv', csvOf(count))
      const { code, stderr } = await here.enrich(`--max-credits ${most}`)
      expect([code, await charged()]).toEqual([12, most])
      expect(stderr).toMatch(
        new RegExp(`Budget reached: ${most} credits? for this run. ${count - most} rows? (is|are) left.`),
      )
      expect(paid(here.rows('out.csv.partial'))).toBe(most)
      expect((await here.enrich(`--max-credits ${count}`)).code).toBe(0)
      expect([await charged(), paid(here.rows('out.csv')), here.rows('out.csv').length]).toEqual([
        count,
        count,
        count,
      ])
    },
  )

  it('does not count rows that cost nothing against --max-credits', async () => {
    const rows = Array.from({ length: count }, (_, at) =>
      at % 3 === 2 ? known(at) : `unknown-${at}.example`,
    )
    here.write('in.csv', csv([...rows, ...rows]))
    // A row in flight may cost a credit, so the last lookup of the file must be a paid one.
    expect((await here.enrich(`--max-credits ${count / 3}`)).code).toBe(0)
    expect([await charged(), here.rows('out.csv').length]).toEqual([count / 3, 2 * count])
  })

  it('counts all parts of a run against --max-credits, and makes no call with a budget already spent', async () => {
    here.write('in.csv', csvOf(count))
    for (const [most, spent] of [
      [100, 100],
      [50, 100],
      [100, 100],
      [350, 350],
    ]) {
      expect((await here.enrich(`--max-credits ${most}`)).code).toBe(12)
      expect(await charged()).toBe(spent)
    }
    const { stdout } = await here.enrich('--max-credits 357 --dry-run --format table')
    expect(stdout).toMatch(
      /^Budget +7 credits left; --max-credits counts the 350 credits that this run\s+has spent$/m,
    )
  })

  it('does not count stored answers against --max-credits', async () => {
    here.write('in.csv', csvOf(300))
    await here.enrich()
    here.write('in.csv', csvOf(310))
    expect((await here.enrich('--max-age 90d --max-credits 10')).code).toBe(0)
    expect(await charged()).toBe(310)
  })
})

it('counts two runs together against --max-credits-per-day', async () => {
  here.write('in.csv', csvOf(200))
  expect((await here.enrich('--max-credits-per-day 250')).code).toBe(0)
  here.write('in.csv', csvOf(200, 200))
  const { code, stderr } = await here.enrich('--max-credits-per-day 250')
  expect([code, await charged()]).toEqual([12, 250])
  expect(stderr).toContain('Budget reached: 250 credits a day')
  expect((await here.enrich('--max-credits-per-day 400')).code).toBe(0)
  expect(await charged()).toBe(400)
})

it('says of --max-credits-per-day which day it is used up by, where the clock was ahead', async () => {
  here.write('in.csv', csvOf(20))
  const ahead = Date.now() + 400 * 86_400_000
  vi.useFakeTimers({ toFake: ['Date'], now: ahead })
  try {
    expect((await here.enrich('--max-credits-per-day 25')).code).toBe(0)
  } finally {
    vi.useRealTimers()
  }
  here.write('in.csv', csvOf(20, 20))
  const { code, stderr } = await here.enrich('--max-credits-per-day 25')
  const day = new Date(ahead).toISOString().slice(0, 10)
  expect([code, await charged()]).toEqual([12, 25])
  expect(stderr).toContain(
    `Budget reached: 25 credits a day: the clock was ahead, and what was spent under the date ${day} counts until then.`,
  )
  expect(stderr).toContain(`Wait until ${day} (UTC) is over, or raise --max-credits-per-day.`)
  const single = await here.run('accounts enrich --domain company-300.example --max-credits-per-day 25')
  expect([single.code, single.stderr]).toEqual([12, expect.stringContaining(`under the date ${day}`)])
})
