import { Refusal } from '../../api/calls/errors.js'
import { isOwnName, type LeftOutValue, toUnnamed } from '../../csv/names.js'
import type { CsvRow } from '../../csv/parse.js'
import type { ImportOptions, InputRow, InputRows, OriginalFile, RecordKind } from '../kinds/kind.js'
import {
  ColumnSample,
  describeMisplaced,
  isData,
  isMisplaced,
  isPlaceholder,
  kindsOfField,
  withFirstRow,
} from '../normalize/value-kinds.js'
import { mapColumns } from './map-columns.js'

/** Reads the rows of a CSV file whose first row names the columns, or is data. */
export async function readCsvRows(
  kind: RecordKind,
  batches: AsyncGenerator<readonly CsvRow[]>,
  { map, header }: ImportOptions,
  original: Omit<OriginalFile, 'header'>,
): Promise<InputRows> {
  const [top, ...first] = await readNonEmpty(batches)
  if (!top) throw new Refusal('import.empty')
  const { samples, failure } = await readSamples(top.cells.length, first, batches)
  const hasHeader = header === false ? top.cells.some(isOwnName) : !isData(top.cells, samples)
  const names = hasHeader ? top.cells : top.cells.map(toUnnamed)
  const columns = mapColumns(
    kind,
    names.map((name) => name.trim()),
    map,
    hasHeader ? samples : withFirstRow(top.cells, samples),
  )
  const rows = hasHeader ? first : [top, ...first]
  return {
    ...columns,
    original: { ...original, header: names },
    batches: toInputRows(continueWith([rows], failure, batches), columns.fields, kind),
  }
}

/**
 * Returns the first non-empty cells of each column, and adds the rows that were read for it to `first`. A failure to read on
 * is returned, because the rows before it come first.
 */
async function readSamples(width: number, first: CsvRow[], batches: AsyncGenerator<readonly CsvRow[]>) {
  const sample = new ColumnSample(width)
  let isWanted = true
  for (const row of first) if (isWanted) isWanted = sample.add(row.cells)
  try {
    while (isWanted) {
      const { value, done } = await batches.next()
      if (done) break
      for (const row of value) {
        first.push(row)
        isWanted &&= sample.add(row.cells)
      }
    }
    return { samples: sample.cells, failure: undefined }
  } catch (error) {
    return { samples: sample.cells, failure: { error } }
  }
}

/** Yields what was read first, then the rest; where it could not be read on, throws what it failed with. */
export async function* continueWith<T>(
  first: readonly T[],
  failure: { readonly error: unknown } | undefined,
  rest: AsyncIterator<T>,
): AsyncGenerator<T> {
  yield* first
  if (failure) throw failure.error
  yield* { [Symbol.asyncIterator]: () => rest }
}

async function readNonEmpty(batches: AsyncGenerator<readonly CsvRow[]>): Promise<readonly CsvRow[]> {
  for (;;) {
    const { value, done } = await batches.next()
    if (done) return []
    if (value.length > 0) return value
  }
}

async function* toInputRows(
  batches: AsyncIterable<readonly CsvRow[]>,
  fields: readonly (string | undefined)[],
  kind: RecordKind,
): AsyncGenerator<InputRow[]> {
  const isUnusable = fields.map((field) => toUnusable(field, kind))
  for await (const rows of batches)
    yield rows.map((row) => toInputRow(row, fields, isUnusable)).filter((row) => row !== undefined)
}

/** Returns whether a cell is nothing that its field means; `undefined` where any cell may be used. */
function toUnusable(field: string | undefined, kind: RecordKind): ((cell: string) => boolean) | undefined {
  if (field === undefined || kindsOfField(kind, field) === undefined) return undefined
  return (cell) => isMisplaced(kind, field, cell)
}

/** Returns a CSV row as a record by field; `undefined` when all its cells are blank. */
function toInputRow(
  { cells, line }: CsvRow,
  fields: readonly (string | undefined)[],
  isUnusable: readonly (((cell: string) => boolean) | undefined)[],
): InputRow | undefined {
  const width = fields.length
  if (cells.every((cell) => cell.trim() === '')) return undefined
  if (cells.length > width && cells.slice(width).some((cell) => cell.trim() !== ''))
    return { line, cells, reason: `has ${cells.length} cells, but the header has ${width}` }
  const raw: Record<string, unknown> = {}
  const leftOut: LeftOutValue[] = []
  for (let at = 0; at < width; at++) {
    const field = fields[at]
    const cell = cells[at]
    if (field === undefined || !cell || isPlaceholder(field, cell)) continue
    if (!isUnusable[at]?.(cell)) raw[field] = cell
    else leftOut.push({ field, value: cell, reason: `${field} ${describeMisplaced(field, cell)}` })
  }
  return leftOut.length === 0 ? { line, cells, raw } : { line, cells, raw, leftOut }
}
