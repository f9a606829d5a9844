import type { Connection, Value } from '../../storage/driver/connection.js'

/** A connection whose statements are answered at once. */
export interface Statements extends Connection {
  get<T>(sql: string, ...values: Value[]): T | undefined
  all<T>(sql: string, ...values: Value[]): T[]
  run(sql: string, ...values: Value[]): number
}

/**
 * Takes a connection for one that answers at once, as SQLite does, and refuses another: writing a record takes so many
 * statements that a turn awaited for each would cost more than they do.
 */
export function atOnce(connection: Connection): Statements {
  if (connection.get('SELECT 1') instanceof Promise) throw new Error('this database answers later')
  return connection as Statements
}
