import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { BatchQuote } from '../../../src/runs/plan/quote.js'
import { ends } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { csv, csvOf, known, knownFrom, machines, paid } from './paying.js'

const filled = perFile(() => machines(60, 1_000))

const here = perTest(() => filled.copy())

const charged = async () => (await here.charges()).reduce((sum, one) => sum + one, 0)
const asked = async (more = '') => {
  const { code, json, stderr } = await here.enrich(`--dry-run --json ${more}`)
  return { code, stderr, quote: json as BatchQuote }
}
const quoted = async (more = '') => (await asked(more)).quote

describe('the quote of a batch', () => {
  it('counts rows, distinct lookups and invalid rows, and computes the price range', async () => {
    here.write(
      'in.csv',
      `Website,note\n${known(1)},\nhttps://www.${known(1)}/about,\n${known(2)},\n"",none\nb.example,x,y\n`,
    )
    expect(await asked()).toMatchObject({
      code: 0,
      quote: {
        rows: 5,
        unique: 2,
        in_store: 0,
        invalid: 2,
        balance: 1_000,
        weekly_allowance: null,
        credits: { min: 0, expected: 1, max: 2 },
        seconds: 0,
        rows_affordable: 5,
        lookups: 2,
        quotas: {
          daily_profile_scraping: {
            limit: 2_500,
            remaining: 2_500,
            resets_at: expect.stringMatching(/^2\d{3}-/),
          },
        },
        unknown: [],
        invalid_reasons: [
          { reason: '"Website" is empty', rows: 1, first_rows: [4] },
          { reason: 'the row has 3 cells; the header has 2', rows: 1, first_rows: [5] },
        ],
      },
    })
  })

  it('says what the whole file can cost, whatever --rows, --sample and a budget leave of that', async () => {
    here.write('in.csv', csvOf(20))
    expect(await quoted()).toMatchObject({ credits: { max: 20 }, file_max: 20 })
    for (const part of ['--max-credits 3', '--rows 3', '--sample 3', '--rows 5 --max-credits 3'])
      expect(await quoted(part)).toMatchObject({ credits: { max: 3 }, file_max: 20 })
    const { stdout } = await here.enrich('--dry-run --format table --rows 3')
    expect(stdout).toMatch(/Whole file +at most 20 credits\n/)
    expect((await here.enrich('--dry-run --format table')).stdout).not.toContain('Whole file')
    await here.enrich('--rows 3')
    expect(await quoted('--rows 5')).toMatchObject({ credits: { max: 2 }, file_max: 17 })
    expect((await here.enrich('--dry-run --format table --rows 5')).stdout).toContain(
      'at most 17 credits more',
    )
  })

  it('spends nothing, records no run and writes no file', async () => {
    here.write('in.csv', csvOf(5))
    here.write('out.csv', 'mine\n')
    const before = readdirSync(here.home).sort()
    await here.enrich('--dry-run --lock nightly --summary-json summary.json')
    expect([await charged(), await here.runs(), here.read('out.csv')]).toEqual([0, [], 'mine\n'])
    expect(
      readdirSync(here.home).filter((name) => !before.includes(name) && !name.startsWith('state.db')),
    ).toEqual([])
  })

  it('quotes rows from a pipe, whose lookups use no quota of profiles, and stores none of them', async () => {
    const { stdout } = await here.run('accounts enrich --csv - --dry-run', { stdin: csvOf(3) })
    expect(JSON.parse(stdout)).toMatchObject({ rows: 3, credits: { max: 3 }, profiles_max: null })
    expect(here.exists('runs') ? readdirSync(here.path('runs')) : []).toEqual([])
  })

  it('prints JSON whatever --format the rows have', async () => {
    here.write('in.csv', csvOf(3))
    const { stdout } = await here.enrich('--dry-run --format csv --fields name')
    expect(JSON.parse(stdout)).toMatchObject({ rows: 3 })
  })
})

describe('the exit code of a quote', () => {
  it('exits 5 when the price exceeds the weekly allowance', async () => {
    here.write('in.csv', csvOf(8))
    await here.json('engine members set me@localhost --weekly-limit 7')
    expect(await asked()).toMatchObject({
      code: 5,
      quote: { weekly_allowance: 7, shortage: 'weekly_limit', rows_affordable: 7 },
    })
  })

  it('exits 2 when the run would be refused', async () => {
    here.write('in.csv', 'colour\nred\n')
    expect((await here.enrich('--dry-run')).code).toBe(2)
  })

  it('exits 3 when the key is not accepted', async () => {
    here.write('in.csv', csvOf(2))
    const key = `pk_${'x'.repeat(37)}`
    await ends(here.run(`${enrich} --dry-run`, { env: { PROSPECT_API_KEY: key } }), 3)
  })
})

const enrich = 'accounts enrich --csv in.csv'

