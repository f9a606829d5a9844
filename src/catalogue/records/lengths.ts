import type { Connection, Value } from '../../storage/driver/connection.js'
import { foldText } from '../normalize/name.js'
import { short, Unreadable } from '../normalize/readers.js'

// An index of PostgreSQL by order refuses a row of more than about 2,700 bytes, and with it whatever is written beside it. Each
// of these texts is refused before anything of its record is written.

/** Bytes of texts that stand together in an index, which it takes for certain. */
const mostBytes = 2_000

/** Refuses a company whose row would not fit into an index of PostgreSQL. */
export function checkCompany({
  domain,
  facts,
}: {
  readonly domain: string | null
  readonly facts: readonly Value[]
}): void {
  const texts = [domain, ...facts].filter((value) => typeof value === 'string')
  if (Buffer.byteLength(texts.join('')) > mostBytes)
    throw new Unreadable('its domain, industry, place or id is too long')
}

/** Refuses departments that would not fit into one, as they are given or as they are compared. */
export function checkHistory(history: readonly { readonly department: string }[]): void {
  for (const { department } of history)
    if ([department, foldText(department)].some((name) => Buffer.byteLength(name) > mostBytes))
      throw new Unreadable(`headcount_history: the department '${short(department)}' is too long`)
}

/** Refuses engagers that would not fit into one. */
export function checkEngagers(engagers: readonly { readonly profile: string; readonly url: string }[]): void {
  for (const { profile, url } of engagers)
    if (Buffer.byteLength(profile) > mostBytes)
      throw new Unreadable(`engagers: the profile url '${short(url)}' is too long`)
}

const factsInIndexes =
  'domain id country region city industry industry_name company_type revenue_currency'.split(' ')
const isLong = (text: string): string => `octet_length(${text}) > ${mostBytes}`
const ofCompanies = (table: string): string =>
  `SELECT coalesce(domain, name, id) AS name FROM ${table} JOIN companies ON companies.key = ${table}.company
    WHERE ${isLong('department')} LIMIT 1`

const questions: Readonly<Record<string, string>> = {
  'The facts of the company': `SELECT coalesce(domain, name, id) AS name FROM companies
    WHERE ${isLong(factsInIndexes.map((column) => `coalesce(${column}, '')`).join(' || '))} LIMIT 1`,
  'A department of the company': ofCompanies('headcount_history'),
  'A department as compared, of the company': ofCompanies('headcount_growth'),
  'The profile of an engager of the post': `SELECT identity AS name FROM engagers JOIN posts ON posts.key = engagers.post
    WHERE ${isLong('profile')} LIMIT 1`,
}

/** What of a catalogue PostgreSQL would refuse, by the record that has it, in words; nothing where there is none. */
export async function findTooLong(connection: Connection): Promise<string | undefined> {
  for (const [what, sql] of Object.entries(questions)) {
    const found = await connection.get<{ name: string }>(sql)
    if (found) return `${what} '${short(found.name)}'`
  }
  return undefined
}
