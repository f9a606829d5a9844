import type { Connection } from '../../storage/driver/connection.js'
import type { CatalogueDialect } from './dialect.js'
import { postgresCopy, postgresLoad } from './postgres-load.js'
import { postgresSearch, postgresTexts } from './postgres-search.js'
import { sqliteCopy, sqliteLoad } from './sqlite-load.js'
import { sqliteSearch, sqliteTexts } from './sqlite-search.js'

const dialects: Readonly<Record<Connection['dialect']['name'], CatalogueDialect>> = {
  sqlite: { texts: sqliteTexts, search: sqliteSearch, load: sqliteLoad, copy: sqliteCopy },
  postgres: { texts: postgresTexts, search: postgresSearch, load: postgresLoad, copy: postgresCopy },
}

/** Returns the dialect of a database. */
export const dialectOf = ({ dialect }: Pick<Connection, 'dialect'>): CatalogueDialect =>
  dialects[dialect.name]
