import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isPriced } from '../../../src/api/operations/facts.js'
import { commandOf, operations } from '../../../src/api/operations/table.js'
import type { BatchQuote } from '../../../src/runs/plan/quote.js'
import { machine } from '../../support/command.js'
import { sample, tries } from '../../support/effort.js'

const here = machine()
afterAll(() => here.remove())

const count = 12
const all = Array.from({ length: count }, (_, at) => at)
const domain = (at: number) => `company-${at}.example`
const companyUrl = (at: number) => `https://www.network.example/company/company-${at}`
const personUrl = (at: number) => `https://www.network.example/in/ann-${at}`
const email = (at: number) => `ann.${at}@company-${at}.example`
const phone = (at: number) => `+336123456${String(at).padStart(2, '0')}`

/** Imports companies with people and jobs. Some of them lack the requested fields. */
async function fill(): Promise<void> {
  const put = async (kind: string, lines: readonly string[]) => {
    here.write('data.csv', `${lines.join('\n')}\n`)
    await here.json('data', 'import', kind, 'data.csv')
  }
  await put('companies', [
    'name,domain,network_url,technologies',
    ...all.map((at) => `Company ${at},${domain(at)},${companyUrl(at)},${at % 3 === 0 ? '' : 'react'}`),
  ])
  await put('people', [
    'first_name,last_name,title,network_profile_url,company_domain,email,phone',
    ...all.map((at) => {
      const [mail, number] = [at % 4 === 3 ? '' : email(at), at % 2 === 0 ? phone(at) : '']
      return `Ann,Number${at},Engineer,${personUrl(at)},${domain(at)},${mail},${number}`
    }),
  ])
  await put('jobs', [
    'company_domain,job_title,job_url,date_posted',
    ...all.flatMap((at) =>
      all
        .slice(0, at % 5)
        .map((job) => `${domain(at)},Job ${job},https://jobs.example/${at}/${job},2026-11-01`),
    ),
  ])
}

beforeAll(async () => {
  await fill()
  // Rate limits would only slow these tests down.
  await here.json('engine plan set scale')
})

/** A batch command, its input column and the cell of a row. The catalogue knows the first `count` cells. */
const commands: readonly (readonly [command: string, column: string, cell: (at: number) => string])[] = [
  ['accounts enrich', 'domain', domain],
  ['accounts headcount', 'company_domain', domain],
  ['accounts count-profiles', 'company_network_url', companyUrl],
  ['accounts hiring --limit 3', 'company_domain', domain],
  ['accounts stack', 'company_domain', domain],
  ['leads enrich', 'network_url', personUrl],
  ['contacts waterfall --enrichment-type email', 'network_url', personUrl],
  ['contacts waterfall --enrichment-type email,phone', 'network_url', personUrl],
  ['contacts reverse-lookup', 'email', email],
  ['messenger validate', 'phone_number', phone],
]

/** Whether the rows of a command cost nothing, so that there is no budget for them. */
const isFree = (command: string): boolean =>
  operations().some((row) => commandOf(row.id) === /^\S+ \S+/.exec(command)?.[0] && !isPriced(row))

/** Rows by number: one that the catalogue may know, or -1 for an invalid row. */
const rows = fc.array(
  fc.oneof({ weight: 5, arbitrary: fc.nat(count + 4) }, { weight: 1, arbitrary: fc.constant(-1) }),
  {
    minLength: 1,
    maxLength: 7,
  },
)
const given = fc.record({
  rows,
  balance: fc.option(fc.nat(40), { nil: 5_000 }),
  week: fc.option(fc.nat(40), { nil: undefined }),
  budget: fc.option(fc.nat(30), { nil: undefined }),
})

const spent = async (): Promise<number> => {
  const movements = await here.json<{ operation: string | null; change: number }[]>('engine ledger')
  return movements.filter(({ operation }) => operation !== null).reduce((sum, { change }) => sum - change, 0)
}

const means = async (balance: number, week: number | undefined): Promise<void> => {
  await here.json(`engine credits set ${balance}`)
  // Without a limit for the week, one that no test reaches.
  const limit = week === undefined ? 1_000_000 : week + (await spent())
  await here.json(`engine members set me@localhost --weekly-limit ${limit}`)
}

/** Quotes a batch, which spends nothing, then runs it. Returns the exit code and the quote. */
async function agreed(...batch: string[]): Promise<{ readonly code: number; readonly quote: BatchQuote }> {
  const before = await spent()
  const quoted = await here.run([...batch, '--dry-run', '--json'])
  const quote = quoted.json as BatchQuote
  const exits = { credits: 4, weekly_limit: 5, quota: 6 }
  expect([await spent(), quoted.code]).toEqual([before, quote.shortage === null ? 0 : exits[quote.shortage]])
  const { code, stderr } = await here.run([...batch, '-o', 'out.csv'])
  const cost = (await spent()) - before
  const { min, expected, max } = quote.credits
  expect([min <= cost, cost <= max, min <= expected, expected <= max, stderr]).toEqual([
    true,
    true,
    true,
    true,
    stderr,
  ])
  if (quote.shortage === null && quote.rows_affordable === quote.rows) expect([0, 11]).toContain(code)
  return { code, quote }
}

const written = (name: string) => here.rows(name) as Record<string, string>[]

/** Returns the cells of rows that were looked up although an equal row before them was. */
function paidTwice(column: string): (string | undefined)[] {
  const live = written('out.csv')
    .filter(({ _source }) => _source === 'lookup')
    .map((row) => row[column])
  return live.filter((cell, at) => live.indexOf(cell) < at)
}

it.each(sample(commands, 4, 2))(
  'the quote of %s covers what the run then costs',
  async (command, column, cell) => {
    let file = 0
    const property = fc.asyncProperty(given, async ({ rows, balance, week, budget }) => {
      const name = `rows-${column}-${file++}.csv`
      const cells = rows.map((at) => (at < 0 ? '"",x' : `${cell(at)},${name}`))
      here.write(name, `${column},note\n${cells.join('\n')}\n`)
      const batch = [...command.split(' '), '--csv', name]
      await means(balance, week)
      const first = await agreed(
        ...batch,
        '--fresh',
        ...(budget === undefined || isFree(command) ? [] : ['--max-credits', `${budget}`]),
      )
      await means(5_000, undefined)
      // A run that was cut short is resumed with enough credits.
      const { code } = [0, 11].includes(first.code) ? first : await agreed(...batch)
      expect([0, 11]).toContain(code)
      expect(paidTwice(column)).toEqual([])
      // An answer with fewer jobs than were asked for, because the credits did not cover them, is not stored.
      const cutShort = written('out.csv').some(
        ({ truncated, jobs_count }) => truncated === 'true' && Number(jobs_count) < 3,
      )
      const before = await spent()
      const { quote } = await agreed(...batch, '--fresh', '--max-age', '90d')
      if (cutShort) return
      // Rows that were not found cost nothing, and are asked again: they may be found this time.
      const asked = written('out.csv').some(({ _status }) => _status === 'not_found')
      expect([quote.credits.min, await spent()]).toEqual([0, before])
      if (!asked) expect(quote.credits).toEqual({ min: 0, expected: 0, max: 0 })
    })
    await fc.assert(property, { numRuns: tries(1, 3) })
  },
)
