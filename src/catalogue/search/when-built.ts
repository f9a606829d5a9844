import { ApiError } from '../../api/calls/errors.js'
import type { SearchKind } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import type { Finder } from './search-kind.js'

/**
 * A kind of search that would take hours without some indexes: it is refused as `busy` while they are missing, which
 * they are only as long as a table is filled for the first time.
 */
export const whenBuilt = <K extends SearchKind>(
  indexes: readonly string[],
  finder: Finder<K>,
): Finder<K> => ({
  count: async (connection, filters, now) => {
    await mustBeBuilt(connection, indexes)
    return await finder.count(connection, filters, now)
  },
  find: async (connection, filters, span) => {
    await mustBeBuilt(connection, indexes)
    return await finder.find(connection, filters, span)
  },
})

const built = `SELECT count(*) AS count FROM sqlite_schema
  WHERE type = 'index' AND name IN (SELECT value FROM json_each(?))`

async function mustBeBuilt(connection: Connection, indexes: readonly string[]): Promise<void> {
  // In PostgreSQL they are never missing.
  if (connection.dialect === 'postgres') return
  const row = await connection.get<{ count: number }>(built, JSON.stringify(indexes))
  if (row?.count !== indexes.length) throw new ApiError('busy')
}
