import { ApiError } from '../api/errors.js'
import type { Clock, Ids, Source } from '../engine/ports.js'
import type { Driver } from '../storage/driver.js'
import { migrate } from '../storage/migrate.js'
import { accountOf } from './account.js'
import { exportRecords } from './export.js'
import type { ImportOptions } from './import-options.js'
import type { Given, Kind } from './kind.js'
import { matchCompany } from './match.js'
import type { ImportReport } from './report.js'
import { migrations } from './schema.js'
import { countAll, type Stats } from './stats.js'
import { findTechnologies } from './technologies.js'

/** The local data behind the engine: companies, people, jobs, technologies and posts in one database. */
export interface Catalogue extends Source {
  /**
   * Adds or updates the records of a CSV or NDJSON file given as bytes. Commits as it goes; a line that is
   * rejected changes nothing. Throws an ImportError where the file cannot be read on.
   */
  importFile(kind: Kind, bytes: AsyncIterable<Uint8Array>, options?: ImportOptions): Promise<ImportReport>
  /** Adds or updates records that already carry field names; the same as a file of them. */
  importRecords(kind: Kind, records: Iterable<Given> | AsyncIterable<Given>): Promise<ImportReport>
  /** How many of each kind there are. */
  stats(): Promise<Stats>
  /** All records of a kind, oldest first; `importFile` takes them back unchanged as NDJSON. */
  exportRecords(kind: Kind): AsyncIterable<Given>
  close(): Promise<void>
}

/**
 * Opens the catalogue in a SQLite database, bringing its schema up to date; `close` closes the database too.
 * Refuses a catalogue of a newer program, and leaves it as it is.
 */
export async function openCatalogue(
  driver: Driver,
  { clock, ids }: { clock: Clock; ids: Ids },
): Promise<Catalogue> {
  if (driver.dialect !== 'sqlite')
    throw new ApiError('storage_failed', { reason: 'the catalogue is kept in SQLite' })
  await migrate(driver, migrations)
  const ports = { driver, clock, ids }
  return {
    company: (query) =>
      driver.read(async (connection) => {
        const company = await matchCompany(connection, query)
        return company && accountOf(company.record)
      }),
    technologies: (query, limit) => driver.read((connection) => findTechnologies(connection, query, limit)),
    // Reading files is loaded with the first file.
    importFile: async (kind, bytes, options = {}) =>
      (await import('./import.js')).importFile(kind, bytes, options, ports),
    importRecords: async (kind, records) => (await import('./import.js')).importRecords(kind, records, ports),
    stats: () => driver.read(countAll),
    exportRecords: (kind) => exportRecords(driver, kind),
    close: () => driver.close(),
  }
}
