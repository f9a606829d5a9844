import type { Ids } from '../../api/ports/ports.js'
import { companySizes } from '../../api/schemas/enumerations.js'
import { dayMs } from '../../api/values/dates.js'
import type { Fields } from '../../api/values/objects.js'
import type { LeaveOut } from '../../csv/names.js'
import { cleanName, foldName, foldText } from '../../identity/name.js'
import { readPhone } from '../../identity/phone.js'
import { type NetworkProfile, parseProfile } from '../../identity/profile.js'
import {
  date,
  indexedText,
  invalid,
  parseCompanySize,
  shorten,
  text,
  wholeNumber,
} from '../../identity/readers.js'
import { partsOf } from '../../identity/spelling.js'
import { isSharedHost, toCompanyDomain, toNameAndDomain } from '../../identity/value-kinds.js'
import { type Connection, insertList, send, type Value } from '../../storage/driver/connection.js'
import {
  accountFields,
  companyDetailFields,
  openAccountFields,
  type RecordFields,
  readFields,
  readOr,
} from './fields.js'
import { type StoredAccount, toCompanyRow } from './match-company.js'
import { readUses } from './technologies.js'

/** Headcount of a company's department on a day; `All` is the whole company. */
export interface HeadcountEntry {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly department: string
  readonly headcount: number
}

type DatedHeadcount = Pick<HeadcountEntry, 'date' | 'headcount'>

function readHeadcountHistory(entries: readonly Fields[]): HeadcountEntry[] {
  return entries.map((entry) => {
    const [day, headcount] = [date(entry.date), wholeNumber(entry.headcount)]
    if (day === undefined || headcount === undefined) throw invalid('each entry needs a date and a headcount')
    return { date: day.slice(0, 10), department: indexedText(entry.department) ?? 'All', headcount }
  })
}

const upsertEntry = insertList(
  'headcount_history',
  { company: 'BIGINT', department: 'TEXT', date: 'TEXT', headcount: 'BIGINT' },
  'ON CONFLICT (company, department, date) DO UPDATE SET headcount = excluded.headcount',
)

/** Adds entries, or replaces those of the same day and department. Stores each department's headcount and growth in a year. */
export async function writeHeadcountHistory(
  connection: Connection,
  changes: readonly {
    readonly row: { readonly key: number }
    readonly history: readonly HeadcountEntry[] | undefined
  }[],
): Promise<void> {
  const companies = new Set<number>()
  // One statement changes no entry twice: of equal ones the last counts.
  const added = new Map<string, Value[]>()
  for (const { row, history } of changes) {
    if (!history) continue
    companies.add(row.key)
    for (const { department, date: day, headcount } of history)
      added.set(`${row.key} ${day} ${department}`, [row.key, department, day, headcount])
  }
  if (companies.size === 0) return
  await connection.dialect.writeRows(connection, upsertEntry, [...added.values()])
  const entries = await connection.all<HeadcountEntry & { company: number }>(
    selectHistories,
    JSON.stringify([...companies]),
  )
  const byDepartment = ({ company, department }: (typeof entries)[number]) =>
    `${company} ${foldText(department)}`
  for (const history of Map.groupBy(entries, byDepartment).values()) {
    const { company = 0, department = '', headcount = 0 } = history.at(-1) ?? {}
    const growth = toGrowthPercent(findHeadcountBefore(history, 12), headcount)
    send(connection, upsertGrowth, company, foldText(department), headcount, growth)
  }
}

const selectHistories = `SELECT company, department, date, headcount FROM headcount_history
  WHERE company IN (SELECT atom FROM json_each(?)) ORDER BY company, date, department`
const upsertGrowth = `INSERT INTO headcount_growth (company, department, headcount, growth) VALUES (?, ?, ?, ?)
  ON CONFLICT (company, department) DO UPDATE SET headcount = excluded.headcount, growth = excluded.growth`

/** Maximum distance between a day and the entry that is used for it, in days. */
const maxDistanceDays = 31
/** Returns the headcount `months` before the newest entry; null when there is none near that day. Oldest entry first. */
export function findHeadcountBefore(entries: readonly DatedHeadcount[], months: number): number | null {
  const then = new Date(entries.at(-1)?.date ?? Number.NaN)
  then.setUTCMonth(then.getUTCMonth() - months)
  const distance = ({ date }: DatedHeadcount) => Math.abs(Date.parse(date) - then.getTime()) / dayMs
  const near = entries.filter((entry) => distance(entry) <= maxDistanceDays)
  const [nearest] = near.sort((a, b) => distance(a) - distance(b))
  return nearest?.headcount ?? null
}

/** Returns the growth from a base in whole percent; null when the base is 0 or unknown. */
export const toGrowthPercent = (base: number | null, now: number): number | null =>
  base === null || base === 0 ? null : Math.round(((now - base) / base) * 100)

export type PreparedCompany = ReturnType<typeof prepareCompany>

type NewAccount = RecordFields<'companies'> & Pick<StoredAccount, 'id' | 'lower'>

/**
 * Reads a company. Throws when nothing identifies it: no domain, network id or profile url, nor, where that is enough, a name
 * and a country.
 */
