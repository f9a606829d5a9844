import { migrate, prepareDatabase, readVersion } from '../../storage/database/migrate.js'
import { openDatabase } from '../../storage/database/open.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { Reads, Store, Transaction } from '../ports/ports.js'
import { chunkReads, chunkWrites } from './chunks.js'
import { deliveryReads, deliveryWrites } from './deliveries.js'
import { jobReads, jobWrites } from './jobs.js'
import { memberReads, memberWrites } from './members.js'
import { ledgerReads, ledgerWrites } from './movements.js'
import { requestReads, requestWrites } from './requests.js'
import { runReplyReads, runReplyWrites } from './row-replies.js'
import { savedReads, savedWrites } from './saved.js'
import { engineSchema } from './schema.js'

/**
 * Opens the engine's store at a path, `:memory:` or a `postgres://` address, bringing its schema up to date. `now` is this
 * machine's clock, which is compared with the server's.
 */
export async function openStore(location: string, now?: () => number): Promise<Store> {
  return storeOver(await openEngineDatabase(location, now))
}

/** Opens the engine's database, bringing its schema up to date. */
export async function openEngineDatabase(location: string, now?: () => number): Promise<Driver> {
  return prepareDatabase(await openDatabase(location, now ? { postgres: { now } } : {}), (driver) =>
    migrate(driver, engineSchema),
  )
}

/** Returns the engine's store over a driver. */
export function storeOver(driver: Driver): Store {
  const reads = memoizePerConnection(readsOver)
  const writes = memoizePerConnection((connection) => ({
    ...readsOver(connection),
    ...writesOver(connection),
  }))
  return {
    read: (work) => driver.read((connection) => work(reads(connection))),
    readShared: (name, work) => driver.readShared(name, (connection) => work(reads(connection))),
    transaction: (work, scope) => driver.transaction((connection) => work(writes(connection)), scope),
    requireWritable: async () => await driver.requireWritable?.(),
    aheadMs: () => driver.aheadMs?.() ?? 0,
    onWork: (wake, topic) => driver.onWork?.(wake, topic) ?? (() => {}),
    close: () => driver.close(),
  }
}

const readsOver = (connection: Connection): Reads => ({
  ...memberReads(connection),
  ...ledgerReads(connection),
  ...requestReads(connection),
  ...runReplyReads(connection),
  ...savedReads(connection),
  ...jobReads(connection),
  ...deliveryReads(connection),
  ...chunkReads(connection),
  schemaVersion: () => readVersion(connection),
})

const writesOver = (connection: Connection): Omit<Transaction, keyof Reads> => ({
  ...memberWrites(connection),
  ...ledgerWrites(connection),
  ...requestWrites(connection),
  ...runReplyWrites(connection),
  ...savedWrites(connection),
  ...jobWrites(connection),
  ...deliveryWrites(connection),
  ...chunkWrites(connection),
})

/** Makes functions once per connection: building them for each transaction would cost more than the statements. */
function memoizePerConnection<T>(make: (connection: Connection) => T): (connection: Connection) => T {
  const made = new WeakMap<Connection, T>()
  return (connection) => {
    let verbs = made.get(connection)
    if (!verbs) {
      verbs = make(connection)
      made.set(connection, verbs)
    }
    return verbs
  }
}
