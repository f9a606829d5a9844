import { ApiError, Refusal } from '../../api/calls/errors.js'
import type { Clock, Ids } from '../../api/ports/ports.js'
import { parseExact } from '../../api/values/json.js'
import type { Fields } from '../../api/values/objects.js'
import { LeftOutCounter, type LeftOutValues } from '../../csv/names.js'
import { uncalculatedNotes } from '../../csv/uncalculated.js'
import { isInvalid } from '../../identity/readers.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import type { FileColumns, ImportOptions, InputRow, RecordKind, RejectedRecord } from '../kinds/kind.js'
import type { OpenSet } from '../open-data/sets.js'
import { importJobs } from '../records/jobs.js'
import { toAccount } from '../records/match-company.js'
import { countOrigins, type Origin } from '../records/origins.js'
import { importPosts } from '../records/posts.js'
import { noteSource } from '../records/sources.js'
import { importCompanies } from '../records/write-company.js'
import { importPeople } from '../records/write-person.js'
import {
  createImportContext,
  type ImportContext,
  type ImportTarget,
  type OpenImport,
  type Outcome,
  toDryRunTarget,
  toImportTarget,
} from '../write/import-context.js'
import { FirstLoad } from './first-load.js'
import {
  type PreparedBatch,
  type PreparedByKind,
  type PreparedRecord,
  prepareFile,
  prepareRows,
} from './prepare.js'
import { noteSample } from './sample-records.js'

/** Adds or updates the records of a CSV or NDJSON file; see `Catalogue.importFile`. */
export async function importFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
  ports: WritePorts,
): Promise<ImportReport> {
  const ids = toSequential(ports.ids)
  return await importBatches(kind, prepareFile(kind, bytes, options, ids), { ...ports, ids }, options)
}

/** Finds out what importing a file would do; see `Catalogue.previewFile`. */
export async function previewFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
  ports: Pick<WritePorts, 'driver' | 'ids' | 'clock'>,
  scratch: Driver,
): Promise<ImportReport> {
  const tally = createTally()
  const transact = (take: TakePortions, open: OpenFile) =>
    ports.driver.read((real) =>
      scratch.transaction((copy) =>
        take(toDryRunTarget(real, copy), open ? { ...open, source: noSource } : undefined),
      ),
    )
  const preview = (records: readonly PreparedRecord[], open: OpenFile) =>
    takeRecords(kind, records, open, tally, ports, transact)
  return await takeBatches(prepareFile(kind, bytes, options, ports.ids), tally, preview, options)
}

/** Adds or updates records that carry field names; see `Catalogue.importRecords`. */
export async function importRecords(
  kind: RecordKind,
  records: Iterable<Fields> | AsyncIterable<Fields>,
  ports: WritePorts,
): Promise<ImportReport> {
  const rows = { mapping: {}, ignored: [], batches: numberRecords(records) }
  const ids = toSequential(ports.ids)
  return await importBatches(kind, prepareRows(kind, rows, ids), { ...ports, ids }, {})
}

/** Returns sequential ids: with random ones, each transaction would rewrite most pages of the index. */
function toSequential(ids: Ids): Ids {
  const beginning = ids.uuid().slice(0, -12)
  let count = 0
  return { ...ids, uuid: () => beginning + (count++).toString(16).padStart(12, '0') }
}

async function* numberRecords(records: Iterable<Fields> | AsyncIterable<Fields>): AsyncGenerator<InputRow[]> {
  let line = 0
  for await (const raw of records) yield [{ line: ++line, raw }]
}

/** From so many records at a time on, the database is set to take many. */
const bulkRecords = 1_000

async function importBatches(
  kind: RecordKind,
  batches: AsyncIterable<PreparedBatch>,
  ports: WritePorts,
  options: ImportOptions,
): Promise<ImportReport> {
  const tally = createTally()
  const { driver, clock } = ports
  const { load } = dialectOf(driver)
  let isBulk = false
  let first: FirstLoad | undefined | 'none'
  const within =
    (connection: Connection, withStored = true) =>
    async (take: TakePortions, open: OpenFile) => {
      const target = toImportTarget(connection, (of, changes) =>
        noteSample(ports.origin, connection, of, changes),
      )
      const source = open && (await noteSource(connection, open.set, open.snapshot, clock.now()))
      const taken = await take(
        withStored ? target : { ...target, readRows: async () => [] },
        open && source !== undefined ? { ...open, source } : undefined,
      )
      await countOrigins(ports.origin, connection, kind, taken.own, clock.now())
      return taken
    }
  const transact = (take: TakePortions, open: OpenFile) =>
    driver.transaction((connection) => within(connection)(take, open))
  const write = async (records: readonly PreparedRecord[], open: OpenFile) => {
    const isFirst = open !== undefined && records.length > 0 && first === undefined
    if (!isBulk && (records.length >= bulkRecords || isFirst)) {
      isBulk = true
      await load.begin?.(driver)
    }
    // A short file is no reason to make indexes anew.
    const most = records.length >= bulkRecords ? fewCompanies : 0
    if (isFirst) first = (await FirstLoad.begin(driver, most)) ?? 'none'
    if (!(first instanceof FirstLoad)) return await takeRecords(kind, records, open, tally, ports, transact)
    const added = first.hasIndexes ? records : await first.takeNew(records)
    return await takeRecords(kind, added, open, tally, ports, within(first.connection, first.hasIndexes))
  }
  try {
    const all = withLater(batches, () => (first instanceof FirstLoad ? first : undefined))
    const report = await takeBatches(all, tally, write, options)
    if (first instanceof FirstLoad) await first.commit()
    return report
  } catch (error) {
    if (!(first instanceof FirstLoad)) throw error
    if (first.isComplete) {
      await first.commit()
      throw error
    }
    await first.rollback(error)
    throw withoutReport(error)
  } finally {
    if (isBulk) await load.end(driver, filledTables[kind])
  }
}

