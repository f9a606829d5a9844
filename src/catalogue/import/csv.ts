import type { CsvRow } from '../../csv/parse.js'
import type { ImportOptions, InputRow, InputRows, RecordKind } from '../kinds/kind.js'
import { mapColumns } from './map-columns.js'
import { ImportError } from './report.js'

/** Reads the rows of a CSV file whose first row names the columns. */
export async function readCsvRows(
  kind: RecordKind,
  batches: AsyncGenerator<readonly CsvRow[]>,
  { map }: ImportOptions,
): Promise<InputRows> {
  const [header, ...first] = await readNonEmpty(batches)
  if (!header) throw new ImportError('The file is empty')
  const names = header.cells.map((cell) => cell.trim())
  const columns = mapColumns(kind, names, map)
  return { ...columns, batches: toInputRows(first, batches, columns.fields) }
}

async function readNonEmpty(batches: AsyncGenerator<readonly CsvRow[]>): Promise<readonly CsvRow[]> {
  for (;;) {
    const { value, done } = await batches.next()
    if (done) return []
    if (value.length > 0) return value
  }
}

async function* toInputRows(
  first: readonly CsvRow[],
  batches: AsyncIterable<readonly CsvRow[]>,
  fields: readonly (string | undefined)[],
): AsyncGenerator<InputRow[]> {
  const read = (rows: readonly CsvRow[]) =>
    rows.map((row) => toInputRow(row, fields)).filter((row) => row !== undefined)
  yield read(first)
  for await (const rows of batches) yield read(rows)
}

/** Returns a CSV row as a record by field; `undefined` when all its cells are blank. */
function toInputRow({ cells, line }: CsvRow, fields: readonly (string | undefined)[]): InputRow | undefined {
  const width = fields.length
  if (cells.every((cell) => cell.trim() === '')) return undefined
  if (cells.length > width && cells.slice(width).some((cell) => cell.trim() !== ''))
    return { line, reason: `has ${cells.length} cells, but the header has ${width}` }
  const raw: Record<string, unknown> = {}
  for (let at = 0; at < width; at++) {
    const field = fields[at]
    if (field !== undefined && cells[at]) raw[field] = cells[at]
  }
  return { line, raw }
}
