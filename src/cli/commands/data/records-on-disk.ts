import { existsSync } from 'node:fs'
import { fileLocks, leasesOver } from '../../../batch/run/records.js'
import { openCatalogue } from '../../../catalogue/catalogue.js'
import type { Store } from '../../../engine/ports/ports.js'
import { findSharedCatalogue, isShared, openCatalogueDatabase } from '../../../storage/database/open.js'
import type { Driver } from '../../../storage/driver/connection.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import { openEngineDatabase, storeOver } from '../../../storage/engine/store.js'
import { findShared, openState } from '../../../storage/state/open.js'
import type { RunLocks } from '../../../storage/state/runs/run-leases.js'
import type { ClockContext, Context, HomeContext } from '../../context/context.js'
import { prepareHome } from '../../context/home.js'

/** The databases of this machine; those that were never made stay so. */
export interface RecordsOnDisk {
  readonly catalogue: Driver | undefined
  readonly engine: Driver | undefined
  /** The engine's store over its database. */
  readonly store: Store | undefined
  readonly state: Driver | undefined
  /** What is remembered of runs, here and, where machines share the engine's database, by all of them. */
  readonly runs: readonly RunsOnRecord[]
  close(): Promise<void>
}

/** A database with records of runs, and who keeps them from others. */
export interface RunsOnRecord {
  readonly database: Driver
  readonly locks: RunLocks
}

/** Opens all that is on record on this machine, and in the database that it shares with others; the catalogue if asked to. */
export async function openRecords(context: Context, withCatalogue: boolean): Promise<RecordsOnDisk> {
  const { home, clock } = context
  prepareHome(home)
  const catalogue = withCatalogue ? await catalogueOnRecord(context) : undefined
  const engine = isThere(home.engine) ? await openEngineDatabase(home.engine) : undefined
  const state = isThere(home.state) ? await openState(home.state) : undefined
  const shared = isPostgres(home.engine)
    ? await findShared(home.engine, { now: () => clock.now() })
    : undefined
  const runs = [
    ...(state ? [{ database: state, locks: fileLocks(context) }] : []),
    ...(shared ? [{ database: shared, locks: await leasesOver(context, shared) }] : []),
  ]
  return {
    ...{ catalogue, engine, store: engine && storeOver(engine), state, runs },
    close: async () => {
      for (const database of [catalogue, engine, state, shared]) await database?.close()
    },
  }
}

/** The catalogue, where there is one: its schema up to date, and with the indexes that an import left to be built. */
async function catalogueOnRecord({
  home,
  clock,
  ids,
}: ClockContext & HomeContext): Promise<Driver | undefined> {
  if (!isShared(home) && !isThere(home.catalogue)) return undefined
  const catalogue = isShared(home)
    ? await findSharedCatalogue(home.engine)
    : await openCatalogueDatabase(home)
  if (catalogue) await openCatalogue(catalogue, { clock, ids })
  return catalogue
}

const isThere = (location: string): boolean => isPostgres(location) || existsSync(location)

/** Writes the databases of this machine anew; answers those that could not be, because another process uses them. */
export async function rewriteAll({
  home,
}: HomeContext): Promise<{ rewritten: string[]; remaining: string[] }> {
  const { vacuum } = await import('../../../storage/database/database-file.js')
  const files = [home.catalogue, home.engine, home.state].filter((file) => existsSync(file))
  const remaining = files.filter((file) => !vacuum(file))
  return { rewritten: files.filter((file) => !remaining.includes(file)), remaining }
}
