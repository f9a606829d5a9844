import type { Connection, Value } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialect.js'
import { foldText } from '../normalize/name.js'
import { short, Unreadable } from '../normalize/readers.js'

// An index of PostgreSQL refuses a row that is too long, and with it all that is written beside it. So these texts are refused
// before anything of their record is written.

type Database = Pick<Connection, 'dialect'>

const maxBytesOf = (database: Database): number | undefined => dialectOf(database).load.maxIndexedBytes

/** Throws when a company's row would not fit into an index. */
export function checkCompany(
  database: Database,
  { domain, facts }: { readonly domain: string | null; readonly facts: readonly Value[] },
): void {
  const maxBytes = maxBytesOf(database)
  if (maxBytes === undefined) return
  const texts = [domain, ...facts].filter((value) => typeof value === 'string')
  if (Buffer.byteLength(texts.join('')) > maxBytes)
    throw new Unreadable('its domain, industry, place or id is too long')
}

/** Throws when a department, as given or as compared, would not fit into one. */
export function checkHistory(database: Database, history: readonly { readonly department: string }[]): void {
  const maxBytes = maxBytesOf(database)
  if (maxBytes === undefined) return
  for (const { department } of history)
    if ([department, foldText(department)].some((name) => Buffer.byteLength(name) > maxBytes))
      throw new Unreadable(`headcount_history: the department '${short(department)}' is too long`)
}

/** Throws when the profile of an engager would not fit into one. */
export function checkEngagers(
  database: Database,
  engagers: readonly { readonly profile: string; readonly url: string }[],
): void {
  const maxBytes = maxBytesOf(database)
  if (maxBytes === undefined) return
  for (const { profile, url } of engagers)
    if (Buffer.byteLength(profile) > maxBytes)
      throw new Unreadable(`engagers: the profile url '${short(url)}' is too long`)
}

const factsInIndexes =
  'domain id country region city industry industry_name company_type revenue_currency'.split(' ')
const isLong = (text: string, maxBytes: number): string => `octet_length(${text}) > ${maxBytes}`
const longDepartment = (table: string, maxBytes: number): string =>
  `SELECT coalesce(domain, name, id) AS name FROM ${table} JOIN companies ON companies.key = ${table}.company
    WHERE ${isLong('department', maxBytes)} LIMIT 1`

const questionsFor = (maxBytes: number): Readonly<Record<string, string>> => ({
  'The facts of the company': `SELECT coalesce(domain, name, id) AS name FROM companies
    WHERE ${isLong(factsInIndexes.map((column) => `coalesce(${column}, '')`).join(' || '), maxBytes)} LIMIT 1`,
  'A department of the company': longDepartment('headcount_history', maxBytes),
  'A department as compared, of the company': longDepartment('headcount_growth', maxBytes),
  'The profile of an engager of the post': `SELECT identity AS name FROM engagers JOIN posts ON posts.key = engagers.post
    WHERE ${isLong('profile', maxBytes)} LIMIT 1`,
})

/** Returns, in words, what of a catalogue another database would refuse; `undefined` when it takes everything. */
export async function findTooLong(connection: Connection, target: Database): Promise<string | undefined> {
  const maxBytes = maxBytesOf(target)
  if (maxBytes === undefined) return undefined
  for (const [what, sql] of Object.entries(questionsFor(maxBytes))) {
    const found = await connection.get<{ name: string }>(sql)
    if (found) return `${what} '${short(found.name)}'`
  }
  return undefined
}
