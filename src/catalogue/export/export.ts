import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { RawRecord, RecordKind, StoredRecord } from '../kinds/kind.js'
import type { StoredAccount } from '../records/company-row.js'

/** Rows read at once. */
const portion = 500

/** Yields all records of a kind in the format of an import, oldest first, in portions that are snapshots. */
export async function* exportRecords(driver: Driver, kind: RecordKind): AsyncGenerator<RawRecord> {
  for (let last: number | undefined = 0; last !== undefined; ) {
    const after: number = last
    const { records, end } = await driver.read(async (connection) => {
      const sql = `${tables[kind]} WHERE o.key > ? ORDER BY o.key LIMIT ?`
      const rows = await connection.all<StoredRecord>(sql, after, portion)
      const records: RawRecord[] = []
      for (const row of rows) records.push(await completers[kind](connection, row))
      return { records, end: rows.at(-1)?.key }
    })
    yield* records
    last = end
  }
}

const employer = 'c.domain AS company_domain, c.network_id AS company_network_id, c.record AS company'
const tables: Readonly<Record<RecordKind, string>> = {
  companies: 'SELECT o.key, o.record FROM companies o',
  people: `SELECT o.key, o.record, ${employer} FROM people o LEFT JOIN companies c ON c.key = o.company`,
  jobs: `SELECT o.key, o.record, ${employer} FROM jobs o JOIN companies c ON c.key = o.company`,
  posts: 'SELECT o.key, o.record FROM posts o',
}

/** The columns that identify a record which is asked for. */
const ids = { companies: 'id', people: 'network_id' } as const

/**
 * Returns a company by the id that searches return, or a person by that on the network, in the format of an import;
 * `undefined` when there is none.
 */
export async function readRecord(
  connection: Connection,
  kind: keyof typeof ids,
  id: string,
): Promise<RawRecord | undefined> {
  const sql = `${tables[kind]} WHERE o.${ids[kind]} = ? ORDER BY o.key LIMIT 1`
  const row = await connection.get<StoredRecord>(sql, id)
  return row && (await completers[kind](connection, row))
}

const completers: Readonly<
  Record<RecordKind, (connection: Connection, row: StoredRecord) => RawRecord | Promise<RawRecord>>
> = {
  companies: completeCompany,
  people: (_, row) => ({ ...readEmployer(row), ...(JSON.parse(row.record) as RawRecord) }),
  jobs: (_, row) => ({ ...readEmployer(row), ...(JSON.parse(row.record) as RawRecord) }),
  posts: completePost,
}

/** Returns the fields that name the employer: the domain, or the profile when the company has no domain. */
function readEmployer(row: StoredRecord): RawRecord {
  const { company_domain, company } = row as StoredRecord & {
    company_domain: string | null
    company: string | null
  }
  if (company_domain !== null) return { company_domain }
  if (company === null) return {}
  const { network_url, network_id } = JSON.parse(company) as StoredAccount
  return network_url ? { company_network_url: network_url } : { company_network_id: network_id }
}

async function completeCompany(connection: Connection, { key, record }: StoredRecord): Promise<RawRecord> {
  const company = JSON.parse(record) as StoredAccount
  const history = await connection.all(
    'SELECT date, department, headcount FROM headcount_history WHERE company = ? ORDER BY department, date',
    key,
  )
  const details: unknown[] = []
  for (const slug of company.technologies ?? []) details.push(await readTechnology(connection, key, slug))
  return {
    ...company,
    ...(details.length === 0 ? {} : { technology_details: details }),
    ...(history.length === 0 ? {} : { headcount_history: history }),
  }
}

const readTechnology = (connection: Connection, company: number, slug: string) =>
  connection.get(
    `SELECT t.slug, t.name, t.category, u.confidence, u.mentions AS job_mentions FROM technologies t
      JOIN company_technologies u ON u.technology = t.key WHERE t.slug = ? AND u.company = ?`,
    slug,
    company,
  )

async function completePost(connection: Connection, { key, record }: StoredRecord): Promise<RawRecord> {
  const engagers = await connection.all(
    'SELECT url AS network_profile_url, engagement FROM engagers WHERE post = ? ORDER BY profile, engagement',
    key,
  )
  return { ...(JSON.parse(record) as RawRecord), ...(engagers.length === 0 ? {} : { engagers }) }
}
