import type { Clock, Ids } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import type { RecordKind } from '../kinds/kind.js'
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

/** Writes records in short transactions, as part of `load` if there is one. The tally counts what is committed. */
export async function writeRecords(
  kind: RecordKind,
  records: RecordList,
  tally: ImportTally,
  ports: WritePorts,
  load: BulkLoad | undefined,
): Promise<void> {
  for (let from = 0; from < records.length; ) {
    const start = from
    const { written, tallied } = await ports.driver.transaction((connection) =>
      runSteps(writeTransaction(connection, kind, records, start, ports, load)),
    )
    tally.added += tallied.added
    tally.updated += tallied.updated
    tally.companies += tallied.companies
    for (const rejected of tallied.rejected) addRejected(tally, rejected)
    from += written
  }
}

/** Writes records until the time is up. A transaction may be repeated, so it has its own tally. */
function* writeTransaction(
  connection: Connection,
  kind: RecordKind,
  records: RecordList,
  from: number,
  { clock, ids, bulkWrites }: WritePorts,
  load: BulkLoad | undefined,
): Steps<{ written: number; tallied: ImportTally }> {
  // The caller passes only records of this kind.
  const write = writers[kind] as Write
  yield* beginTransaction(connection, load, load === bulkWrites.lastLoad)
  bulkWrites.lastLoad = load
  const prefetched = dialectOf(connection).load.isRemote
    ? yield* prefetch(connection, kind, sliceRecords(records, from, maxPrefetched))
    : undefined
  const context = yield* createWriteContext(connection, kind, ids, load, prefetched)
  const tallied = createTally()
  const until = clock.now() + transactionMs
  let written = 0
  for (let next = records.at(from); next; next = records.at(from + written)) {
    const { line, record } = next
    try {
      tallied[yield* write(context, record)] += 1
    } catch (error) {
      if (!(error instanceof InvalidRecordError)) throw error
      addRejected(tallied, { line, reason: error.message })
    }
    written += 1
    if (clock.now() >= until || (prefetched && written === maxPrefetched)) break
  }
  tallied.companies = context.companies
  return { written, tallied }
}

/** Returns the next records, at most `limit`. */
const sliceRecords = (records: RecordList, from: number, limit: number): PreparedRecord[] =>
  Array.from({ length: Math.min(limit, records.length - from) }, (_, at) => records.at(from + at)).filter(
    (record) => record !== undefined,
  )
