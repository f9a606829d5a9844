import { createHash } from 'node:crypto'
import { isRefusal, Refusal } from '../../api/calls/errors.js'
import type { Awaitable, Fields } from '../../api/values/objects.js'
import {
  type Connection,
  type Driver,
  readPortions,
  type StoredRow,
} from '../../storage/driver/connection.js'
import type { CopiedTable } from '../dialect/dialect.js'
import { dialectOf } from '../dialect/dialects.js'
import type { RecordKind, StoredRecord } from '../kinds/kind.js'
import { type StoredJob, toJobTexts } from '../records/jobs.js'
import { type StoredAccount, toCompanyTexts } from '../records/match-company.js'
import { type StoredPerson, toPersonTexts } from '../records/person.js'
import { catalogueTables } from '../schema/schema.js'

/** Rows read at once. */
const portion = 500

/** Yields all records of a kind in the format of an import, oldest first, in portions that are snapshots. */
export async function* exportRecords(driver: Driver, kind: RecordKind): AsyncGenerator<Fields> {
  for (let last: number | undefined = 0; last !== undefined; ) {
    const after: number = last
    const { records, end } = await driver.read(async (connection) => {
      const { sql, complete } = exported[kind]
      const portions = `${sql} WHERE o.key > ? ORDER BY o.key LIMIT ?`
      const rows = await connection.all<StoredRecord>(portions, after, portion)
      const records: Fields[] = []
      for (const row of rows) records.push(await complete(connection, row))
      return { records, end: rows.at(-1)?.key }
    })
    yield* records
    last = end
  }
}

interface Exported {
  readonly sql: string
  complete(connection: Connection, row: StoredRecord): Awaitable<Fields>
}

const employed = 'SELECT o.key, o.record, c.domain AS company_domain, c.record AS company'
const exported: Readonly<Record<RecordKind, Exported>> = {
  companies: { sql: 'SELECT o.key, o.record FROM companies o', complete: completeCompany },
  people: {
    sql: `${employed} FROM people o LEFT JOIN companies c ON c.key = o.company`,
    complete: completeEmployed,
  },
  jobs: { sql: `${employed} FROM jobs o JOIN companies c ON c.key = o.company`, complete: completeEmployed },
  posts: { sql: 'SELECT o.key, o.record FROM posts o', complete: completePost },
}

const ids = { companies: 'id', people: 'network_id' } as const

/** Returns a company or a person by the id that searches return, in the format of an import; `undefined` without one. */
export async function readRecord(connection: Connection, kind: keyof typeof ids, id: string) {
  const { sql, complete } = exported[kind]
  const row = await connection.get<StoredRecord>(`${sql} WHERE o.${ids[kind]} = ? ORDER BY o.key LIMIT 1`, id)
  return row && (await complete(connection, row))
}

/** Returns the records with some keys, in the format of an import. */
export async function readRecordsAt(
  connection: Connection,
  kind: RecordKind,
  keys: readonly number[],
): Promise<ReadonlyMap<number, Fields>> {
  const { sql, complete } = exported[kind]
  const where = 'WHERE o.key IN (SELECT atom FROM json_each(?))'
  const rows =
    keys.length === 0 ? [] : await connection.all<StoredRecord>(`${sql} ${where}`, JSON.stringify(keys))
  const found = new Map<number, Fields>()
  for (const row of rows) found.set(row.key, await complete(connection, row))
  return found
}

function completeEmployed(_: Connection, row: StoredRecord): Fields {
  return { ...readEmployer(row), ...(JSON.parse(row.record) as Fields) }
}

/** Returns the fields that name the employer: the domain, or the profile when the company has no domain. */
function readEmployer(row: StoredRecord): Fields {
  const { company_domain, company } = row as StoredRecord & {
    company_domain: string | null
    company: string | null
  }
  if (company_domain !== null) return { company_domain }
  if (company === null) return {}
  const { network_url, network_id } = JSON.parse(company) as StoredAccount
  return network_url ? { company_network_url: network_url } : { company_network_id: network_id }
}

