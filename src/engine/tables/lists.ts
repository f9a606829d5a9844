import type { CompanyQuery } from '../../api/ports/ports.js'
import { nextTurn } from '../../api/values/objects.js'
import {
  type Connection,
  insertList as insertRows,
  readNumber,
  type Value,
} from '../../storage/driver/connection.js'
import { column, type RecordOf, RecordTable } from './record-table.js'

/** A list of companies; its import is the job with its id. Times are engine time. */
export const listTable = new RecordTable('lists', {
  id: column.text,
  workspace_id: column.text,
  name: column.text,
  network_list_id: column.number,
  status: column.word<'pending' | 'completed' | 'failed'>(),
  created_at: column.number,
  updated_at: column.number,
})
export type CompanyList = RecordOf<typeof listTable>

/** A list with its first companies as they were given. */
export interface NewList extends CompanyList {
  readonly companies: Iterable<CompanyQuery>
}

/** A company of a list as given, and the account it was matched to. */
export interface ListedCompany {
  readonly ordinal: number
  readonly company: CompanyQuery
  /** `Account.id`; null while unknown. */
  readonly account_id: string | null
}

const companiesPerTurn = 1_000
const companyInsert = insertRows(
  'list_companies',
  { list_id: 'TEXT', ordinal: 'BIGINT', company: 'TEXT' },
  '',
)
const companiesSql = `SELECT ordinal, company, account_id FROM list_companies
WHERE list_id = ? AND ordinal > ? ORDER BY ordinal LIMIT ? OFFSET ?`
const accountsSql =
  'SELECT DISTINCT account_id AS id FROM list_companies WHERE list_id = ? AND account_id IS NOT NULL'

export const findList = (tx: Connection, workspaceId: string, id: string) =>
  listTable.get(tx, 'WHERE workspace_id = ? AND id = ?', workspaceId, id)

export const findListByNumber = (tx: Connection, workspaceId: string, networkListId: number) =>
  listTable.get(tx, 'WHERE workspace_id = ? AND network_list_id = ?', workspaceId, networkListId)

export async function insertList(tx: Connection, list: NewList): Promise<void> {
  await listTable.insert(tx, list)
  let ordinal = 0
  let rows: Value[][] = []
  for (const company of list.companies) {
    rows.push([list.id, ++ordinal, JSON.stringify(company)])
    if (rows.length < companiesPerTurn) continue
    await tx.dialect.writeRows(tx, companyInsert, rows)
    rows = []
    // Else a hundred thousand companies would keep every other request waiting.
    await nextTurn()
  }
  await tx.dialect.writeRows(tx, companyInsert, rows)
}

export const updateList = (tx: Connection, id: string, change: Partial<CompanyList>) =>
  listTable.update(tx, change, 'id = ?', id)

/** Returns the companies of a list after an ordinal, without the first `skip`, at most `limit`. */
export async function listCompanies(tx: Connection, listId: string, after: number, limit: number, skip = 0) {
  type StoredCompany = Omit<ListedCompany, 'company'> & { readonly company: string }
  const rows = await tx.all<StoredCompany>(companiesSql, listId, after, limit, skip)
  return rows.map((row) => ({ ...row, company: JSON.parse(row.company) as CompanyQuery }))
}

export const countCompanies = (tx: Connection, listId: string): Promise<number> =>
  readNumber(tx, 'SELECT count(*) AS total FROM list_companies WHERE list_id = ?', listId)

export const listMatchedAccounts = async (tx: Connection, listId: string): Promise<readonly string[]> =>
  (await tx.all<{ id: string }>(accountsSql, listId)).map(({ id }) => id)

/** Stores the account that a company of a list was matched to. */
export async function setMatchedAccount(
  tx: Connection,
  listId: string,
  ordinal: number,
  accountId: string | null,
) {
  const sql = 'UPDATE list_companies SET account_id = ? WHERE list_id = ? AND ordinal = ?'
  await tx.run(sql, accountId, listId, ordinal)
}
