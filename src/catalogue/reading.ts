import type { Ids } from '../engine/ports.js'
import { countryCodes } from './country-codes.js'
import type { ImportOptions } from './import-options.js'
import type { Given, Kind } from './kind.js'
import { type Prepared, preparers } from './preparers.js'
import { importErrorOf, type Rejected } from './report.js'
import type { Row, Rows } from './row.js'
import { openRows } from './rows.js'
import { Unreadable } from './values.js'

/** A record that was read, and where it begins in the file. */
export interface PreparedRecord<K extends Kind = Kind> {
  readonly line: number
  readonly record: Prepared[K]
}

/** Records that follow each other in a file, ready to be written: plain data, which another thread can hand over. */
export interface Portion {
  readonly records: readonly PreparedRecord[]
  readonly rejected: readonly Rejected[]
  /** How the columns that were seen so far are understood. */
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
}

/** Options of an import that tell how its file is to be read. */
export type ReadOptions = Omit<ImportOptions, 'onProgress'>

/** Reads a file given as bytes; its first portion is empty. Throws an ImportError where it cannot be read on. */
export async function* readFile(
  kind: Kind,
  bytes: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  ids: Ids,
): AsyncGenerator<Portion> {
  try {
    yield* readRows(kind, await openRows(kind, bytes, options), ids)
  } catch (error) {
    throw importErrorOf(error)
  }
}

/** Reads rows; the first portion is empty, as it comes with the columns that were understood from the beginning. */
export async function* readRows(
  kind: Kind,
  { mapping, ignored, portions }: Rows,
  ids: Ids,
): AsyncGenerator<Portion> {
  const coded = countryCodes()
  const prepare = (given: Given) => preparers[kind](coded(given), ids)
  const columns = () => ({ mapping: { ...mapping }, ignored: [...ignored] })
  yield { records: [], rejected: [], ...columns() }
  for await (const rows of portions) yield { ...prepareAll(rows, prepare), ...columns() }
}

function prepareAll(
  rows: readonly Row[],
  prepare: (given: Given) => Prepared[Kind],
): Pick<Portion, 'records' | 'rejected'> {
  const records: PreparedRecord[] = []
  const rejected: Rejected[] = []
  for (const row of rows) {
    try {
      if ('reason' in row) rejected.push(row)
      else records.push({ line: row.line, record: prepare(row.given) })
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      rejected.push({ line: row.line, reason: error.message })
    }
  }
  return { records, rejected }
}
