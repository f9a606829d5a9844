import type { Connection } from '../../storage/driver/connection.js'
import type { Condition } from './sql-conditions.js'

/** How many records there are: so few that each is sooner looked up in the texts than all words are gathered, or many. */
export type Size = 'few' | 'many'

const mostOfFew = 500

/** Whether few or many records of a table fulfil a condition that an index answers. */
export async function fewOrMany(
  connection: Connection,
  table: 'people' | 'jobs',
  [where, ...values]: Condition,
): Promise<Size> {
  const sql = `SELECT count(*) AS total FROM (SELECT key FROM ${table} WHERE ${where} LIMIT ?) AS first_few`
  const row = await connection.get<{ total: number }>(sql, ...values, mostOfFew + 1)
  return (row?.total ?? 0) <= mostOfFew ? 'few' : 'many'
}
