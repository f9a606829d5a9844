import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { foldText } from '../normalize/name.js'
import { InvalidRecordError, shorten } from '../normalize/readers.js'

// PostgreSQL refuses an index entry that is too long, and rolls back the transaction. So such texts are rejected first.

type Database = Pick<Connection, 'dialect'>

const maxBytesOf = (database: Database): number | undefined => dialectOf(database).load.maxIndexedBytes

/** Throws when one of some texts would not fit into an index; `message` says which. */
function checkLength(database: Database, texts: () => readonly string[], message: () => string): void {
  const maxBytes = maxBytesOf(database)
  if (maxBytes !== undefined && texts().some((text) => Buffer.byteLength(text) > maxBytes))
    throw new InvalidRecordError(message())
}

const indexedFacts = [
  'domain',
  'id',
  'country',
  'region',
  'city',
  'industry',
  'industry_name',
  'company_type',
  'revenue_currency',
] as const

/** Throws when a company's row would not fit into an index. */
export const checkCompany = (
  database: Database,
  row: Readonly<Record<(typeof indexedFacts)[number], string | null>>,
): void =>
  checkLength(
    database,
    () => [indexedFacts.map((column) => row[column] ?? '').join('')],
    () => 'its domain, industry, place or id is too long',
  )

/** Throws when a department, as given or as compared, would not fit into one. */
export function checkHistory(database: Database, history: readonly { readonly department: string }[]): void {
  for (const { department } of history)
    checkLength(
      database,
      () => [department, foldText(department)],
      () => `headcount_history: the department '${shorten(department)}' is too long`,
    )
}

/** Throws when the profile of an engager would not fit into one. */
export function checkEngagers(
  database: Database,
  engagers: readonly { readonly profile: string; readonly url: string }[],
): void {
  for (const { profile, url } of engagers)
    checkLength(
      database,
      () => [profile],
      () => `engagers: the profile url '${shorten(url)}' is too long`,
    )
}

const isLong = (text: string, maxBytes: number): string => `octet_length(${text}) > ${maxBytes}`
const longDepartment = (table: string, maxBytes: number): string =>
  `SELECT coalesce(domain, name, id) AS name FROM ${table} JOIN companies ON companies.key = ${table}.company
    WHERE ${isLong('department', maxBytes)} LIMIT 1`

const createLengthQueries = (maxBytes: number): Readonly<Record<string, string>> => ({
  'The facts of the company': `SELECT coalesce(domain, name, id) AS name FROM companies
    WHERE ${isLong(indexedFacts.map((column) => `coalesce(${column}, '')`).join(' || '), maxBytes)} LIMIT 1`,
  'A department of the company': longDepartment('headcount_history', maxBytes),
  'A department as compared, of the company': longDepartment('headcount_growth', maxBytes),
  'The profile of an engager of the post': `SELECT identity AS name FROM engagers JOIN posts ON posts.key = engagers.post
    WHERE ${isLong('profile', maxBytes)} LIMIT 1`,
})

/** Returns, in words, what of a catalogue another database would refuse; `undefined` when it takes everything. */
export async function findTooLong(connection: Connection, target: Database): Promise<string | undefined> {
  const maxBytes = maxBytesOf(target)
  if (maxBytes === undefined) return undefined
  for (const [what, sql] of Object.entries(createLengthQueries(maxBytes))) {
    const found = await connection.get<{ name: string }>(sql)
    if (found) return `${what} '${shorten(found.name)}'`
  }
  return undefined
}
