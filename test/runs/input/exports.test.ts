import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import { type OperationId, operation, operations } from '../../../src/api/operations/table.js'
import { openFile } from '../../../src/catalogue/import/open-file.js'
import { type Mapping, mapColumns } from '../../../src/runs/input/mapping.js'
import { openTable } from '../../../src/runs/input/table.js'
import { toMappingRequest } from '../../../src/runs/plan/lookup.js'

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

  it.each(Object.keys(expected.commands))('is mapped for %s without --map', async (command) => {
    const mapped = await mappingOfFile(join(folder, file), command)
    const wanted = expected.commands[command] ?? {}
    const optional = expected.may_fill?.[command] ?? {}
    const isRight = ([field, column]: [string, string]) =>
      [wanted[field] ?? [], optional[field] ?? []].flat().includes(column)
    expect(Object.entries(mapped).filter((pair) => !isRight(pair))).toEqual([])
    expect(Object.keys(wanted).filter((field) => mapped[field] === undefined)).toEqual([])
  })
})

const operationOf: Readonly<Record<string, OperationId>> = {
  'accounts enrich': 'accounts.enrich',
  'leads enrich': 'leads.enrich',
  'contacts waterfall': 'contacts.enrich_sync',
}

const aliases: Readonly<Record<string, string>> = {
  firstname: 'first_name',
  lastname: 'last_name',
  linkedin_url: 'network_url',
}

/** Returns the column of each field that a command fills from a file. */
async function mappingOfFile(path: string, command: string): Promise<Readonly<Record<string, string>>> {
  const kind = /^data import (companies|people)$/.exec(command)?.[1]
  if (kind) {
    const bytes = [readFileSync(path)]
    const { mapping } = await openFile(kind as 'companies' | 'people', toAsync(bytes), {})
    return mapping
  }
  const id = operationOf[command]
  if (id === undefined) throw new Error(`no operation for ${command}`)
  const batch = operations().find((one) => one.command === command && one.batch)?.batch
  const row = batch ? { ...operation(id), batch } : operation(id)
  const request = { operation: row, shape: await shapeOf(id), constants: {}, choices: { map: [] } }
  const mapping: Mapping = mapColumns(toMappingRequest(request, await openTable(path)))
  return Object.fromEntries(mapping.columns.map(({ field, column }) => [aliases[field] ?? field, column]))
}

async function* toAsync<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values
}
