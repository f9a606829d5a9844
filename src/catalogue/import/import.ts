import type { ImportOptions, InputRow, RawRecord, RecordKind } from '../kinds/kind.js'
import { type BulkWrite, endBulkLoad, startBulkWrite } from '../write/bulk-load.js'
import { batchSize, keepAsIs, type PreparedBatch, prepareRows } from './prepare.js'
import { readBatches } from './reader.js'
import { addRejected, createTally, ImportError, type ImportReport } from './report.js'
import { type WritePorts, writeRecords } from './write-batches.js'

/** Adds or updates the records of a CSV or NDJSON file; see `Catalogue.importFile`. */
export async function importFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  { onProgress, ...options }: ImportOptions,
  ports: WritePorts,
): Promise<ImportReport> {
  return await importBatches(kind, readBatches(kind, bytes, options, ports.ids), ports, onProgress)
}

/** Adds or updates records that carry field names; see `Catalogue.importRecords`. */
export async function importRecords(
  kind: RecordKind,
  records: Iterable<RawRecord> | AsyncIterable<RawRecord>,
  ports: WritePorts,
): Promise<ImportReport> {
  const rows = { mapping: {}, ignored: [], batches: numberRecords(records) }
  return await importBatches(kind, prepareRows(kind, rows, ports.ids, keepAsIs), ports)
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
  onProgress?: (done: number) => void,
): Promise<ImportReport> {
  const tally = createTally()
  let columns: Pick<ImportReport, 'mapping' | 'ignored'> = { mapping: {}, ignored: [] }
  const report = (): ImportReport => ({ ...tally, rejected: [...tally.rejected], ...columns })
  let bulkWrite: BulkWrite | undefined
  try {
    // Ends the bulk load of an import that was killed.
    await endBulkLoad(ports.driver)
    for await (const { records, rejected, mapping, ignored } of batches) {
      columns = { mapping, ignored }
      for (const row of rejected) addRejected(tally, row)
      if (records.length >= batchSize / 2) bulkWrite ??= await startBulkWrite(kind, ports)
      await writeRecords(kind, records, tally, ports, bulkWrite?.load)
      onProgress?.(tally.added + tally.updated + tally.rejectedTotal)
    }
  } catch (error) {
    if (error instanceof ImportError) error.report = report()
    throw error
  } finally {
    await bulkWrite?.end(tally.updated)
  }
  return report()
}