/** So many companies may be there before much open data is loaded: their indexes are made again within a second or two. */
const fewCompanies = 200_000

/** The batches of a file, and behind them what a first load has kept for later, also where the file cannot be read to its end. */
async function* withLater(
  batches: AsyncIterable<PreparedBatch>,
  loadOf: () => FirstLoad | undefined,
): AsyncGenerator<PreparedBatch> {
  let failure: { readonly error: unknown } | undefined
  let columns: FileColumns = { mapping: {}, ignored: [] }
  try {
    for await (const batch of batches) {
      columns = batch.columns
      yield batch
    }
  } catch (error) {
    failure = { error }
  }
  for await (const records of loadOf()?.takeLater(laterSize) ?? [])
    yield { records, rejected: [], leftOut: [], columns }
  if (failure) throw failure.error
}

/** How many of the records that a first load has kept for later are taken at once. */
const laterSize = 1_000

/** Returns the error of a first load that was undone: nothing was imported before it. */
function withoutReport(error: unknown): unknown {
  if (!(error instanceof Refusal) || error instanceof ApiError) return error
  const { report: _, ...details } = error.details
  return new Refusal(error.code, details)
}

/** Takes the records of a file, and reports them. `take` counts them in the tally, and returns those that it rejects. */
async function takeBatches(
  batches: AsyncIterable<PreparedBatch>,
  tally: ImportTally,
  take: (records: readonly PreparedRecord[], open: OpenFile) => Promise<readonly RejectedRecord[]>,
  { onProgress, onRejected, withoutSuppressed, where, snapshot = '', create = false }: ImportOptions,
): Promise<ImportReport> {
  let columns: FileColumns = { mapping: {}, ignored: [] }
  const leftOut = new LeftOutCounter()
  try {
    for await (const { records: all, rejected, leftOut: values, columns: seen } of batches) {
      columns = seen
      leftOut.addAll(values)
      for (const row of rejected) addRejected(tally, row)
      const wanted = where ? all.filter(({ record }) => where(fieldsOf(record))) : all
      tally.unwanted += all.length - wanted.length
      const records = withoutSuppressed ? await leaveOutSuppressed(wanted, withoutSuppressed) : wanted
      tally.suppressed += wanted.length - records.length
      const set = seen.openData?.reading?.set
      const open = set && { set, name: set.name, snapshot, creates: create }
      const late = await take(records, open)
      const rows = late.length > 0 ? [...rejected, ...late].sort((a, b) => a.line - b.line) : rejected
      if (rows.length > 0) await onRejected?.(rows, columns.original)
      const { added, updated, suppressed, unwanted, unknown, older, rejectedTotal } = tally
      onProgress?.(added + updated + suppressed + unwanted + unknown + older + rejectedTotal)
    }
  } catch (error) {
    if (!(error instanceof Refusal) || error instanceof ApiError) throw error
    throw new Refusal(error.code, { ...error.details, report: toReport(tally, columns, leftOut.counts) })
  }
  return toReport(tally, columns, leftOut.counts)
}

/** The open data that a file is of; `undefined` for any other file. */
type OpenFile = (Omit<OpenImport, 'source'> & { readonly set: OpenSet }) | undefined

/** The source of what a dry run would import. */
const noSource = -1

/** Returns a prepared record as it would be stored. */
const fieldsOf = (record: PreparedRecord['record']): Fields =>
  'row' in record ? (toAccount(record.row.record) as Fields) : record

/** Returns records without those of suppressed people and companies, also within jobs and posts. */
async function leaveOutSuppressed(
  all: readonly PreparedRecord[],
  withoutSuppressed: NonNullable<ImportOptions['withoutSuppressed']>,
): Promise<readonly PreparedRecord[]> {
  const left = await withoutSuppressed(
    all.map(({ record }) => ('row' in record ? { ...record, row: parseExact(record.row.record) } : record)),
  )
  return all.flatMap((one, at) => {
    if (left[at] === null) return []
    return 'row' in one.record ? one : { ...one, record: left[at] as typeof one.record }
  })
}

interface WritePorts {
  readonly driver: Driver
  readonly clock: Clock
  readonly ids: Ids
  readonly origin: Origin
}

