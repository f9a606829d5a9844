import type { Connection } from '../../storage/driver/connection.js'
import type { CatalogueDialect } from './dialect.js'
import { postgresCopy, postgresLoad, postgresSearch, postgresTexts } from './postgres.js'
import { sqliteCopy, sqliteLoad, sqliteSearch, sqliteTexts } from './sqlite.js'

const dialects: Readonly<Record<Connection['dialect']['name'], CatalogueDialect>> = {
  sqlite: { texts: sqliteTexts, search: sqliteSearch, load: sqliteLoad, copy: sqliteCopy },
  postgres: { texts: postgresTexts, search: postgresSearch, load: postgresLoad, copy: postgresCopy },
}

export const dialectOf = ({ dialect }: Pick<Connection, 'dialect'>): CatalogueDialect =>
  dialects[dialect.name]
