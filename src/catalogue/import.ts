import { type CommitPorts, commit, withRoom } from './commit.js'
import type { ImportOptions } from './import-options.js'
import type { Given, Kind } from './kind.js'
import { beginLoad, endLoad, type Load } from './load.js'
import { readApart } from './read-apart.js'
import { asItIs, type Portion, readRows, recordsInPortion } from './reading.js'
import { ImportError, type ImportReport, newTally, reject } from './report.js'
import type { Row } from './row.js'

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
  const write = async () => {
    let load: Load | undefined
    let isMuch = false
    try {
      for await (const { records, rejected, mapping, ignored } of portions) {
        columns = { mapping, ignored }
        for (const row of rejected) reject(tally, row)
        // Fewer records are not worth to merge words and build indexes at the end.
        const begins: boolean = !isMuch && records.length >= recordsInPortion / 2
        if (begins) load = await beginLoad(kind, ports)
        isMuch ||= begins
        await commit(kind, records, tally, ports, load)
        onProgress?.(tally.added + tally.updated + tally.rejectedTotal)
      }
    } finally {
      if (isMuch) await endLoad(ports.driver, kind, tally.updated)
    }
  }
  try {
    // Of an import that was killed.
    await endLoad(ports.driver)
    await withRoom(ports.driver, write)
  } catch (error) {
    if (error instanceof ImportError) error.report = report()
    throw error
  }
  return report()
}
