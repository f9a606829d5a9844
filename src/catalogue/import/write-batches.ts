import type { Clock, Ids } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialect.js'
import type { Kind } from '../kinds/kind.js'
import { Unreadable } from '../normalize/readers.js'
import { writeJob } from '../records/jobs.js'
import { writePost } from '../records/posts.js'
import { writeCompany } from '../records/write-company.js'
import { writePerson } from '../records/write-person.js'
import { enter, type Importers, type Load } from '../write/bulk-load.js'
import { done, type Steps } from '../write/sync-steps.js'
import { beginWriting, type Writing, type Written } from '../write/write-context.js'
import { maxPrefetched, prefetch } from './prefetch.js'
import type { Prepared, PreparedRecord, RecordList } from './prepare.js'
import { addRejected, createTally, type Tally } from './report.js'

/** What writing records works with. */
export interface WritePorts {
  readonly driver: Driver
  readonly clock: Clock
  readonly ids: Ids
  readonly importers: Importers
}

/** How long one transaction writes, so that no other process waits for an import, in milliseconds. */
const transactionMs = 80

type Write = (writing: Writing, record: Prepared[Kind]) => Steps<Written>

/** Writes records in transactions that are short, within a load if there is one; the tally counts what is committed. */
export async function writeRecords(
  kind: Kind,
  records: RecordList,
  tally: Tally,
  ports: WritePorts,
  load: Load | undefined,
): Promise<void> {
  for (let from = 0; from < records.length; ) {
    const start = from
    const { written, tallied } = await ports.driver.transaction((connection) =>
      done(writeTransaction(connection, kind, records, start, ports, load)),
    )
    tally.added += tallied.added
    tally.updated += tallied.updated
    tally.companies += tallied.companies
    for (const rejected of tallied.rejected) addRejected(tally, rejected)
    from += written
  }
}

/** Writes records until the time is up; a transaction may be run again, so it counts for itself. */
function* writeTransaction(
  connection: Connection,
  kind: Kind,
  records: RecordList,
  from: number,
  { clock, ids, importers }: WritePorts,
  load: Load | undefined,
): Steps<{ written: number; tallied: Tally }> {
  // A record is of the kind that was asked for.
  const write = writers[kind] as Write
  yield* enter(connection, load, load === importers.last)
  importers.last = load
  const ahead = dialectOf(connection).load.isRemote
    ? yield* prefetch(connection, kind, sliceRecords(records, from, maxPrefetched))
    : undefined
  const writing = yield* beginWriting(connection, kind, ids, load, ahead)
  const tallied = createTally()
  const until = clock.now() + transactionMs
  let written = 0
  for (let next = records.at(from); next; next = records.at(from + written)) {
    const { line, record } = next
    try {
      tallied[yield* write(writing, record)] += 1
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      addRejected(tallied, { line, reason: error.message })
    }
    written += 1
    if (clock.now() >= until || (ahead && written === maxPrefetched)) break
  }
  tallied.companies = writing.companies
  return { written, tallied }
}

/** The next so many records. */
const sliceRecords = (records: RecordList, from: number, most: number): PreparedRecord[] =>
  Array.from({ length: Math.min(most, records.length - from) }, (_, at) => records.at(from + at)).filter(
    (record) => record !== undefined,
  )

/** Writes a record of each kind. It may still refuse with Unreadable, but only before it changes anything. */
export const writers: { readonly [K in Kind]: (writing: Writing, record: Prepared[K]) => Steps<Written> } = {
  companies: function* (writing, company) {
    return (yield* writeCompany(writing, company)).written
  },
  people: writePerson,
  jobs: writeJob,
  posts: writePost,
}
