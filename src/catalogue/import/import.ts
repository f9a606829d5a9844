import type { Given, ImportOptions, Kind, Row } from '../kinds/kind.js'
import { beginMuch, endLoad, type Much } from '../write/bulk-load.js'
import { asItIs, type Portion, readRows, recordsInPortion } from './prepare.js'
import { readApart } from './reader.js'
import { ImportError, type ImportReport, newTally, reject } from './report.js'
import { type CommitPorts, commit } from './write-batches.js'

/** Adds or updates the records of a CSV or NDJSON file; see `Catalogue.importFile`. */
export async function importFile(
  kind: Kind,
  bytes: AsyncIterable<Uint8Array>,
  { onProgress, ...options }: ImportOptions,
  ports: CommitPorts,
): Promise<ImportReport> {
  return await importPortions(kind, readApart(kind, bytes, options, ports.ids), ports, onProgress)
}

/** Adds or updates records that carry field names; see `Catalogue.importRecords`. */
export async function importRecords(
  kind: Kind,
  records: Iterable<Given> | AsyncIterable<Given>,
  ports: CommitPorts,
): Promise<ImportReport> {
  const rows = { mapping: {}, ignored: [], batches: numbered(records) }
  return await importPortions(kind, readRows(kind, rows, ports.ids, asItIs), ports)
}

async function* numbered(records: Iterable<Given> | AsyncIterable<Given>): AsyncGenerator<Row[]> {
  let line = 0
  for await (const given of records) yield [{ line: ++line, given }]
}

async function importPortions(
  kind: Kind,
  portions: AsyncIterable<Portion>,
  ports: CommitPorts,
  onProgress?: (done: number) => void,
): Promise<ImportReport> {
  const tally = newTally()
  let columns: Pick<ImportReport, 'mapping' | 'ignored'> = { mapping: {}, ignored: [] }
  const report = (): ImportReport => ({ ...tally, rejected: [...tally.rejected], ...columns })
  let much: Much | undefined
  try {
    // Of an import that was killed.
    await endLoad(ports.driver)
    for await (const { records, rejected, mapping, ignored } of portions) {
      columns = { mapping, ignored }
      for (const row of rejected) reject(tally, row)
      if (records.length >= recordsInPortion / 2) much ??= await beginMuch(kind, ports)
      await commit(kind, records, tally, ports, much?.load)
      onProgress?.(tally.added + tally.updated + tally.rejectedTotal)
    }
  } catch (error) {
    if (error instanceof ImportError) error.report = report()
    throw error
  } finally {
    await much?.end(tally.updated)
  }
  return report()
}
