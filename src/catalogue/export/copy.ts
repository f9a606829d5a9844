import { createHash } from 'node:crypto'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { CopiedRow, CopiedTable } from '../dialect/dialect.js'
import { dialectOf } from '../dialect/dialects.js'
import { type StoredAccount, toCompanyTexts } from '../records/company-row.js'
import { type StoredJob, toJobTexts } from '../records/jobs.js'
import type { StoredPerson } from '../records/person.js'
import { toPersonTexts } from '../records/person-row.js'
import { findTooLong } from '../records/upsert.js'
import { endBulkLoad } from '../write/bulk-load.js'

/** The number of copied rows, or why nothing was copied. */
export type CopyResult =
  | { readonly rows: number }
  | { readonly tooLong: string }
  | 'not empty'
  | 'not the same'

/** Rows read at once. */
const portion = 1_000

/**
 * Copies a snapshot of a catalogue into an empty one of either dialect. The copy is atomic: it is read again and
 * compared before it is committed.
 */
export async function copyCatalogue(
  from: Driver,
  to: Driver,
  onProgress: (rows: number) => void = () => {},
): Promise<CopyResult> {
  return await from.read(async (source) => {
    try {
      const copied = await to.transaction((connection) => copyAll(source, connection, onProgress))
      await endBulkLoad(to)
      return copied
    } catch (error) {
      if (error instanceof CopyDiffers) return 'not the same'
      throw error
    }
  })
}

/** Rolls back a copy that differs from its source. */
class CopyDiffers extends Error {}

async function copyAll(
  source: Connection,
  connection: Connection,
  onProgress: (rows: number) => void,
): Promise<CopyResult> {
  for (const table of Object.keys(copiedTables))
    if (await connection.get(`SELECT 1 AS one FROM ${table} LIMIT 1`)) return 'not empty'
  for (const side of [source, connection]) await dialectOf(side).copy.waitLonger(side)
  const tooLong = await findTooLong(source, connection)
  if (tooLong !== undefined) return { tooLong }
  const target = dialectOf(connection).copy.createTarget(connection, copiedTables)
  await target.begin()
  let rows = 0
  const there = await digest(source, async (table, some) => {
    await target.add(table, some)
    rows += some.length
    onProgress(rows)
  })
  await target.end()
  const here = await digest(connection, async () => {})
  if (there !== here) throw new CopyDiffers('the copy is not the same')
  return { rows }
}

/** Reads all rows; returns their hash. */
async function digest(
  connection: Connection,
  each: (table: string, rows: readonly CopiedRow[]) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  for (const [name, table] of Object.entries(copiedTables)) {
    const columns = Object.keys(table.columns)
    for (let last: CopiedRow | undefined, more = true; more; ) {
      const rows = await readRows(connection, name, table, last)
      for (const row of rows) hash.update(`${JSON.stringify(columns.map((column) => row[column] ?? null))}\n`)
      if (rows.length > 0) await each(name, rows)
      last = rows.at(-1)
      more = rows.length === portion
    }
    hash.update(`${name}\n`)
  }
  return hash.digest('hex')
}

async function readRows(
  connection: Connection,
  name: string,
  { keys, columns }: CopiedTable,
  last: CopiedRow | undefined,
): Promise<CopiedRow[]> {
  const all = Object.keys(columns)
  const key = all.slice(0, keys)
  const behind = last ? ` WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')})` : ''
  const sql = `SELECT ${all.join(', ')} FROM ${name}${behind} ORDER BY ${key.join(', ')} LIMIT ${portion}`
  return await connection.all<CopiedRow>(
    sql,
    ...key.flatMap((column) => (last ? [last[column] ?? null] : [])),
  )
}

const whole = 'whole'
const number = 'number'
const text = 'text'

/** The tables of a catalogue, each after those it refers to. */
export const copiedTables: Readonly<Record<string, CopiedTable>> = {
  companies: {
    keys: 1,
    columns: {
      ...{ key: whole, domain: text, network_id: text, slug: text, name: text, country: text },
      ...{ industry: text, size: whole, headcount: whole, id: text, city: text, region: text },
      ...{ industry_name: text, company_type: text, revenue: number, revenue_currency: text, record: text },
    },
    textsOf: (record) => toCompanyTexts(JSON.parse(record) as StoredAccount),
  },
  technologies: { keys: 1, columns: { key: whole, slug: text, name: text, category: text } },
  company_technologies: {
    keys: 2,
    columns: { technology: whole, company: whole, confidence: number, mentions: whole },
  },
  headcount_history: {
    keys: 3,
    columns: { company: whole, department: text, date: text, headcount: whole },
  },
  headcount_growth: {
    keys: 2,
    columns: { company: whole, department: text, headcount: whole, growth: number },
  },
  people: {
    keys: 1,
    columns: {
      ...{ key: whole, company: whole, network_id: text, slug: text, email: text, personal_email: text },
      ...{ name: text, country: text, seniority: whole, function: whole, city: text, region: text },
      ...{ employer: text, first_name: text, last_name: text, years_of_experience: whole },
      ...{ position_since: whole, months_in_position: whole, months_in_company: whole, record: text },
    },
    textsOf: (record) => toPersonTexts(JSON.parse(record) as StoredPerson),
  },
  phones: { keys: 2, columns: { number: text, person: whole, messenger: whole } },
  jobs: {
    keys: 1,
    columns: {
      ...{ key: whole, company: whole, identity: text, posted_at: whole, country: text, region: text },
      ...{ city: text, statuses: text, record: text },
    },
    textsOf: (record) => toJobTexts(JSON.parse(record) as StoredJob),
  },
  posts: {
    keys: 1,
    columns: { key: whole, identity: text, author: text, published_at: whole, record: text },
  },
  engagers: { keys: 3, columns: { post: whole, profile: text, engagement: text, url: text } },
}
