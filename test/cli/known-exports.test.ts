import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ends, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { sample } from '../support/effort.js'

const folder = join(import.meta.dirname, '../fixtures/exports')

type Columns = Readonly<Record<string, string | readonly string[]>>

/** What the JSON beside an export says. */
interface Expected {
  readonly rows: number
  readonly footer_lines: number
  readonly commands: Readonly<Record<string, Columns>>
  readonly may_fill?: Readonly<Record<string, Columns>>
  readonly rows_without_identity: Readonly<Record<string, readonly number[]>>
}

const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.csv'))
  .flatMap((file) => {
    const expected: Expected = JSON.parse(readFileSync(join(folder, file.replace('.csv', '.json')), 'utf8'))
    return Object.keys(expected.commands).map((command) => ({ file, command, expected }))
  })
const imports = cases.filter(({ command }) => command.startsWith('data import'))
const batches = cases.filter((one) => !imports.includes(one))

/** A machine that knows the invented companies and people, by their domains, profiles and ids. */
const here = perFile(machine)
beforeAll(async () => {
  for (const [kind, file] of [
    ['companies', 'evaboot.csv'],
    ['companies', 'apollo-accounts.csv'],
    ['people', 'phantombuster-profile-scraper.csv'],
  ] as const)
    await ends(here.run(['data', 'import', kind, join(folder, file)]), 11)
})

const aliases: Readonly<Record<string, string>> = { firstname: 'first_name', lastname: 'last_name' }

/** Checks the column of each field, as the JSON of the export names it. */
function checkMapping(
  pairs: readonly (readonly [string, string])[],
  command: string,
  expected: Expected,
): void {
  const wanted = expected.commands[command] ?? {}
  const optional = expected.may_fill?.[command] ?? {}
  const mapped = pairs.map(([field, column]) => [aliases[field] ?? field, column] as const)
  const isRight = ([field, column]: readonly [string, string]) =>
    [wanted[field] ?? [], optional[field] ?? []].flat().includes(column)
  expect(mapped.filter((pair) => !isRight(pair))).toEqual([])
  expect(Object.keys(wanted).filter((field) => !mapped.some(([name]) => name === field))).toEqual([])
}

describe('exports of other tools, without --map', () => {
  it.each(sample(batches, 4, 1))(
    '$command maps, quotes and looks up the rows of $file',
    async ({ file, command, expected }) => {
      const types = command === 'contacts waterfall' ? '--enrichment-type email' : ''
      const line = `${command} --csv "${join(folder, file)}" ${types}`
      const rows = expected.rows + expected.footer_lines

      const quote = await here.json<{
        rows: number
        invalid: number
        mapping: { columns: { field: string; column: string }[] }
      }>(`${line} --dry-run`)
      expect(quote.rows).toBe(rows)
      const pairs = quote.mapping.columns.map(({ field, column }) => [field, column] as const)
      checkMapping(pairs, command, expected)

      await ends(here.run(`${line} -o out.csv --fresh`), 11, `${rows} rows in`)
      const answers = here.rows('out.csv')
      const withStatus = (status: string) =>
        answers.flatMap(({ _status }, at) => (_status === status ? [at + 1] : []))
      expect(answers).toHaveLength(rows)
      expect(withStatus('found').length).toBeGreaterThanOrEqual(10)
      expect(withStatus('failed')).toEqual([])
      expect(withStatus('invalid')).toHaveLength(quote.invalid)
      const nobody = expected.rows_without_identity[command]
      const footer = answers.slice(expected.rows).map((_, at) => expected.rows + at + 1)
      if (nobody) expect(withStatus('invalid')).toEqual(nobody)
      expect(withStatus('skipped')).toEqual(footer)
    },
  )

  it.each(imports)('$command maps and reads the rows of $file', async ({ file, command, expected }) => {
    const tried = await here.run(`${command} "${join(folder, file)}" --dry-run --json`)
    const { mapping, invalid } = tried.json as { mapping: Record<string, string>; invalid: number }
    checkMapping(Object.entries(mapping), command, expected)
    expect([tried.code, invalid <= 2]).toEqual([11, true])
  })
})
