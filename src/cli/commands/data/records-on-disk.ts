import { existsSync } from 'node:fs'
import { openCatalogue } from '../../../catalogue/catalogue.js'
import type { Store } from '../../../engine/ports.js'
import type { Driver } from '../../../storage/driver.js'
import { isPostgres } from '../../../storage/location.js'
import { openStore } from '../../../storage/open.js'
import { openSqlite } from '../../../storage/sqlite.js'
import { openState } from '../../../storage/state.js'
import type { Context } from '../../context.js'
import { prepareHome } from '../../home.js'

/** The databases of this machine; those that were never made stay so. */
export interface RecordsOnDisk {
  readonly catalogue: Driver | undefined
  readonly store: Store | undefined
  readonly state: Driver | undefined
  close(): Promise<void>
}

/** Opens all that is on record on this machine. */
export async function openRecords({ home, clock, ids }: Context): Promise<RecordsOnDisk> {
  prepareHome(home)
  const catalogue = isThere(home.catalogue) ? openSqlite(home.catalogue) : undefined
  // Brings its schema up to date, and gives it the indexes that an import left to be built.
  if (catalogue) await openCatalogue(catalogue, { clock, ids })
  const store = isThere(home.engine) ? await openStore(home.engine) : undefined
  const state = isThere(home.state) ? await openState(home.state) : undefined
  return {
    ...{ catalogue, store, state },
    close: async () => {
      for (const database of [catalogue, store, state]) await database?.close()
    },
  }
}

const isThere = (location: string): boolean => isPostgres(location) || existsSync(location)

/** Writes the databases of this machine anew; answers those that could not be, because another process uses them. */
export async function rewriteAll({ home }: Context): Promise<{ rewritten: string[]; remaining: string[] }> {
  const { vacuum } = await import('../../../storage/vacuum.js')
  const files = [home.catalogue, home.engine, home.state].filter((file) => existsSync(file))
  const remaining = files.filter((file) => !vacuum(file))
  return { rewritten: files.filter((file) => !remaining.includes(file)), remaining }
}
