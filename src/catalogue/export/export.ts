import type { Awaitable, Fields } from '../../api/values/objects.js'
import type { Connection, Driver, MovedTable } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import type { TextTable } from '../full-text/keyword.js'
import type { RecordKind, StoredRecord } from '../kinds/kind.js'
import { type StoredJob, toJobTexts } from '../records/jobs.js'
import { completeAccount, type StoredAccount, toCompanyTexts } from '../records/match-company.js'
import { type StoredPerson, toPersonTexts } from '../records/person.js'
import { describeSources } from '../records/sources.js'
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
  companies: { sql: 'SELECT o.key, o.record, o.source FROM companies o', complete: completeCompany },
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

async function completeCompany(connection: Connection, row: StoredRecord): Promise<Fields> {
  const { key, record, source } = row as StoredRecord & { readonly source: number | null }
  const company = completeAccount(JSON.parse(record) as StoredAccount)
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
    ...(await describeSources(connection, { key, source })),
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

const textsOf: Readonly<Record<TextTable, (record: string) => string[]>> = {
  companies: (record) => toCompanyTexts(JSON.parse(record) as StoredAccount),
  people: (record) => toPersonTexts(JSON.parse(record) as StoredPerson),
  jobs: (record) => toJobTexts(JSON.parse(record) as StoredJob),
}

/** Returns the tables of a catalogue as they move to another database, which finds their words by its own means. */
export const movedTables = (): MovedTable[] =>
  catalogueTables().map((table) => {
    if (!Object.hasOwn(textsOf, table.name)) return table
    const name = table.name as TextTable
    return { ...table, makes: (dialect) => dialectOf({ dialect }).moved(name, textsOf[name]) }
  })