describe('quotes and earlier runs', () => {
  it('quotes and charges nothing for stored answers', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    expect(await quoted('--fresh')).toMatchObject({
      in_store: 20,
      lookups: 0,
      credits: { min: 0, expected: 0, max: 0 },
      basis: { kind: 'certain' },
    })
    await here.enrich('--fresh')
    expect(await charged()).toBe(20)
    expect(await quoted('--fresh --max-age 0')).toMatchObject({ in_store: 0, credits: { max: 20 } })
    expect(await quoted('--refresh')).toMatchObject({ credits: { max: 20 } })
  })

  it('quotes nothing for a finished run', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    await here.json('engine credits set 0')
    const { code, quote, stderr } = await asked()
    expect([code, quote.credits.max, quote.done, quote.lookups]).toEqual([0, 0, 20, 0])
    expect(stderr).toMatch(/^Run \S+ is finished/m)
  })

  it('quotes only the rows that an unfinished run has not answered', async () => {
    here.write('in.csv', csv([...knownFrom(20), known(0), known(19)]))
    await here.enrich('--max-credits 8')
    expect(await quoted()).toMatchObject({
      rows: 22,
      unique: 20,
      done: 8,
      lookups: 12,
      credits: { max: 12 },
    })
    await here.enrich()
    expect(await charged()).toBe(20)
  })

  it('quotes the rest of a run for runs resume --dry-run', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich('--max-credits 8')
    const [run] = await here.runs()
    const { code, json } = await here.run(`runs resume ${run?.id ?? ''} --max-credits 11 --dry-run`)
    expect([code, json]).toMatchObject([0, { done: 8, lookups: 12, credits: { max: 3 } }])
    expect([await charged(), (await here.runs())[0]?.status]).toEqual([8, 'stopped'])
  })

  it('limits the quote to the rest of a budget', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich('--max-credits 8')
    expect(await quoted('--max-credits 10')).toMatchObject({
      budget: 2,
      credits: { max: 2 },
      rows_affordable: 10,
      shortage: null,
    })
    expect(await quoted('--max-credits-per-day 11')).toMatchObject({ budget: 3, credits: { max: 3 } })
  })

  it('refuses a changed file with --dry-run like the run does', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich('--max-credits 8')
    here.write('in.csv', csvOf(21))
    expect((await here.enrich('--dry-run')).code).toBe(2)
    expect(await quoted('--fresh')).toMatchObject({ in_store: 8, credits: { max: 13 } })
  })

  const junk = (count: number, column = 'Website') =>
    `${column}\n${Array.from({ length: count }, (_, at) => `no-${at}.example\n`).join('')}`

  it('expects nothing like a file of other columns, and prefers the newest of the same', async () => {
    here.write('in.csv', junk(60, 'Homepage'))
    await here.enrich()
    here.write('in.csv', csvOf(8))
    expect(await quoted()).toMatchObject({ credits: { expected: 4 }, basis: { kind: 'default', answers: 0 } })
    here.write('in.csv', junk(60))
    await here.enrich()
    here.write('in.csv', csv([...knownFrom(52)]))
    await here.enrich()
    here.write('in.csv', csvOf(8, 52))
    expect(await quoted()).toMatchObject({
      credits: { expected: 8 },
      basis: { kind: 'own', answers: 52, credits_per_lookup: 1 },
    })
  })

  it('says that a file may cost anything where the only one like it found nothing, whatever the case of its header', async () => {
    here.write('in.csv', junk(60))
    await here.enrich()
    here.write('in.csv', csvOf(32).replace('Website', 'WEBSITE'))
    expect(await quoted()).toMatchObject({ credits: { expected: 8, max: 32 }, expected_range: [0, 32] })
    const { stdout } = await here.enrich('--dry-run --format table')
    expect(stdout).toMatch(/^Credits +about 8, at most 32$/m)
    expect(stdout).toMatch(/^Expected +60 lookups of the newest such file: 0 credits each$/m)
  })

  it('says that a file may cost nothing where the only one like it found everything', async () => {
    here.write('in.csv', csv([...knownFrom(52)]))
    await here.enrich()
    here.write('in.csv', junk(20))
    expect(await quoted()).toMatchObject({ credits: { expected: 20, max: 20 }, expected_range: [0, 20] })
  })

  it('expects the success rate of earlier runs', async () => {
    here.write('in.csv', csv([...knownFrom(45), ...Array.from({ length: 9 }, (_, at) => `no-${at}.example`)]))
    await here.enrich()
    expect(paid(here.rows('out.csv'))).toBe(45)
    here.write('in.csv', csvOf(12, 45))
    expect(await quoted()).toMatchObject({
      credits: { min: 0, expected: 10, max: 12 },
      basis: { kind: 'own', answers: 54, files: 1, credits_per_lookup: 0.833 },
      expected_range: [0, 12],
    })
  })
})

it('estimates the minimum time from the rate limits', async () => {
  await here.fill('people', 'full_name,company_domain\nEve Young,initech.example\n')
  const urls = Array.from({ length: 250 }, (_, at) => `https://www.network.example/company/c${at}`)
  here.write('in.csv', `company_network_url\n${urls.join('\n')}\n`)
  const { json } = await here.run('accounts count-profiles --csv in.csv --dry-run')
  expect(json).toMatchObject({
    rows: 250,
    lookups: 250,
    seconds: 120,
    credits: { max: 0 },
    rows_affordable: 250,
  })
})
