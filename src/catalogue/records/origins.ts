import type { Connection } from '../../storage/driver/connection.js'
import type { RecordKind } from '../kinds/kind.js'

/** Where records came from: `data sample`, or anything else. */
export type Origin = 'sample' | 'own'

export type Origins = NonNullable<Awaited<ReturnType<typeof readOrigins>>>

interface ImportedRecords {
  readonly added: number
  readonly updated: number
  /** Companies created because other records named them. */
  readonly companies: number
}

const addSql = `INSERT INTO origins (origin, companies, has_people, imported_at) VALUES (?, ?, ?, ?)
ON CONFLICT (origin) DO UPDATE SET companies = origins.companies + excluded.companies,
has_people = CASE WHEN excluded.has_people = 1 THEN 1 ELSE origins.has_people END, imported_at = excluded.imported_at`

/** Counts imported records of an origin, in their transaction. Records that were only updated keep theirs. */
export async function countOrigins(
  origin: Origin,
  connection: Connection,
  kind: RecordKind,
  { added, updated, companies: named }: ImportedRecords,
  now: number,
): Promise<void> {
  const companies = named + (kind === 'companies' ? added : 0)
  const hasPeople = kind === 'people' && added > 0
  if (companies > 0 || hasPeople) await connection.run(addSql, origin, companies, hasPeople ? 1 : 0, now)
  else if (added + updated > 0) {
    const update = 'UPDATE origins SET imported_at = ?'
    const changed = await connection.run(`${update} WHERE origin = ?`, now, origin)
    // An import that only changes the sample has no row of its own.
    if (changed === 0) await connection.run(update, now)
  }
}

/** Reads what a catalogue holds, without counting it; `undefined` where it has no company and no person. */
export async function readOrigins(connection: Connection) {
  const rows = await connection.all<{
    origin: Origin
    companies: number
    has_people: number
    imported_at: number | null
  }>('SELECT origin, companies, has_people, imported_at FROM origins')
  const [sample, own] = (['sample', 'own'] as const).map((name) => rows.find(({ origin }) => origin === name))
  if (!sample && !own) return undefined
  const times = rows.flatMap(({ imported_at }) => (imported_at === null ? [] : [imported_at]))
  return {
    sampleCompanies: sample?.companies ?? 0,
    ownCompanies: own?.companies ?? 0,
    hasOwnPeople: own?.has_people === 1,
    /** Time of the last import of own records; null where there are none, or that time is not known. */
    importedAt: own?.imported_at ?? null,
    /** Time of the last import of any records; null where it is not known. */
    changedAt: times.length === 0 ? null : Math.max(...times),
  }
}

const firstSampleId = '00000000-0000-4000-8000-000000000001'

/** Finds out where uncounted records came from: a sample has a known first company, and domains that are reserved. */
export async function recognizeOrigins(connection: Connection): Promise<void> {
  const has = async (sql: string, ...values: string[]) => (await connection.get(sql, ...values)) !== undefined
  const counts = await connection.get<{ all: number; reserved: number }>(
    `SELECT count(*) AS "all", count(CASE WHEN domain LIKE '%.example' THEN 1 END) AS reserved FROM companies`,
  )
  const hasSample = await has('SELECT 1 AS one FROM companies WHERE id = ? LIMIT 1', firstSampleId)
  const sample = hasSample ? (counts?.reserved ?? 0) : 0
  const own = (counts?.all ?? 0) - sample
  const people = 'SELECT 1 AS one FROM people LEFT JOIN companies ON companies.key = people.company'
  const others = hasSample ? "WHERE companies.domain IS NULL OR companies.domain NOT LIKE '%.example'" : ''
  const hasOwnPeople = await has(`${people} ${others} LIMIT 1`)
  const insert = 'INSERT INTO origins (origin, companies, has_people, imported_at) VALUES (?, ?, ?, ?)'
  if (hasSample) await connection.run(insert, 'sample', sample, 1, null)
  if (own > 0 || hasOwnPeople) await connection.run(insert, 'own', own, hasOwnPeople ? 1 : 0, null)
}
