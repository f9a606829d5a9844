import type { Driver } from '../../storage/driver/connection.js'

/** Has PostgreSQL note anew what is in tables: it plans searches by that, and keeps values of rows there. */
export const lookAgain = (driver: Driver, tables: readonly string[]): Promise<void> =>
  driver.transaction(async (connection) => {
    await connection.exec(`SET LOCAL statement_timeout = 0; ANALYZE ${tables.join(', ')}`)
  })
