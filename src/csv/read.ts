import type { Dialect } from './delimiter.js'
import { decode, type Encoding } from './encoding.js'
import { undefuse } from './formulas.js'
import { parseRows, type Row } from './parse.js'
import { skip } from './skip.js'

/** What is taken as it stands in a table. */
export interface RowOptions {
  /** Leaves cells as they are in the file, also those that were made safe for spreadsheets. */
  readonly raw?: boolean | undefined
  /** Takes a quote within an unquoted cell as it is, instead of refusing the file. */
  readonly looseQuotes?: boolean | undefined
  /** Longest row in bytes. */
  readonly limit?: number | undefined
}

/** The rows of a table from the bytes of its file, the header among them; throws CsvError after what it could read. */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  encoding: Encoding,
  { delimiter, preamble }: Dialect,
  { raw = false, looseQuotes, limit }: RowOptions = {},
): AsyncGenerator<Row[]> {
  const texts = skip(Buffer.byteLength(preamble), decode(chunks, encoding))
  const firstLine = preamble === '' ? 1 : 2
  for await (const rows of parseRows(texts, { delimiter, firstLine, looseQuotes, limit }))
    yield raw ? rows : rows.map(restored)
}

function restored(row: Row): Row {
  return row.cells.some((cell) => cell.startsWith("'"))
    ? { line: row.line, cells: row.cells.map(undefuse) }
    : row
}
