import type { Ids } from '../../api/ports/ports.js'
import type { Fields } from '../../api/values/objects.js'
import { type LeaveOut, LeftOutCounter, type LeftOutValue, type LeftOutValues } from '../../csv/names.js'
import { isInvalid } from '../../identity/readers.js'
import type {
  FileColumns,
  ImportOptions,
  InputRow,
  InputRows,
  RecordKind,
  RejectedRecord,
} from '../kinds/kind.js'
import { prepareCompany } from '../records/headcount.js'
import { prepareJob } from '../records/jobs.js'
import { preparePerson } from '../records/person.js'
import { preparePost } from '../records/posts.js'
import { createIdGenerator } from '../records/write-person.js'
import { requiredFields } from './map-columns.js'
import { openFile } from './open-file.js'

/** A record of each kind, completely read and ready to be written. */
export type PreparedByKind = { readonly [K in RecordKind]: ReturnType<ReturnType<(typeof preparers)[K]>> }

/** A prepared record, and the line of the file where it begins. */
export interface PreparedRecord {
  readonly line: number
  /** The row itself, where rejected rows are wanted. */
  readonly cells?: readonly string[]
  readonly record: PreparedByKind[RecordKind]
}

/** The part of a file that is read at a time. */
export interface PreparedBatch {
  readonly records: readonly PreparedRecord[]
  readonly rejected: readonly RejectedRecord[]
  /** Values that the records of this batch are without. */
  readonly leftOut: readonly LeftOutValues[]
  readonly columns: FileColumns
}

/** Minimum number of rows in a batch; the first and last batches may be smaller. */
const batchSize = 5_000

/** The same of open data: the more of millions of rows share a transaction, the seldomer pages of indexes are written. */
const openBatchSize = 6_000

/** Creates the function that prepares the records of a file. It throws `Refusal` when a record is invalid. */
const preparers = {
  companies: (ids: Ids, { openData }: FileColumns) => {
    // What open data says of a company without domain and profile is added to the one of that name.
    return (raw: Fields, leaveOut: LeaveOut) =>
      prepareCompany(raw, ids, leaveOut, openData?.reading !== undefined)
  },
  people: (ids: Ids) => {
    const makeId = createIdGenerator(ids)
    return (raw: Fields, leaveOut: LeaveOut) => preparePerson(raw, ids, makeId, leaveOut)
  },
  jobs: () => prepareJob,
  posts: () => preparePost,
}

/** Reads the bytes of a file like `prepareRows`. Throws a Refusal when the file cannot be read to its end. */
export async function* prepareFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
  ids: Ids,
): AsyncGenerator<PreparedBatch> {
  yield* prepareRows(kind, await openFile(kind, bytes, options), ids, options.keepsRows)
}

/**
 * Prepares rows. The first batch has no records: it carries the columns of the header.
 * Records before an error are yielded before it is thrown.
 */
export async function* prepareRows(
  kind: RecordKind,
  { batches, ...columns }: InputRows,
  ids: Ids,
  keepsRows = false,
): AsyncGenerator<PreparedBatch> {
  const prepare: Prepare = preparers[kind](ids, columns)
  const identifying = new Set(requiredFields[kind].flat())
  let records: PreparedRecord[] = []
  let rejected: RejectedRecord[] = []
  let leftOut = new LeftOutCounter()
  const takeBatch = (): PreparedBatch => {
    const { mapping, ignored, samples } = columns
    const seen = { ...columns, mapping: { ...mapping }, ignored: [...ignored], samples: { ...samples } }
    const batch = { records, rejected, leftOut: leftOut.counts, columns: seen }
    records = []
    rejected = []
    leftOut = new LeftOutCounter()
    return batch
  }
  yield takeBatch()
  try {
    for await (const rows of batches) {
      for (const row of rows) {
        const result = prepareRow(row, prepare, identifying, leftOut)
        if (keepsRows) Object.assign(result, { cells: row.cells ?? [] })
        if ('reason' in result) rejected.push(result)
        else records.push(result)
      }
      const size = columns.openData?.reading ? openBatchSize : batchSize
      if (records.length + rejected.length >= size) yield takeBatch()
    }
  } catch (error) {
    yield takeBatch()
    throw error
  }
  yield takeBatch()
}

type Prepare = (raw: Fields, leaveOut: LeaveOut) => PreparedByKind[RecordKind]

/** Prepares a row, and counts what its record is without. */
function prepareRow(
  row: InputRow,
  prepare: Prepare,
  identifying: ReadonlySet<string>,
  counter: LeftOutCounter,
): PreparedRecord | RejectedRecord {
  if ('reason' in row) return { line: row.line, reason: row.reason }
  const leftOut: LeftOutValue[] = [...(row.leftOut ?? [])]
  try {
    const record = prepare(row.raw, (field, value, reason) => leftOut.push({ field, value, reason }))
    for (const { field, value } of leftOut) counter.add(field, value)
    return { line: row.line, record }
  } catch (error) {
    if (!isInvalid(error)) throw error
    const cause = leftOut.find(({ field }) => identifying.has(field))
    return { line: row.line, reason: cause?.reason ?? error.message }
  }
}
