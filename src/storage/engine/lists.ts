import type {
  CompanyList,
  CompanyQuery,
  JobReads,
  JobWrites,
  ListedCompany,
} from '../../engine/ports/ports.js'
import type { Connection } from '../driver/connection.js'
import { fromRow, insertOf, listColumns, newestFirst, type Row, selectList } from './row-mapping.js'

const columns = selectList(listColumns)
const insert = insertOf('lists', listColumns)
const listOf = (row: Row): CompanyList => fromRow<CompanyList>(listColumns, row)
const addCompanySql = 'INSERT INTO list_companies (list_id, ordinal, company) VALUES (?, ?, ?)'

interface ListedRow {
  readonly ordinal: number
  readonly company: string
  readonly account_id: string | null
}

/** Questions about lists and the companies in them. */
export function listReads(connection: Connection) {
  return {
    list: async (workspaceId, id) => {
      const sql = `SELECT ${columns} FROM lists WHERE workspace_id = ? AND id = ?`
      const row = await connection.get<Row>(sql, workspaceId, id)
      return row && listOf(row)
    },
    listByNumber: async (workspaceId, networkListId) => {
      const sql = `SELECT ${columns} FROM lists WHERE workspace_id = ? AND network_list_id = ?`
      const row = await connection.get<Row>(sql, workspaceId, networkListId)
      return row && listOf(row)
    },
    lists: async (workspaceId, slice) => {
      const { sql, values } = newestFirst(`SELECT ${columns} FROM lists WHERE workspace_id = ?`, slice)
      return (await connection.all<Row>(sql, workspaceId, ...values)).map(listOf)
    },
    countLists: async (workspaceId) => {
      const sql = 'SELECT count(*) AS total FROM lists WHERE workspace_id = ?'
      return Number((await connection.get<{ total: number }>(sql, workspaceId))?.total ?? 0)
    },
    listed: async (listId, after, limit) => {
      const sql = `SELECT ordinal, company, account_id FROM list_companies
        WHERE list_id = ? AND ordinal > ? ORDER BY ordinal LIMIT ?`
      return (await connection.all<ListedRow>(sql, listId, after, limit)).map(listedOf)
    },
    listedAccounts: async (listId) => {
      const sql =
        'SELECT DISTINCT account_id AS id FROM list_companies WHERE list_id = ? AND account_id IS NOT NULL'
      return (await connection.all<{ id: string }>(sql, listId)).map(({ id }) => id)
    },
  } satisfies Partial<JobReads>
}

const listedOf = ({ ordinal, company, account_id }: ListedRow): ListedCompany => ({
  ordinal,
  company: JSON.parse(company) as CompanyQuery,
  accountId: account_id,
})

/** Changes to lists. */
export function listWrites(connection: Connection) {
  return {
    addList: async (list) => {
      await connection.run(insert.sql, ...insert.values(list))
      for (const [at, company] of list.companies.entries())
        await connection.run(addCompanySql, list.id, at + 1, JSON.stringify(company))
    },
    changeList: async (id, { status, updatedAt }) => {
      await connection.run('UPDATE lists SET status = ?, updated_at = ? WHERE id = ?', status, updatedAt, id)
    },
    setListed: async (listId, ordinal, accountId) => {
      const sql = 'UPDATE list_companies SET account_id = ? WHERE list_id = ? AND ordinal = ?'
      await connection.run(sql, accountId, listId, ordinal)
    },
  } satisfies Partial<JobWrites>
}
