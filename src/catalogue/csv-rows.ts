import { CsvError, parse } from 'csv-parse'
import { mapColumns } from './columns.js'
import type { ImportOptions } from './import-options.js'
import type { Kind } from './kind.js'
import { ImportError } from './report.js'
import { inPortions, type Row, type Rows } from './row.js'

/** Characters of one record; more means a quote that nobody closed. */
const longestRecord = 1_048_576

interface Parsed {
  readonly cells: readonly string[]
  /** Line on which the record begins. */
  readonly line: number
}

/** Reads CSV with its delimiter and columns recognised. */
export async function csvRows(
  kind: Kind,
  head: string,
  texts: AsyncIterable<string>,
  { map }: ImportOptions,
): Promise<Rows> {
  const batches = parsed(texts, delimiterOf(head))
  const [header, ...first] = await firstOf(batches)
  if (!header) throw new ImportError('the file is empty')
  const columns = mapColumns(
    kind,
    header.cells.map((cell) => cell.trim()),
    map,
  )
  return { ...columns, portions: inPortions(rowsOf(first, batches, columns.fields)) }
}

/** The delimiter that the header has most of, outside quotes; a `sep=` line names it. */
function delimiterOf(head: string): string {
  const named = /^sep=(.)\r?\n/i.exec(head)?.[1]
  if (named !== undefined) return named
  const header = /^\s*((?:"(?:[^"]|"")*"|[^"\r\n])*)/.exec(head)?.[1]?.replace(/"(?:[^"]|"")*"/g, '') ?? ''
  const counts = [',', ';', '\t', '|'].map((delimiter) => ({
    delimiter,
    count: header.split(delimiter).length,
  }))
  return counts.reduce((best, one) => (one.count > best.count ? one : best)).delimiter
}

async function* parsed(texts: AsyncIterable<string>, delimiter: string): AsyncGenerator<readonly Parsed[]> {
  const found: Parsed[] = []
  const lines = lineCounter()
  const parser = parse({
    delimiter,
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: longestRecord,
    // Records are taken here, not from the stream: an error would drop those that wait in it.
    on_record: (cells, info) => {
      const line = lines.start(cells, info.lines)
      if (line > 1 || !/^sep=/i.test(cells[0] ?? '')) found.push({ cells, line })
      return null
    },
  })
  parser.on('error', () => undefined).resume()
  try {
    for await (const text of texts) {
      await settled((done) => parser.write(text, done))
      yield found.splice(0)
    }
    await settled((done) => parser.end(done))
  } catch (error) {
    yield found.splice(0)
    throw error instanceof CsvError ? understood(error, lines.next()) : error
  }
  yield found.splice(0)
}

const settled = (work: (done: (error?: Error | null) => void) => unknown): Promise<void> =>
  new Promise((resolve, reject) => {
    work((error) => (error ? reject(error) : resolve()))
  })

/** Tells the line on which a record begins; the parser counts a line break of two characters inside quotes twice. */
function lineCounter() {
  let twice = 0
  let last = 0
  return {
    start(cells: readonly string[], end: number): number {
      const breaks = cells.reduce(
        (count, cell) => count + (/[\r\n]/.test(cell) ? cell.split(/\r\n|\r|\n/).length - 1 : 0),
        0,
      )
      if (breaks > 0) twice += cells.reduce((count, cell) => count + cell.split('\r\n').length - 1, 0)
      last = end - twice
      return last - breaks
    },
    /** The line after the last record. */
    next: () => last + 1,
  }
}

function understood(error: CsvError, line: number): ImportError {
  if (error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE')
    return new ImportError('the record that begins here has a quote that is never closed', line)
  return new ImportError(`not valid CSV (${error.code})`, line)
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
  if (cells.slice(width).some((cell) => cell.trim() !== ''))
    return { line, reason: `has ${cells.length} cells, but the header has ${width}` }
  const given: Record<string, unknown> = {}
  for (const [at, field] of fields.entries()) if (field !== undefined && cells[at]) given[field] = cells[at]
  return { line, given }
}
