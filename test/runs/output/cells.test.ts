import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { undefuse } from '../../../src/csv/cells.js'
import { parseRows } from '../../../src/csv/parse.js'
import { createLayout, resultColumns, toCell } from '../../../src/runs/output/columns.js'
import { excel, rowFormats } from '../../../src/runs/output/formats.js'
import { hostile } from '../../csv/hostile.js'
import { tries } from '../../support/effort.js'
import { outputRow } from '../fakes.js'

const found = (body: unknown, cells: readonly string[] = ['a']) => outputRow(cells, body)

async function parse(text: string, delimiter = ','): Promise<(readonly string[])[]> {
  const cells: (readonly string[])[] = []
  const texts = (async function* () {
    yield Buffer.from(text)
  })()
  for await (const rows of parseRows(texts, { delimiter, firstLine: 1 }))
    cells.push(...rows.map((row) => row.cells))
  return cells
}

const isNumberOrDashes = (text: string) => /^[+-]?[\d.,]+(e[+-]?\d+)?$|^-+$/i.test(text)

describe('cells of an output', () => {
  test('never start a formula, whatever the reply or the input contains', async () => {
    const layout = createLayout(['in'], [{ name: 'out', path: ['out'] }])
    const seen = await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (cell, out, error) => {
        const row = outputRow([cell], { out }, { error })
        const [cells = []] = await parse(rowFormats.csv.create(layout).rows([row]))
        for (const written of cells)
          expect(/^[=+\-@\t\r\n\0]/.test(written) && !isNumberOrDashes(written)).toBe(false)
        expect(cells.slice(0, 2).map(undefuse)).toEqual([cell, out])
      }),
      { numRuns: tries(500, 2_000) },
    )
    expect(seen).toBeUndefined()
  })

  test('are not changed in JSON and with --raw-csv', () => {
    const layout = createLayout(['in'], [{ name: 'out', path: ['out'] }])
    const row = found({ out: '=1' }, ['=2'])
    expect(rowFormats.csv.create(layout, { raw: true }).rows([row])).toBe('=2,=1,found,,1,lookup\n')
    expect(JSON.parse(rowFormats.ndjson.create(layout).rows([row]))).toMatchObject({
      in: '=2',
      out: '=1',
    })
  })

  test.each<[unknown, string]>([
    [null, ''],
    [undefined, ''],
    [0, '0'],
    [false, 'false'],
    ['x', 'x'],
    [['a', 1, null], 'a; 1; '],
    [[], ''],
    [[{ a: 1 }], '[{"a":1}]'],
    [{ a: [1] }, '{"a":[1]}'],
  ])('contain %j as %j', (value, cell) => {
    expect(toCell(value)).toBe(cell)
  })
})

describe('result columns', () => {
  test('follow the schema: nested objects dotted, lists in one column, wrappers unwrapped', () => {
    const schema = z.object({
      name: z.string().nullable(),
      position: z.object({ title: z.string(), since: z.object({ year: z.number() }).optional() }).nullable(),
      tags: z.array(z.string()).default([]),
      jobs: z.array(z.object({ a: z.string() })),
      custom: z.record(z.string(), z.unknown()),
    })
    expect(resultColumns(schema).map(({ name }) => name)).toEqual(
      'name position.title position.since.year tags jobs custom'.split(' '),
    )
  })

  test('of a union are those of all its shapes', () => {
    const schema = z.union([z.object({ a: z.string() }), z.object({ a: z.string(), b: z.string() })])
    expect(resultColumns(schema).map(({ name }) => name)).toEqual(['a', 'b'])
  })

  test('consist of one column when the reply has no known keys', () => {
    expect(resultColumns(z.record(z.string(), z.number()))).toEqual([{ name: 'reply', path: [] }])
  })
})

describe('the layout of an output', () => {
  const results = ['name', 'domain', 'at.year'].map((name) => ({ name, path: name.split('.') }))

  test('has the input columns first, then the results, renamed where names collide, then the status', () => {
    const layout = createLayout(['name', 'Notes', 'result.name'], results)
    expect(layout.header.join()).toBe(
      'name,Notes,result.name,result.result.name,domain,at.year,_status,_error,_credits,_source',
    )
    const cells = layout.cells(found({ name: 'A', at: { year: 1 } }, ['x', 'y', 'z']))
    expect(cells.join()).toBe('x,y,z,A,,1,found,,1,lookup')
  })

  test('overwrites input columns that are named like the status in place', () => {
    const layout = createLayout(['_error', 'a', '_status'], [])
    expect(layout.header).toEqual(['_error', 'a', '_status', '_credits', '_source'])
    expect(
      layout.cells({ ...found(undefined, ['old', 'x', 'older']), status: 'failed', error: 'E' }),
    ).toEqual(['E', 'x', 'failed', '1', 'lookup'])
  })

  test('gives a ragged row as many cells as the others', () => {
    const layout = createLayout(['a', 'b'], [])
    expect(layout.cells(found(undefined, ['1', '2', '3']))).toHaveLength(6)
    expect(layout.cells(found(undefined, ['1']))).toEqual(['1', '', 'found', '', '1', 'lookup'])
  })
})

describe('output formats', () => {
  const layout = createLayout(['=a', 'b'], [{ name: 'at.year', path: ['at', 'year'] }])
  const row = found({ at: { year: 1 } }, ['1', 'x;y\n"z"'])

  test('have a safe header and safe rows in CSV', () => {
    const format = rowFormats.csv.create(layout)
    expect(format.head + format.rows([row]) + format.end()).toBe(
      '\'=a,b,at.year,_status,_error,_credits,_source\n1,"x;y\n""z""",1,found,,1,lookup\n',
    )
  })

  test('have a byte order mark and semicolons in CSV for spreadsheets', async () => {
    const format = rowFormats.csv.create(layout, excel('fr_FR.UTF-8'))
    expect(format.head.startsWith("\ufeff'=a;b;")).toBe(true)
    expect((await parse(format.rows([row]), ';'))[0]?.[1]).toBe('x;y\n"z"')
  })

  test.each([
    ['C', ','],
    ['C.UTF-8', ','],
    ['POSIX', ','],
    ['en_US.UTF-8', ','],
    ['de_DE.UTF-8', ';'],
    [undefined, ';'],
  ])('have the delimiter of the locale in CSV for spreadsheets: %s', (locale, delimiter) => {
    expect(rowFormats.csv.create(layout, excel(locale)).head).toContain(`a${delimiter}b`)
  })

  test('keep nested values in NDJSON and JSON, and write null for absent results', () => {
    const record = {
      '=a': '1',
      b: 'x;y\n"z"',
      at: { year: 1 },
      _status: 'found',
      _error: null,
      _credits: 1,
      _source: 'lookup',
    }
    const lost = { ...record, at: null }
    const rows = [row, found(undefined, row.cells)]
    const lines = rowFormats.ndjson.create(layout).rows(rows).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([record, lost])
    const json = rowFormats.json.create(layout)
    const written = json.head + json.rows(rows) + json.rows([row]) + json.end()
    expect(JSON.parse(written)).toEqual([record, lost, record])
    const empty = rowFormats.json.create(layout)
    expect(JSON.parse(empty.head + empty.end())).toEqual([])
  })
})
