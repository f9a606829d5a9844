import type { Driver } from '../driver/connection.js'
import { openSqlite } from '../driver/sqlite/driver.js'
import { isPostgres } from './location.js'

/** Where an engine keeps its own, and where its catalogue is a file unless the two share a server. */
export interface CataloguePlace {
  readonly engine: string
  readonly catalogue: string
}

/** The schema of a catalogue, behind the name of the engine's. */
const schemaSuffix = '_catalogue'

/** Whether machines share a catalogue: it is in the same PostgreSQL database as the engine, in a schema of its own. */
export const isShared = ({ engine }: Pick<CataloguePlace, 'engine'>): boolean => isPostgres(engine)

/** Opens the database of a catalogue; its schema is brought up to date by whoever knows it. */
export const openCatalogueDatabase = async (place: CataloguePlace): Promise<Driver> =>
  isShared(place) ? await openShared(place.engine) : openSqlite(place.catalogue, { pageBytes: 8_192 })

/** Opens the database of a catalogue that machines share; nothing where nobody ever made one. */
export async function findSharedCatalogue(url: string): Promise<Driver | undefined> {
  const { hasSchemaBeside } = await import('../driver/postgres/driver.js')
  return (await hasSchemaBeside(url, schemaSuffix)) ? await openShared(url) : undefined
}

/** Opens the database of the catalogue that the engine at a `postgres://` address has beside it. */
export async function openShared(url: string): Promise<Driver> {
  const { openPostgres } = await import('../driver/postgres/driver.js')
  return await openPostgres(url, { schemaSuffix, replan: true, listsAsArrays: true })
}
