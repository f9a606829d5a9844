import type { Clock, Ids } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import type { RecordKind, RejectedRecord } from '../kinds/kind.js'
import { InvalidRecordError } from '../normalize/readers.js'
import { importJobs } from '../records/jobs.js'
import { importPosts } from '../records/posts.js'
import { importCompanies } from '../records/write-company.js'
import { importPeople } from '../records/write-person.js'
import { type BulkLoad, type BulkWriteState, beginTransaction } from '../write/bulk-load.js'
import { ImportContext, type Outcome, toDryRunTarget, toImportTarget } from '../write/import-context.js'
import type { PreparedByKind, PreparedRecord, RecordList } from './prepare.js'
import { addRejected, createTally, type ImportTally } from './report.js'

/** What writing records depends on. */
export interface WritePorts {
  readonly driver: Driver
  readonly clock: Clock
  readonly ids: Ids
  readonly bulkWrites: BulkWriteState
  /** Counts written records by their origin, in their transaction. */
  countOrigins(connection: Connection, kind: RecordKind, tally: ImportTally, now: number): Promise<void>
}

/** Duration after which a transaction takes no more records, so that other processes need not wait for an import. */
const transactionMs = 80

/**
 * Returns for how many records the stored rows are read together. A server is asked seldom; with SQLite few records are
 * soon forgotten again, which spares the garbage collector.
 */
const portionSizeOf = (driver: Driver): number => (dialectOf(driver).load.isRemote ? 500 : 100)

/** Reads the stored rows that records may be the same as, decides what becomes of each, and writes that. */
const importers: {
  readonly [K in RecordKind]: (
    context: ImportContext,
    records: readonly PreparedByKind[K][],
  ) => Promise<readonly Outcome[]>
} = {
  companies: importCompanies,
  people: importPeople,
  jobs: importJobs,
  posts: importPosts,
}

/**
 * Writes records in short transactions, as part of `load` if there is one. The tally counts what is committed. Returns the
 * records that are rejected.
 */
export async function writeRecords(
  kind: RecordKind,
  records: RecordList,
  tally: ImportTally,
  { driver, clock, ids, bulkWrites, countOrigins }: WritePorts,
  load: BulkLoad | undefined,
): Promise<RejectedRecord[]> {
  const rejected: RejectedRecord[] = []
  const portionSize = portionSizeOf(driver)
  for (let written = 0; written < records.length; ) {
    const from = written
    // A transaction may be repeated, so it has its own tally.
    const { next, own } = await driver.transaction(async (connection) => {
      await beginTransaction(connection, load, load === bulkWrites.lastLoad)
      bulkWrites.lastLoad = load
      const context = await ImportContext.create(kind, toImportTarget(connection), ids, load)
      const own = createTally()
      const end = clock.now() + transactionMs
      let next = from
      do {
        await importPortion(kind, context, records.slice(next, next + portionSize), own)
        next += portionSize
      } while (next < records.length && clock.now() < end)
      await countOrigins(connection, kind, own, clock.now())
      return { next, own }
    })
    addTally(tally, own)
    rejected.push(...own.rejected)
    written = next
  }
  return rejected
}

/**
 * Finds out what writing records would do; what is decided is kept in `scratch`, an empty catalogue in SQLite. The tally
 * counts it. Returns the records that would be rejected.
 */
export async function previewRecords(
  kind: RecordKind,
  records: RecordList,
  tally: ImportTally,
  { driver, ids }: Pick<WritePorts, 'driver' | 'ids'>,
  scratch: Driver,
): Promise<RejectedRecord[]> {
  const rejected: RejectedRecord[] = []
  const portionSize = portionSizeOf(driver)
  for (let from = 0; from < records.length; from += portionSize) {
    const own = await driver.read((real) =>
      scratch.transaction(async (copy) => {
        const context = await ImportContext.create(kind, toDryRunTarget(real, copy), ids)
        return await importPortion(kind, context, records.slice(from, from + portionSize), createTally())
      }),
    )
    addTally(tally, own)
    rejected.push(...own.rejected)
  }
  return rejected
}

/** Imports some records, and counts them. */
async function importPortion(
  kind: RecordKind,
  context: ImportContext,
  portion: readonly PreparedRecord[],
  tally: ImportTally,
): Promise<ImportTally> {
  // The caller passes only records of this kind.
  const importAll = importers[kind] as (
    context: ImportContext,
    records: readonly unknown[],
  ) => Promise<Outcome[]>
  const outcomes = await importAll(
    context,
    portion.map(({ record }) => record),
  )
  for (const [index, outcome] of outcomes.entries()) {
    const { record: _, ...row } = portion[index] as PreparedRecord
    if (outcome instanceof InvalidRecordError) tally.rejected.push({ ...row, reason: outcome.message })
    else if (outcome === 'added') tally.added += 1
    else tally.updated += 1
    if (outcome === 'unchanged') tally.unchanged += 1
  }
  tally.companies = context.createdCompanies
  return tally
}

/** Adds the counts of a transaction to those of an import. */
function addTally(tally: ImportTally, { added, updated, unchanged, companies, rejected }: ImportTally): void {
  tally.added += added
  tally.updated += updated
  tally.unchanged += unchanged
  tally.companies += companies
  for (const row of rejected) addRejected(tally, row)
}