async function completeCompany(connection: Connection, { key, record }: StoredRecord): Promise<Fields> {
  const company = JSON.parse(record) as StoredAccount
  const history = await connection.all(
    'SELECT date, department, headcount FROM headcount_history WHERE company = ? ORDER BY department, date',
    key,
  )
  const details: unknown[] = []
  for (const slug of company.technologies ?? []) details.push(await connection.get(technologyUse, slug, key))
  return {
    ...company,
    ...(details.length === 0 ? {} : { technology_details: details }),
    ...(history.length === 0 ? {} : { headcount_history: history }),
  }
}

const technologyUse = `SELECT t.slug, t.name, t.category, u.confidence, u.mentions AS job_mentions
  FROM technologies t JOIN company_technologies u ON u.technology = t.key WHERE t.slug = ? AND u.company = ?`

async function completePost(connection: Connection, { key, record }: StoredRecord): Promise<Fields> {
  const engagers = await connection.all(
    'SELECT url AS network_profile_url, engagement FROM engagers WHERE post = ? ORDER BY profile, engagement',
    key,
  )
  return { ...(JSON.parse(record) as Fields), ...(engagers.length === 0 ? {} : { engagers }) }
}

/** The number of copied rows, or why nothing was copied. */
export type CopyResult = { readonly rows: number } | 'not empty' | 'not the same'

/** Rows read at once. */
const copyPortion = 1_000

/** Copies a snapshot of a catalogue into an empty one. The copy is read again and compared before it is committed. */
export async function copyCatalogue(
  from: Driver,
  to: Driver,
  onProgress: (rows: number) => void = () => {},
): Promise<CopyResult> {
  return await from.read(async (source) => {
    try {
      const copied = await to.transaction((connection) => copyAll(source, connection, onProgress))
      return copied
    } catch (error) {
      if (isRefusal(error, 'database.copy_differs')) return 'not the same'
      throw error
    }
  })
}

async function copyAll(source: Connection, connection: Connection, onProgress: (rows: number) => void) {
  const tables = copiedTables()
  for (const { name } of tables)
    if (await connection.get(`SELECT 1 AS one FROM ${name} LIMIT 1`)) return 'not empty'
  for (const side of [source, connection]) await dialectOf(side).copy.waitLonger(side)
  const target = dialectOf(connection).copy.createTarget(connection, tables)
  await target.begin?.()
  let rows = 0
  const there = await digest(source, tables, async (table, some) => {
    await target.add(table, some)
    rows += some.length
    onProgress(rows)
  })
  await target.end()
  const here = await digest(connection, tables, async () => {})
  // Which undoes the copy.
  if (there !== here) throw new Refusal('database.copy_differs')
  return { rows }
}

/** Reads all rows; returns their hash. */
async function digest(
  connection: Connection,
  tables: readonly CopiedTable[],
  each: (table: CopiedTable, rows: readonly StoredRow[]) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  for (const table of tables) {
    const { name, key, columns } = table
    const all = { table: name, key, columns: columns.join(', '), limit: copyPortion }
    for await (const rows of readPortions(connection, all)) {
      for (const row of rows) hash.update(`${JSON.stringify(columns.map((column) => row[column] ?? null))}\n`)
      if (rows.length > 0) await each(table, rows)
    }
    hash.update(`${name}\n`)
  }
  return hash.digest('hex')
}

const textsOf: Readonly<Record<string, CopiedTable['textsOf']>> = {
  companies: (record) => toCompanyTexts(JSON.parse(record) as StoredAccount),
  people: (record) => toPersonTexts(JSON.parse(record) as StoredPerson),
  jobs: (record) => toJobTexts(JSON.parse(record) as StoredJob),
}

export const copiedTables = (): CopiedTable[] =>
  catalogueTables().map((table) => ({ ...table, textsOf: textsOf[table.name] }))
