import type { Ids } from '../../engine/ports/ports.js'
import type { Given, ImportOptions, Kind, Row, Rows } from '../kinds/kind.js'
import { createCountryNormalizer } from '../normalize/country.js'
import { Unreadable } from '../normalize/readers.js'
import { type PreparedCompany, prepareCompany } from '../records/company.js'
import { type PreparedJob, prepareJob } from '../records/jobs.js'
import { idMaker, type NewPerson, newPerson } from '../records/new-person.js'
import { preparePerson } from '../records/person.js'
import { type PreparedPost, preparePost } from '../records/posts.js'
import { openRows } from './open-file.js'
import { importErrorOf, type Rejected } from './report.js'

/** A record that was read, and where it begins in the file. It is plain data, which JSON can carry. */
export interface PreparedRecord {
  readonly line: number
  readonly record: Prepared[Kind]
}

/** Records that follow each other in a file, ready to be written; each may be unpacked only when it is asked for. */
export interface Records {
  readonly length: number
  at(index: number): PreparedRecord | undefined
}

/** What was read of a file at a time. */
export interface Portion<R = Records> {
  readonly records: R
  readonly rejected: readonly Rejected[]
  /** How the columns that were seen so far are understood. */
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
}

/** Keeps a record as it was read. */
export const asItIs = (record: PreparedRecord): PreparedRecord => record

/** Records of a portion, but for the last one. */
export const recordsInPortion = 2_000

/** Options of an import that tell how its file is to be read. */
export type ReadOptions = Omit<ImportOptions, 'onProgress'>

/** Reads a file given as bytes, like `readRows`. Throws an ImportError where it cannot be read on. */
export async function* readFile<R>(
  kind: Kind,
  bytes: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  ids: Ids,
  keep: (record: PreparedRecord) => R,
): AsyncGenerator<Portion<R[]>> {
  try {
    yield* readRows(kind, await openRows(kind, bytes, options), ids, keep)
  } catch (error) {
    throw importErrorOf(error)
  }
}

/**
 * Reads rows into records, each in the form that `keep` gives it. The first portion is empty, as it comes with the
 * columns that were understood from the beginning; what stands before an error comes before it.
 */
export async function* readRows<R>(
  kind: Kind,
  { mapping, ignored, batches }: Rows,
  ids: Ids,
  keep: (record: PreparedRecord) => R,
): AsyncGenerator<Portion<R[]>> {
  const coded = createCountryNormalizer()
  const prepareOne = preparers[kind](ids)
  const prepare = (given: Given) => prepareOne(coded(given))
  let records: R[] = []
  let rejected: Rejected[] = []
  const portion = (): Portion<R[]> => {
    const read = { records, rejected, mapping: { ...mapping }, ignored: [...ignored] }
    records = []
    rejected = []
    return read
  }
  yield portion()
  try {
    for await (const rows of batches) {
      for (const row of rows) {
        const read = prepared(row, prepare)
        if ('reason' in read) rejected.push(read)
        else records.push(keep(read))
      }
      if (records.length + rejected.length >= recordsInPortion) yield portion()
    }
  } catch (error) {
    yield portion()
    throw error
  }
  yield portion()
}

function prepared(row: Row, prepare: (given: Given) => Prepared[Kind]): PreparedRecord | Rejected {
  try {
    return 'reason' in row ? row : { line: row.line, record: prepare(row.given) }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { line: row.line, reason: error.message }
  }
}

/** A record of each kind, read completely and ready to be written: plain data. */
export interface Prepared {
  readonly companies: PreparedCompany
  readonly people: NewPerson
  readonly jobs: PreparedJob
  readonly posts: PreparedPost
}

/** Reads a given record, completely, before anything of it is written; refuses with Unreadable. */
export type Preparer<K extends Kind> = (given: Given) => Prepared[K]

/** Makes the preparer of the records of each kind, for one file. */
export const preparers: { readonly [K in Kind]: (ids: Ids) => Preparer<K> } = {
  companies: (ids) => (given) => prepareCompany(given, ids),
  people: (ids) => {
    const makeId = idMaker(ids)
    return (given) => newPerson(preparePerson(given), ids, makeId)
  },
  jobs: () => prepareJob,
  posts: () => preparePost,
}
