import { Refusal } from '../../api/calls/errors.js'
import { type ExportedTables, exportTables, importTables } from '../../storage/database/backup.js'
import type { Driver } from '../../storage/driver/connection.js'
import { listEngineTables } from './schema.js'

const engineTables: ExportedTables = {
  format: 'prospect engine',
  keys: listEngineTables(),
  large: ['replies', 'run_replies', 'jobs', 'records', 'list_companies', 'deliveries', 'provider_calls'],
}

/** Writes a snapshot of an engine's state to a file, which any database takes. Returns the number of rows. */
export const exportEngine = (driver: Driver, file: string) => exportTables(driver, file, engineTables)

/** Imports an exported state into a database that has no workspace yet. Returns the number of rows. */
export const importEngine = (driver: Driver, file: string): Promise<number> =>
  driver.transaction(async (connection) => {
    if (await connection.get('SELECT 1 AS one FROM workspaces LIMIT 1'))
      throw new Refusal('database.not_empty')
    await connection.run('DELETE FROM clock')
    // Triggers check every movement against the one before.
    const rows = await importTables(connection, file, engineTables)
    await connection.dialect.continueNumbering(connection, 'reply_runs', 'number')
    return rows
  })