/** The tables that records of a kind fill, without those of other kinds. */
const filledTables: Readonly<Record<RecordKind, readonly string[]>> = {
  companies: ['companies', 'company_technologies', 'headcount_history', 'headcount_growth'],
  people: ['people', 'phones'],
  jobs: ['jobs'],
  posts: ['posts', 'engagers'],
}

/**
 * Duration after which a transaction takes no more records, so that other processes that write need not wait for an import.
 * A file has fewer of them than a server, and each commit writes the pages of its indexes and a segment of words anew.
 * Millions of companies change pages all over the indexes, which are written once for each transaction.
 */
const transactionMsOf = (driver: Driver, open: OpenFile): number =>
  dialectOf(driver).load.begin ? (open ? 3_000 : 400) : 80

/** For how many records rows are read together. A server is asked seldom; few at a time spare the garbage collector. */
const portionSizeOf = (driver: Driver): number => (dialectOf(driver).load.begin ? 100 : 500)

/** Reads the stored rows that records may be the same as, decides about each, and writes that (decision 15). */
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

/** Takes portions of records in a transaction, until its time is over. Returns the place of the next one. */
type TakePortions = (
  target: ImportTarget,
  open: OpenImport | undefined,
) => Promise<{ readonly next: number; readonly own: ImportTally }>

/** Takes records in short transactions. The tally counts what is committed. Returns the records that are rejected. */
async function takeRecords(
  kind: RecordKind,
  records: readonly PreparedRecord[],
  open: OpenFile,
  tally: ImportTally,
  { driver, clock, ids }: Pick<WritePorts, 'driver' | 'ids' | 'clock'>,
  transact: (take: TakePortions, open: OpenFile) => ReturnType<TakePortions>,
): Promise<RejectedRecord[]> {
  const rejected: RejectedRecord[] = []
  const portionSize = portionSizeOf(driver)
  for (let from = 0; from < records.length; ) {
    const { next, own } = await transact(async (target, source) => {
      const context = await createImportContext(kind, target, ids, source)
      // A transaction may be repeated, so it has its own tally.
      const own = createTally()
      const end = clock.now() + transactionMsOf(driver, open)
      let next = from
      do {
        await importPortion(kind, context, records.slice(next, next + portionSize), own)
        next += portionSize
      } while (next < records.length && clock.now() < end)
      return { next, own }
    }, open)
    for (const name of counts) tally[name] += own[name]
    for (const row of own.rejected) addRejected(tally, row)
    rejected.push(...own.rejected)
    from = next
  }
  return rejected
}

async function importPortion(
  kind: RecordKind,
  context: ImportContext,
  portion: readonly PreparedRecord[],
  tally: ImportTally,
): Promise<void> {
  const records = portion.map(({ record }) => record)
  // The caller passes only records of this kind.
  const outcomes = await importers[kind](context, records as never)
  for (const [index, outcome] of outcomes.entries()) {
    if (isInvalid(outcome)) {
      const { record: _, ...row } = portion[index] as PreparedRecord
      tally.rejected.push({ ...row, reason: outcome.message })
    } else if (outcome === 'added') tally.added += 1
    else if (outcome === 'unknown') tally.unknown += 1
    else if (outcome === 'older') tally.older += 1
    else tally.updated += 1
    if (outcome === 'unchanged') tally.unchanged += 1
  }
  tally.companies = context.createdCompanies
}

const counts = ['added', 'updated', 'unchanged', 'unknown', 'older', 'companies'] as const

const createTally = () => ({
  added: 0,
  updated: 0,
  /** Those of the updated records that are as they were. */
  unchanged: 0,
  /** Companies created because people or jobs named a domain or profile url that no company had. */
  companies: 0,
  /** Companies that open data only adds something to, and that are not known. */
  unknown: 0,
  /** Companies of which a newer snapshot of the same open data is stored. */
  older: 0,
  /** Records that are not wanted. */
  unwanted: 0,
  /** Records that were left out because their person or company is suppressed. */
  suppressed: 0,
  /** The first rejected lines; `rejectedTotal` counts all. */
  rejected: [] as RejectedRecord[],
  rejectedTotal: 0,
})

/** The counts of a report that is not complete yet. */
type ImportTally = ReturnType<typeof createTally>

export type ImportReport = ReturnType<typeof toReport>

/** Returns what became of a file; `leftOut` are values that records are without, because they were not understood. */
function toReport(
  tally: Readonly<ImportTally>,
  {
    mapping,
    ignored,
    samples = {},
    notes = [],
    encoding,
    footer,
    uncalculated,
    original,
    openData,
  }: FileColumns,
  leftOut: readonly LeftOutValues[],
) {
  return {
    ...tally,
    rejected: [...tally.rejected],
    leftOut,
    mapping,
    ignored,
    samples,
    encoding,
    set: openData?.reading?.set,
    footer: footer?.found,
    notes: [...notes, ...uncalculatedNotes(uncalculated ?? [], original?.header ?? [])],
  }
}

const maxRejectedKept = 1_000

/** Counts a rejected line, and adds it to the report up to the maximum. */
function addRejected(tally: ImportTally, { line, reason }: RejectedRecord): void {
  tally.rejectedTotal += 1
  if (tally.rejected.length < maxRejectedKept) tally.rejected.push({ line, reason })
}
