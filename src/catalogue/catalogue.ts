import type { Source } from '../engine/ports.js'
import type { ImportOptions } from './import.js'
import type { Given, Kind } from './kind.js'
import type { ImportReport } from './report.js'
import type { Stats } from './stats.js'

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
