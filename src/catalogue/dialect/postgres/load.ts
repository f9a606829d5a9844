import { type Connection, type Driver, mapResult } from '../../../storage/driver/connection.js'

/** Bytes of texts that may stand together in an index. It refuses about 2,700, and whatever is written beside them. */
export const maxIndexedBytes = 2_000

/** Whether a statement is answered by another machine, so that it pays to ask for many records at once. */
export const isRemote = true

/** Returns false: here indexes are never missing. */
export const hasDeferredIndexes = (): boolean => false

/** Does nothing: indexes stay while a table is filled. */
export function deferIndexes(): void {}

/** Does nothing: indexes are always there. */
export function buildIndexesOn(): void {}

/**
 * Takes a number for a transaction that writes, and returns how many others took one. A transaction that was undone took
 * its number too, and counts as another's.
 */
export const countForeignWrites = (connection: Connection, own: { transactions: number } | undefined) =>
  mapResult(
    connection.get<{ number: number }>("SELECT nextval('turns') AS number"),
    (turn) => own && (turn?.number ?? 0) - ++own.transactions,
  )

/**
 * Runs ANALYZE on the tables that an import filled: a search that was planned for an empty table may take minutes in a full
 * one. Where that fails, the server does it later by itself, so the failure is no failure of the import.
 */
export async function endLoad(
  driver: Driver,
  loaded: { readonly tables: readonly string[] } | undefined,
): Promise<void> {
  if (loaded) await analyze(driver, [...new Set(['companies', ...loaded.tables])]).catch(() => {})
}

/** Removes what the database remembers of deleted rows: ANALYZE keeps values of rows as statistics. */
export const forgetDeletedRows = (driver: Driver, tables: readonly string[]): Promise<void> =>
  analyze(driver, tables)

const analyze = (driver: Driver, tables: readonly string[]): Promise<void> =>
  driver.transaction(async (connection) => {
    await connection.exec(`SET LOCAL statement_timeout = 0; ANALYZE ${tables.join(', ')}`)
  })

/** Changes nothing: the server's settings suit bulk writes. */
export const beginBulkWrites = async () => ({
  restoreMemory: async () => {},
  restoreDurability: async () => {},
})