export function prepareCompany(raw: Fields, ids: Pick<Ids, 'uuid'>, leaveOut: LeaveOut, byName = false) {
  const given = moveRangeToSize(splitNameAndDomain(raw, 'name', 'domain'))
  // The record itself: each copy of it would take as long as all else that is done with it.
  const account = readFields(byName ? openAccountFields : accountFields, given, leaveOut, {
    id: byName ? shortId(ids) : ids.uuid(),
  }) as NewAccount
  const { technologies, technology_details, headcount_history } = readFields(
    companyDetailFields,
    given,
    leaveOut,
  )
  leaveOutForeignHost(account, 'domain', account.name, leaveOut)
  const { website } = account
  const domain =
    account.domain ?? (website === undefined ? undefined : toCompanyDomain(website, account.name))
  // An email address stands for the domain, and is no website.
  if (website?.includes('@') && !website.includes('/')) delete account.website
  const profiles = readProfiles(account, leaveOut)
  readCompanyPhone(account, leaveOut)
  const name = account.name === undefined ? undefined : foldName(account.name)
  const isNamed = domain === undefined && profiles.length === 0
  if (isNamed && !(byName && name && account.country))
    throw invalid(
      byName
        ? 'a company needs a domain, a profile, or a name and a country'
        : 'a company needs a domain, a network_id or a network_url',
    )
  const uses =
    readOr(leaveOut, 'technology_details', technology_details, (details) =>
      readUses(technologies, details),
    ) ?? readUses(technologies, undefined)
  if (domain !== undefined) account.domain = domain
  if (account.name !== undefined && !byName) account.cleaned_name ??= cleanName(account.name, name)
  if (account.headcount !== undefined) account.employee_range ??= toCompanySize(account.headcount)
  if (uses) Object.assign(account, { technologies: uses.map(({ slug }) => slug) })
  if (byName) keepOriginalName(account, readOr(leaveOut, 'original_name', given.original_name, text))
  const names = {
    domain: domain ?? null,
    network_id: profiles.find(({ id }) => id !== undefined)?.id ?? null,
    slug: profiles.find(({ slug }) => slug !== undefined)?.slug ?? null,
    name: name ?? null,
  }
  return {
    profiles,
    /** Whether only its name and country tell which company it is. */
    isNamed,
    /** Its row as a new company, with a new id unless it has one. */
    row: toCompanyRow(account, names),
    uses,
    history:
      headcount_history && readOr(leaveOut, 'headcount_history', headcount_history, readHeadcountHistory),
  }
}

/** Returns an id that takes little room: open data has millions of companies. */
function shortId(ids: Pick<Ids, 'uuid'>): string {
  const id = ids.uuid()
  return `${id.slice(0, 8)}-${id.slice(-12).replace(/^0+(?=.)/, '')}`
}

/** Leaves out the name as it was where it is the same in lower case, for the same reason; `completeAccount` says it again. */
function keepOriginalName(account: NewAccount, original: string | undefined): void {
  if (original === undefined) return
  if (original === account.name?.toLowerCase()) account.lower = 1
  else account.original_name = original
}

/** Keeps the first phone number in E.164. A company has one: others of its cell are left out, as what is no number. */
function readCompanyPhone(account: NewAccount, leaveOut: LeaveOut): void {
  if (account.phone === undefined) return
  let first: string | undefined
  for (const part of partsOf(account.phone)) {
    const number = readOr(leaveOut, 'phone', part, (one) => readPhone(one, account.country))
    first ??= number
    if (number !== undefined && number !== first)
      leaveOut('phone', part, `phone: '${shorten(part)}' is another number of a company, which has one`)
  }
  if (first === undefined) delete account.phone
  else account.phone = first
}

/** Many files have a range such as `51-200` as headcount: it becomes the employee range. */
function moveRangeToSize(raw: Fields): Fields {
  const range = typeof raw.headcount === 'string' ? parseCompanySize(raw.headcount) : undefined
  return range === undefined
    ? raw
    : { ...raw, headcount: undefined, employee_range: raw.employee_range ?? range }
}

function readProfiles(account: NewAccount, leaveOut: LeaveOut): NetworkProfile[] {
  const { network_id } = account
  const profiles: NetworkProfile[] = network_id === undefined ? [] : [{ kind: 'company', id: network_id }]
  const profile = readProfile(account, 'network_url', 'company', leaveOut)
  return profile === undefined || profiles.some(({ id }) => id === profile.id)
    ? profiles
    : [...profiles, profile]
}

export function readProfile<F extends string>(
  record: { [K in F]?: string | undefined },
  field: F,
  kind: NetworkProfile['kind'],
  leaveOut: LeaveOut,
): NetworkProfile | undefined {
  const url = record[field]
  const profile = url === undefined ? undefined : parseProfile(url)
  if (url === undefined || profile?.kind === kind) return profile
  delete record[field]
  const owner = kind === 'company' ? 'a company' : 'a person'
  leaveOut(field, url, `${field}: '${shorten(url)}' is not the profile url of ${owner}`)
  return undefined
}

/** Returns a record with the domain of a company that is in brackets behind its name, as HubSpot writes it. */
export function splitNameAndDomain(raw: Fields, name: string, domain: string): Fields {
  const both = toNameAndDomain(raw[name])
  if (!both) return raw
  const isBlank = raw[domain] === undefined || raw[domain] === null || raw[domain] === ''
  return { ...raw, [name]: both.name, ...(isBlank && { [domain]: both.domain }) }
}

/** Leaves out the domain of a record where many share it and the company's name is another one. */
export function leaveOutForeignHost<F extends string>(
  record: { [K in F]?: string | undefined },
  field: F,
  name: string | undefined,
  leaveOut: LeaveOut,
): void {
  const domain = record[field]
  if (domain === undefined || !isSharedHost(domain) || toCompanyDomain(domain, name) !== undefined) return
  delete record[field]
  leaveOut(field, domain, `${field}: '${domain}' is shared by many, and is not the company's own`)
}

function toCompanySize(headcount: number): (typeof companySizes)[number] {
  const tops = [0, 10, 50, 200, 500, 1_000, 5_000, 10_000]
  const at = tops.findIndex((top) => headcount <= top)
  return companySizes[at < 0 ? companySizes.length - 1 : Math.max(at, 1)] ?? '10001+'
}
