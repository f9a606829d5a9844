import { type Connection, readNumber } from '../../storage/driver/connection.js'
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
  // Whoever engaged with a post is found by it, too.
  const hasPeople = (kind === 'people' || kind === 'posts') && added > 0
  if (companies > 0 || hasPeople) await connection.run(addSql, origin, companies, hasPeople ? 1 : 0, now)
  else if (added + updated > 0) {
    const update = 'UPDATE origins SET imported_at = ?'
    const changed = await connection.run(`${update} WHERE origin = ?`, now, origin)
    // An import that only changes the sample has no row of its own.
    if (changed === 0) await connection.run(update, now)
  }
}

/** Counts what is left without the sample; the time is kept, because answers from it are out of date. */
export async function countRemoval(connection: Connection, now: number): Promise<void> {
  const companies = await readNumber(connection, 'SELECT count(*) FROM companies')
  const people = await connection.get('SELECT 1 AS one FROM people LIMIT 1')
  const [sample] = await connection.all<{ imported_at: number | null }>(
    `SELECT imported_at FROM origins WHERE origin = 'sample'`,
  )
  const own: Origin = 'own'
  if (companies > 0 || people)
    await connection.run(
      `INSERT INTO origins (origin, companies, has_people, imported_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (origin) DO UPDATE SET companies = excluded.companies, has_people = excluded.has_people`,
      own,
      companies,
      people ? 1 : 0,
      sample?.imported_at ?? now,
    )
  await connection.run(
    `INSERT INTO origins (origin, companies, has_people, imported_at) VALUES ('sample', 0, 0, ?)
      ON CONFLICT (origin) DO UPDATE SET companies = 0, has_people = 0, imported_at = excluded.imported_at`,
    now,
  )
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
