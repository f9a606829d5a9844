import type { Connection } from '../../storage/driver/connection.js'
import type { CatalogueDialect } from './dialect.js'
import { postgresLoad, postgresMoved, postgresSearch, postgresTexts } from './postgres.js'
import { sqliteLoad, sqliteMoved, sqliteSearch, sqliteTexts } from './sqlite.js'

const dialects: Readonly<Record<Connection['dialect']['name'], CatalogueDialect>> = {
  sqlite: { texts: sqliteTexts, search: sqliteSearch, load: sqliteLoad, moved: sqliteMoved },
  postgres: { texts: postgresTexts, search: postgresSearch, load: postgresLoad, moved: postgresMoved },
}

export const dialectOf = ({ dialect }: Pick<Connection, 'dialect'>): CatalogueDialect =>
  dialects[dialect.name]
