import { type Driver, readNumber } from '../storage/driver/connection.js'

/**
 * Deletes pushes that ended before a moment, with what is needed to undo them, and what was read of accounts that were not read
 * since. Returns how many pushes and records.
 */
export async function purgeCrm(database: Driver, before: number) {
  return database.transaction(async (connection) => {
    const old = "state IN ('finished', 'undone') AND ended_at < ?"
    const pushes = await readNumber(connection, `SELECT count(*) FROM crm_pushes WHERE ${old}`, before)
    await connection.run(
      `DELETE FROM crm_writes WHERE push IN (SELECT number FROM crm_pushes WHERE ${old})`,
      before,
    )
    await connection.run(`DELETE FROM crm_pushes WHERE ${old}`, before)
    const stale = `EXISTS (SELECT 1 FROM crm_pulls p WHERE p.crm = crm_records.crm AND p.kind = crm_records.kind
      AND p.until < ? AND p.began_at IS NULL)`
    const records = await connection.run(`DELETE FROM crm_records WHERE ${stale}`, before)
    await connection.run('DELETE FROM crm_pulls WHERE until < ? AND began_at IS NULL', before)
    return { pushes, crm_records: records }
  })
}
