import { LeftOutCounter } from '../../csv/names.js'
import type { Driver } from '../../storage/driver/connection.js'
import type {
  FileColumns,
  ImportOptions,
  InputRow,
  RawRecord,
  RecordKind,
  RejectedRecord,
} from '../kinds/kind.js'
import { type BulkWrite, endBulkLoad, startBulkWrite } from '../write/bulk-load.js'
import { batchSize, keepAsIs, type PreparedBatch, prepareRows, type RecordList } from './prepare.js'
import { readBatches } from './reader.js'
import { addRejected, createTally, ImportError, type ImportReport, type ImportTally } from './report.js'
import { previewRecords, type WritePorts, writeRecords } from './write-batches.js'

/** Adds or updates the records of a CSV or NDJSON file; see `Catalogue.importFile`. */
export async function importFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  { onProgress, onRejected, ...options }: ImportOptions,
  ports: WritePorts,
): Promise<ImportReport> {
  const batches = readBatches(kind, bytes, options, ports.ids)
  return await importBatches(kind, batches, ports, { onProgress, onRejected })
}

/** Finds out what importing a file would do; see `Catalogue.previewFile`. */
export async function previewFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  { onProgress, onRejected, ...options }: ImportOptions,
  ports: Pick<WritePorts, 'driver' | 'ids'>,
  scratch: Driver,
): Promise<ImportReport> {
  const tally = createTally()
  const preview = (records: RecordList) => previewRecords(kind, records, tally, ports, scratch)
  const batches = readBatches(kind, bytes, options, ports.ids)
  return await takeBatches(batches, tally, preview, { onProgress, onRejected })
}

/** Adds or updates records that carry field names; see `Catalogue.importRecords`. */
export async function importRecords(
  kind: RecordKind,
  records: Iterable<RawRecord> | AsyncIterable<RawRecord>,
  ports: WritePorts,
): Promise<ImportReport> {
  const rows = { mapping: {}, ignored: [], batches: numberRecords(records) }
  return await importBatches(kind, prepareRows(kind, rows, ports.ids, keepAsIs), ports, {})
}

async function* numberRecords(
  records: Iterable<RawRecord> | AsyncIterable<RawRecord>,
): AsyncGenerator<InputRow[]> {
  let line = 0
  for await (const raw of records) yield [{ line: ++line, raw }]
}

async function importBatches(
  kind: RecordKind,
  batches: AsyncIterable<PreparedBatch>,
  ports: WritePorts,
  listeners: Listeners,
): Promise<ImportReport> {
  const tally = createTally()
  let bulkWrite: BulkWrite | undefined
  const write = async (records: RecordList) => {
    if (records.length >= batchSize / 2) bulkWrite ??= await startBulkWrite(kind, ports)
    return await writeRecords(kind, records, tally, ports, bulkWrite?.load)
  }
  try {
    // Ends the bulk load of an import that was killed.
    await endBulkLoad(ports.driver)
    return await takeBatches(batches, tally, write, listeners)
  } finally {
    await bulkWrite?.end(tally.updated)
  }
}

type Listeners = { readonly [K in 'onProgress' | 'onRejected']?: ImportOptions[K] | undefined }

/** Takes the records of a file, and reports them. `take` counts them in the tally, and returns those that it rejects. */
async function takeBatches(
  batches: AsyncIterable<PreparedBatch>,
  tally: ImportTally,
  take: (records: RecordList) => Promise<readonly RejectedRecord[]>,
  { onProgress, onRejected }: Listeners,
): Promise<ImportReport> {
  let columns: FileColumns = { mapping: {}, ignored: [] }
  const leftOut = new LeftOutCounter()
  const report = (): ImportReport => {
    const { mapping, ignored, samples = {} } = columns
    const rejected = [...tally.rejected]
    return { ...tally, rejected, leftOut: leftOut.counts, mapping, ignored, samples }
  }
  try {
    for await (const { records, rejected, leftOut: values, columns: seen } of batches) {
      columns = seen
      leftOut.addAll(values)
      for (const row of rejected) addRejected(tally, row)
      const late = await take(records)
      const rows = late.length > 0 ? [...rejected, ...late].sort((a, b) => a.line - b.line) : rejected
      if (rows.length > 0) await onRejected?.(rows, columns.original)
      onProgress?.(tally.added + tally.updated + tally.rejectedTotal)
    }
  } catch (error) {
    if (error instanceof ImportError) error.report = report()
    throw error
  }
  return report()
}
