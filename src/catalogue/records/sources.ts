import type { Fields } from '../../api/values/objects.js'
import type { Connection, Value } from '../../storage/driver/connection.js'
import { insertList, send } from '../../storage/driver/connection.js'
import type { OpenSet } from '../open-data/sets.js'

/** Open data that companies were imported from. */
export interface StoredSource {
  readonly name: string
  readonly title: string
  /** The day of the snapshot. */
  readonly snapshot: string
  readonly licence: string
  readonly companies: number
  readonly imported_at: number
}

const noteSql = `INSERT INTO sources (name, snapshot, title, licence, companies, imported_at) VALUES (?, ?, ?, ?, 0, ?)
  ON CONFLICT (name, snapshot) DO UPDATE SET imported_at = excluded.imported_at`

/** Notes that a snapshot of a set is imported. Returns the key of its row. */
export async function noteSource(
  connection: Connection,
  { name, title, licence }: OpenSet,
  snapshot: string,
  now: number,
): Promise<number> {
  await connection.run(noteSql, name, snapshot, title, licence, now)
  const row = await connection.get<{ key: number }>(
    'SELECT key FROM sources WHERE name = ? AND snapshot = ?',
    name,
    snapshot,
  )
  if (!row) throw new Error('A source was not noted')
  return row.key
}

const columns = 'key, name, title, snapshot, licence, companies, imported_at'

/** Returns the open data that the catalogue has companies of, the oldest import first. */
export const readSources = async (
  connection: Connection,
): Promise<(StoredSource & { readonly key: number })[]> =>
  await connection.all(`SELECT ${columns} FROM sources WHERE companies > 0 ORDER BY key`)

/** Returns which snapshots of which sets there are, by their keys. */
export async function readSnapshots(connection: Connection): Promise<Map<number, Snapshot>> {
  const rows = await connection.all<Snapshot & { key: number }>('SELECT key, name, snapshot FROM sources')
  return new Map(rows.map(({ key, ...snapshot }) => [key, snapshot]))
}

export type Snapshot = Pick<StoredSource, 'name' | 'snapshot'>

/** What a source says of a company, in the format of an import; null stands for own data. */
export type Statement = readonly [source: number | null, said: Fields]

/** Returns what several say as one record: own data counts first, then each source before those that came later. */
export const joinStatements = (statements: readonly Statement[]): Fields =>
  Object.assign(
    {},
    ...statements
      .filter(([source]) => source !== null)
      .map(([, said]) => said)
      .reverse(),
    ...statements.filter(([source]) => source === null).map(([, said]) => said),
  ) as Fields

/** Returns what several say of some companies, by their keys. */
export async function readStatements(
  connection: Connection,
  keys: readonly number[],
): Promise<Map<number, readonly Statement[]>> {
  if (keys.length === 0) return new Map()
  const sql = 'SELECT company, said FROM company_statements WHERE company IN (SELECT atom FROM json_each(?))'
  const rows = await connection.all<{ company: number; said: string }>(sql, JSON.stringify(keys))
  return new Map(rows.map(({ company, said }) => [company, JSON.parse(said) as Statement[]]))
}

const keepSql = insertList(
  'company_statements',
  { company: 'BIGINT', said: 'TEXT' },
  'ON CONFLICT (company) DO UPDATE SET said = excluded.said',
)

export async function writeStatements(
  connection: Connection,
  statements: ReadonlyMap<number, readonly Statement[]>,
): Promise<void> {
  if (statements.size === 0) return
  const rows: Value[][] = [...statements].map(([company, said]) => [company, JSON.stringify(said)])
  await connection.dialect.writeRows(connection, keepSql, rows)
}

/** Counts companies that sources say something about from now on, or no more. */
export function countSources(connection: Connection, changes: ReadonlyMap<number, number>): void {
  for (const [key, change] of changes)
    if (change !== 0)
      send(connection, 'UPDATE sources SET companies = companies + ? WHERE key = ?', change, key)
}

/** Who said what is known of a company: its sources by name, the day of the oldest snapshot, and their licences. */
export async function describeSources(
  connection: Connection,
  { key, source }: { readonly key: number; readonly source: number | null },
) {
  if (source === null) return undefined
  const said = (await readStatements(connection, [key])).get(key) ?? []
  const keys = new Set([source, ...said.flatMap(([from]) => from ?? [])])
  const rows = await connection.all<StoredSource>(
    `SELECT ${columns} FROM sources WHERE key IN (SELECT atom FROM json_each(?)) ORDER BY key`,
    JSON.stringify([...keys]),
  )
  const listed = (texts: readonly string[]) => [...new Set(texts)].join('; ')
  const isOwnToo = said.some(([from]) => from === null)
  return {
    _source_name: listed([...rows.map(({ title }) => title), ...(isOwnToo ? ['own data'] : [])]),
    _source_date: rows.map(({ snapshot }) => snapshot).sort()[0] ?? '',
    _source_licence: listed(rows.map(({ licence }) => licence)),
  }
}
