import type { Clock, Ids } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import type { RecordKind, RejectedRecord } from '../kinds/kind.js'
import { InvalidRecordError } from '../normalize/readers.js'
import { writeJob } from '../records/jobs.js'
import { writePost } from '../records/posts.js'
import { writeCompany } from '../records/write-company.js'
import { writePerson } from '../records/write-person.js'
import { type BulkLoad, type BulkWriteState, beginTransaction } from '../write/bulk-load.js'
import { runSteps, type Steps } from '../write/sync-steps.js'
import { createWriteContext, type WriteContext, type WriteResult } from '../write/write-context.js'
import { maxPrefetched, prefetch } from './prefetch.js'
import type { PreparedByKind, PreparedRecord, RecordList } from './prepare.js'
import { addRejected, createTally, type ImportTally } from './report.js'

/** What writing records depends on. */
export interface WritePorts {
  readonly driver: Driver
  readonly clock: Clock
  readonly ids: Ids
  readonly bulkWrites: BulkWriteState
  /** Counts written records by their origin, in their transaction. */
  countOrigins(connection: Connection, kind: RecordKind, tally: ImportTally, now: number): Steps<void>
}

/** Maximum duration of a transaction, so that other processes need not wait for an import. */
const transactionMs = 80

/** Writes a record of each kind. Throws `InvalidRecordError` before it changes anything. */
const writers: {
  readonly [K in RecordKind]: (context: WriteContext, record: PreparedByKind[K]) => Steps<WriteResult>
} = {
  companies: function* (context, company) {
    return (yield* writeCompany(context, company)).written
  },
  people: writePerson,
  jobs: writeJob,
  posts: writePost,
}

type Write = (context: WriteContext, record: PreparedByKind[RecordKind]) => Steps<WriteResult>

/**
 * Writes records in short transactions, as part of `load` if there is one. The tally counts what is committed. Returns the
 * records that are rejected.
 */
export async function writeRecords(
  kind: RecordKind,
  records: RecordList,
  tally: ImportTally,
  ports: WritePorts,
  load: BulkLoad | undefined,
): Promise<RejectedRecord[]> {
  const rejected: RejectedRecord[] = []
  for (let from = 0; from < records.length; ) {
    const start = from
    const { written, tallied } = await ports.driver.transaction((connection) =>
      runSteps(writeTransaction(connection, kind, records, start, ports, load)),
    )
    addTally(tally, tallied)
    rejected.push(...tallied.rejected)
    from += written
  }
  return rejected
}

/** Adds the counts of a transaction to those of an import. */
export function addTally(
  tally: ImportTally,
  { added, updated, unchanged, companies, rejected }: ImportTally,
): void {
  tally.added += added
  tally.updated += updated
  tally.unchanged += unchanged
  tally.companies += companies
  for (const row of rejected) addRejected(tally, row)
}

/** Writes records until the time is up. A transaction may be repeated, so it has its own tally. */
function* writeTransaction(
  connection: Connection,
  kind: RecordKind,
  records: RecordList,
  from: number,
  { clock, ids, bulkWrites, countOrigins }: WritePorts,
  load: BulkLoad | undefined,
): Steps<WrittenRecords> {
  yield* beginTransaction(connection, load, load === bulkWrites.lastLoad)
  bulkWrites.lastLoad = load
  const prefetched = dialectOf(connection).load.isRemote
    ? yield* prefetch(connection, kind, sliceRecords(records, from, maxPrefetched))
    : undefined
  const context = yield* createWriteContext(connection, kind, ids, load, prefetched)
  const until = clock.now() + transactionMs
  const isOver = (written: number) => clock.now() >= until || (prefetched && written === maxPrefetched)
  const result = yield* writeEach(context, kind, records, from, isOver)
  yield* countOrigins(connection, kind, result.tallied, clock.now())
  return result
}

/** How many records a transaction wrote, and what became of them. */
export interface WrittenRecords {
  readonly written: number
  readonly tallied: ImportTally
}

/** Writes records from a position on, at least one, until `isOver`. */
export function* writeEach(
  context: WriteContext,
  kind: RecordKind,
  records: RecordList,
  from: number,
  isOver: (written: number) => boolean | undefined,
): Steps<WrittenRecords> {
  // The caller passes only records of this kind.
  const write = writers[kind] as Write
  const tallied = createTally()
  let written = 0
  for (let next = records.at(from); next; next = records.at(from + written)) {
    const { record, ...row } = next
    try {
      const result = yield* write(context, record)
      if (result === 'added') tallied.added += 1
      else tallied.updated += 1
      if (result === 'unchanged') tallied.unchanged += 1
    } catch (error) {
      if (!(error instanceof InvalidRecordError)) throw error
      tallied.rejected.push({ ...row, reason: error.message })
    }
    written += 1
    if (isOver(written)) break
  }
  tallied.companies = context.companies
  return { written, tallied }
}

/** Returns the next records, at most `limit`. */
export const sliceRecords = (records: RecordList, from: number, limit: number): PreparedRecord[] =>
  Array.from({ length: Math.min(limit, records.length - from) }, (_, at) => records.at(from + at)).filter(
    (record) => record !== undefined,
  )
