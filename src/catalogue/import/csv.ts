import type { Row as Parsed } from '../../csv/parse.js'
import type { ImportOptions, Kind, Row, Rows } from '../kinds/kind.js'
import { mapColumns } from './map-columns.js'
import { ImportError } from './report.js'

/** Makes records of the rows of a CSV file, of which the first names the columns. */
export async function csvRows(
  kind: Kind,
  batches: AsyncGenerator<readonly Parsed[]>,
  { map }: ImportOptions,
): Promise<Rows> {
  const [header, ...first] = await firstOf(batches)
  if (!header) throw new ImportError('the file is empty')
  const names = header.cells.map((cell) => cell.trim())
  const columns = mapColumns(kind, names, map)
  return { ...columns, batches: rowsOf(first, batches, columns.fields) }
}

async function firstOf(batches: AsyncGenerator<readonly Parsed[]>): Promise<readonly Parsed[]> {
  for (;;) {
    const { value, done } = await batches.next()
    if (done) return []
    if (value.length > 0) return value
  }
}

async function* rowsOf(
  first: readonly Parsed[],
  batches: AsyncIterable<readonly Parsed[]>,
  fields: readonly (string | undefined)[],
): AsyncGenerator<Row[]> {
  const read = (records: readonly Parsed[]) =>
    records.map((record) => rowOf(record, fields)).filter((row) => row !== undefined)
  yield read(first)
  for await (const records of batches) yield read(records)
}

/** A record as a row; nothing when all its cells are blank. */
function rowOf({ cells, line }: Parsed, fields: readonly (string | undefined)[]): Row | undefined {
  const width = fields.length
  if (cells.every((cell) => cell.trim() === '')) return undefined
  if (cells.length > width && cells.slice(width).some((cell) => cell.trim() !== ''))
    return { line, reason: `has ${cells.length} cells, but the header has ${width}` }
  const given: Record<string, unknown> = {}
  for (let at = 0; at < width; at++) {
    const field = fields[at]
    if (field !== undefined && cells[at]) given[field] = cells[at]
  }
  return { line, given }
}
