import { type Connection, insertList, readNumber, type Value } from '../../storage/driver/connection.js'
import type { CompanyQuery, Reads, Transaction } from '../ports/ports.js'
import { listTable, personaTable } from './record-tables.js'

const companiesPerTurn = 1_000
const companyInsert = insertList(
  'list_companies',
  { list_id: 'TEXT', ordinal: 'BIGINT', company: 'TEXT' },
  '',
)
const companiesSql = `SELECT ordinal, company, account_id FROM list_companies
WHERE list_id = ? AND ordinal > ? ORDER BY ordinal LIMIT ? OFFSET ?`
const accountsSql =
  'SELECT DISTINCT account_id AS id FROM list_companies WHERE list_id = ? AND account_id IS NOT NULL'
const secretSql = 'SELECT secret FROM cursor_secrets WHERE workspace_id = ?'
const keepSecretSql =
  'INSERT INTO cursor_secrets (workspace_id, secret) VALUES (?, ?) ON CONFLICT (workspace_id) DO NOTHING'

interface ListedCompanyRow {
  readonly ordinal: number
  readonly company: string
  readonly account_id: string | null
}

/** Returns the reads of personas, company lists and cursor secrets. */
export function savedReads(connection: Connection) {
  return {
    persona: (workspaceId, id) =>
      personaTable.get(connection, 'WHERE workspace_id = ? AND id = ?', workspaceId, id),
    personas: (workspaceId, slice) => personaTable.slice(connection, slice, 'workspace_id = ?', workspaceId),
    countPersonas: (workspaceId) =>
      readNumber(connection, 'SELECT count(*) AS total FROM personas WHERE workspace_id = ?', workspaceId),
    list: (workspaceId, id) =>
      listTable.get(connection, 'WHERE workspace_id = ? AND id = ?', workspaceId, id),
    listByNumber: (workspaceId, networkListId) =>
      listTable.get(connection, 'WHERE workspace_id = ? AND network_list_id = ?', workspaceId, networkListId),
    lists: (workspaceId, slice) => listTable.slice(connection, slice, 'workspace_id = ?', workspaceId),
    countLists: (workspaceId) =>
      readNumber(connection, 'SELECT count(*) AS total FROM lists WHERE workspace_id = ?', workspaceId),
    listed: async (listId, after, limit, skip = 0) => {
      const rows = await connection.all<ListedCompanyRow>(companiesSql, listId, after, limit, skip)
      return rows.map(({ ordinal, company, account_id: accountId }) => {
        return { ordinal, company: JSON.parse(company) as CompanyQuery, accountId }
      })
    },
    countListed: (listId) =>
      readNumber(connection, 'SELECT count(*) AS total FROM list_companies WHERE list_id = ?', listId),
    listedAccounts: async (listId) =>
      (await connection.all<{ id: string }>(accountsSql, listId)).map(({ id }) => id),
    cursorSecret: async (workspaceId) =>
      (await connection.get<{ secret: string }>(secretSql, workspaceId))?.secret,
  } satisfies Partial<Reads>
}

/** Returns the changes of personas, company lists and cursor secrets. */
export function savedWrites(connection: Connection) {
  return {
    addPersona: (persona) => personaTable.add(connection, persona),
    dropPersona: async (workspaceId, id) =>
      (await connection.run('DELETE FROM personas WHERE workspace_id = ? AND id = ?', workspaceId, id)) > 0,
    addList: async (list) => {
      await listTable.add(connection, list)
      let ordinal = 0
      let rows: Value[][] = []
      for (const company of list.companies) {
        rows.push([list.id, ++ordinal, JSON.stringify(company)])
        if (rows.length < companiesPerTurn) continue
        await connection.dialect.insertRows(connection, companyInsert, rows)
        rows = []
        // Else a hundred thousand companies would keep every other request waiting.
        await new Promise(setImmediate)
      }
      await connection.dialect.insertRows(connection, companyInsert, rows)
    },
    changeList: async (id, change) => {
      const update = listTable.update(change, 'id = ?', id)
      if (update) await connection.run(...update)
    },
    setListed: async (listId, ordinal, accountId) => {
      const sql = 'UPDATE list_companies SET account_id = ? WHERE list_id = ? AND ordinal = ?'
      await connection.run(sql, accountId, listId, ordinal)
    },
    keepCursorSecret: async (workspaceId, secret) => {
      await connection.run(keepSecretSql, workspaceId, secret)
      return (await connection.get<{ secret: string }>(secretSql, workspaceId))?.secret ?? secret
    },
  } satisfies Partial<Transaction>
}
