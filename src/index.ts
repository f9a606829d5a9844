import { randomBytes, randomUUID } from 'node:crypto'
import type { Caller } from './api/caller.js'
import { type Catalogue, openCatalogue } from './catalogue/catalogue.js'
import { type Admin, createAdmin } from './engine/admin.js'
import { createEngine } from './engine/engine.js'
import type { Clock, Ids } from './engine/ports.js'
import { openStore } from './storage/open.js'
import { openSqlite } from './storage/sqlite.js'

export type { Caller, CallOptions, Input, Reply } from './api/caller.js'
export type { OperationId } from './api/table.js'
export { basePath, handler } from './http/handler.js'

/** Where a local engine keeps its state, and what a test may give it instead of the real world. */
export interface EngineOptions {
  /** Path of the engine's database, or `:memory:`. */
  readonly engine: string
  /** Path of the catalogue, or `:memory:`. */
  readonly catalogue: string
  readonly clock?: Clock
  readonly ids?: Ids
}

/** A local engine with what its owner may do and the data behind it. */
export interface OpenedEngine {
  readonly caller: Caller
  readonly admin: Admin
  readonly catalogue: Catalogue
  close(): Promise<void>
}

const systemIds: Ids = { uuid: randomUUID, bytes: randomBytes }

/** Opens a local engine; `admin.init()` makes workspace, member and key where there are none. */
export async function openEngine(options: EngineOptions): Promise<OpenedEngine> {
  const { clock = { now: () => Date.now() }, ids = systemIds } = options
  const store = await openStore(options.engine)
  const catalogue = await openCatalogue(openSqlite(options.catalogue), { clock, ids })
  const caller = createEngine({ store, source: catalogue, clock, ids })
  const close = async () => {
    await caller.close()
    await catalogue.close()
  }
  return { caller, admin: createAdmin({ store, clock, ids }), catalogue, close }
}
