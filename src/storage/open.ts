import type { Reads, Store, Transaction } from '../engine/ports.js'
import { counterReads, counterWrites } from './counters.js'
import { deliveryReads, deliveryWrites } from './deliveries.js'
import type { Connection, Driver } from './driver.js'
import { DatabaseFileError } from './exclusive.js'
import { forgetReads, forgetWrites } from './forget.js'
import { jobReads, jobWrites } from './jobs.js'
import { ledgerReads, ledgerWrites } from './ledger.js'
import { listReads, listWrites } from './lists.js'
import { memberReads, memberWrites } from './members.js'
import { migrate, versionOf } from './migrate.js'
import { migrations } from './migrations.js'
import { replyReads, replyWrites } from './replies.js'
import { runReplyReads, runReplyWrites } from './run-replies.js'
import { savedReads, savedWrites } from './saved.js'
import { openSqlite } from './sqlite.js'

/** Opens the engine's store at a path or `:memory:`, bringing its schema up to date. */
export async function openStore(location: string): Promise<Store> {
  if (/^postgres(ql)?:/.test(location))
    throw new DatabaseFileError(
      'The engine keeps its state in a SQLite file; a PostgreSQL address cannot be used yet.',
      'Give a path, or leave PROSPECT_DATABASE_URL empty.',
    )
  const driver = openSqlite(location)
  await migrate(driver, migrations)
  return storeOver(driver)
}

/** The store's verbs over a driver. */
export function storeOver(driver: Driver): Store {
  const reads = keptPer(readsOver)
  const writes = keptPer((connection) => ({ ...readsOver(connection), ...writesOver(connection) }))
  return {
    read: (work) => driver.read((connection) => work(reads(connection))),
    readShared: (name, work) => driver.readShared(name, (connection) => work(reads(connection))),
    transaction: (work) => driver.transaction((connection) => work(writes(connection))),
    close: () => driver.close(),
  }
}

const readsOver = (connection: Connection): Reads => ({
  ...memberReads(connection),
  ...ledgerReads(connection),
  ...counterReads(connection),
  ...replyReads(connection),
  ...runReplyReads(connection),
  ...savedReads(connection),
  ...jobReads(connection),
  ...listReads(connection),
  ...deliveryReads(connection),
  ...forgetReads(connection),
  schemaVersion: () => versionOf(connection),
})

const writesOver = (connection: Connection): Omit<Transaction, keyof Reads> => ({
  ...memberWrites(connection),
  ...ledgerWrites(connection),
  ...counterWrites(connection),
  ...replyWrites(connection),
  ...runReplyWrites(connection),
  ...savedWrites(connection),
  ...jobWrites(connection),
  ...listWrites(connection),
  ...deliveryWrites(connection),
  ...forgetWrites(connection),
})

/** Makes verbs once per connection: building them for each transaction would cost more than the statements. */
function keptPer<T>(make: (connection: Connection) => T): (connection: Connection) => T {
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
