import { type CommitPorts, commit, withLongLog } from './commit.js'
import { countryCodes } from './country-codes.js'
import type { ImportOptions } from './import-options.js'
import type { Given, Kind } from './kind.js'
import { beginLoad, endLoad, type Load } from './load.js'
import { type Prepared, preparers } from './preparers.js'
import { ImportError, type ImportReport, importErrorOf, newTally, reject, type Tally } from './report.js'
import { inPortions, portion, type Row, type Rows } from './row.js'
import { openRows } from './rows.js'
import { Unreadable } from './values.js'

/** Adds or updates the records of a CSV or NDJSON file; see `Catalogue.importFile`. */
export async function importFile(
  kind: Kind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
  ports: CommitPorts,
): Promise<ImportReport> {
  const rows = await openRows(kind, bytes, options).catch((error) => {
    throw importErrorOf(error)
  })
  return await withLongLog(ports.driver, () => importRows(kind, rows, ports, options.onProgress))
}

/** Adds or updates records that carry field names; see `Catalogue.importRecords`. */
export async function importRecords(
  kind: Kind,
  records: Iterable<Given> | AsyncIterable<Given>,
  ports: CommitPorts,
): Promise<ImportReport> {
  const rows = { mapping: {}, ignored: [], portions: inPortions(numbered(records)) }
  return await withLongLog(ports.driver, () => importRows(kind, rows, ports))
}

async function* numbered(records: Iterable<Given> | AsyncIterable<Given>): AsyncGenerator<Row[]> {
  let line = 0
  for await (const given of records) yield [{ line: ++line, given }]
}

async function importRows(
  kind: Kind,
  { portions, mapping, ignored }: Rows,
  ports: CommitPorts,
  onProgress?: (done: number) => void,
): Promise<ImportReport> {
  const tally = newTally()
  const coded = countryCodes()
  const report = (): ImportReport => ({
    ...tally,
    rejected: [...tally.rejected],
    mapping: { ...mapping },
    ignored: [...ignored],
  })
  let load: Load | undefined
  try {
    await endLoad(ports.driver)
    for await (const rows of portions) {
      // What is less than a portion is not worth to drop and build indexes for.
      const isMuch = rows.length >= portion && tally.added + tally.updated === 0
      if (isMuch) load = await beginLoad(kind, ports)
      await commit(prepareAll(kind, rows, tally, coded), tally, ports, load)
      onProgress?.(tally.added + tally.updated + tally.rejectedTotal)
    }
  } catch (error) {
    const told = importErrorOf(error)
    if (told instanceof ImportError) told.report = report()
    throw told
  } finally {
    if (load) await endLoad(ports.driver)
  }
  return report()
}

function prepareAll(
  kind: Kind,
  rows: readonly Row[],
  tally: Tally,
  coded: (given: Given) => Given,
): Prepared[] {
  const prepared: Prepared[] = []
  for (const row of rows) {
    try {
      if ('reason' in row) reject(tally, row)
      else prepared.push({ line: row.line, write: preparers[kind](coded(row.given)) })
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      reject(tally, { line: row.line, reason: error.message })
    }
  }
  return prepared
}
