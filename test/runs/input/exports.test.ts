import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'

const folder = join(import.meta.dirname, '../../fixtures/exports')
const files = readdirSync(folder).filter((name) => name.endsWith('.csv'))

interface Expected {
  readonly encoding: string
  readonly delimiter: string
  readonly preamble_lines: number
  readonly footer_lines: number
  readonly rows: number
  readonly columns: number
  readonly commands: Columns
  readonly may_fill?: Columns
}

/** Columns by field, by command. */
type Columns = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>

describe.each(files)('the fixture %s', (file) => {
  const expected: Expected = JSON.parse(readFileSync(join(folder, file.replace('.csv', '.json')), 'utf8'))
  const text = new TextDecoder(expected.encoding, { fatal: true }).decode(readFileSync(join(folder, file)))
  const [header = [], ...rows]: string[][] = parse(text, {
    delimiter: expected.delimiter,
    from_line: expected.preamble_lines + 1,
    relax_column_count: true,
    skip_empty_lines: true,
  })

  it('is what its JSON says, and every column that the JSON names exists', () => {
    expect(header.length).toBe(expected.columns)
    expect(rows.length).toBe(expected.rows + expected.footer_lines)
    const named = [expected.commands, expected.may_fill ?? {}]
      .flatMap((columns) => Object.values(columns))
      .flatMap((fields) => Object.values(fields).flat())
    expect(named.filter((column) => !header.includes(column))).toEqual([])
  })

  it('has no address of a real person or company', () => {
    const addresses = text.match(/[\p{L}\d.+-]+@(?!pro\b|perso\b|invalid\b)[\p{L}\d.-]+/gu) ?? []
    expect(addresses.filter((address) => !/example/i.test(address))).toEqual([])
  })
})
