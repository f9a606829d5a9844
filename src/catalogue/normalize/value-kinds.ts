import type { Fields } from '../../api/values/objects.js'
import { isColumnName, isNameOfPeople } from '../../csv/names.js'
import { toCountryCode } from './country.js'
import { hasKnownSuffix, toCompanyDomain, toDomain } from './domain.js'
import commonNames from './given-names.json' with { type: 'json' }
import { foldName, foldText, trailingForms } from './name.js'
import { type NetworkProfile, parseProfile } from './profile.js'

/** What the cells of a column hold, by their form. */
export type ValueKind =
  | 'company profile'
  | 'person profile'
  | 'email'
  | 'phone'
  | 'web address'
  | 'country'
  | 'company name'
  | 'person name'

/** What the rows of a file are about. */
type RowSubject = 'companies' | 'people' | 'jobs' | 'posts'

const mail = /^(?:[^<>]*<)?(?:mailto:)?[^\s@,;<>/]+@[^\s@,;<>/]+\.[^\s@,;<>/]+>?$/i
const web = /^(?:https?:)?\/\/\S+$|^(?:[\p{L}\p{N}_-]+\.)+\p{L}{2,}\.?(?:[:/?#]\S*)?$/iu
/** International numbers, national ones that begin with 0 or an area code in brackets, and those of North America. */
const phone = /^(?:tel:)?(?:(?:\+|00)[1-9]|0[1-9]|\(\d)[\d\s().\-–/]{5,}(?:\s*(?:x|ext\.?)\s*\d+)?$/i
const american = /^\d{3}([ .-])\d{3}\1\d{4}$/
/** Words of letters, at most six. */
const words = /^\p{L}[\p{L}\p{M}'’.-]*(?:,? [\p{L}(&][\p{L}\p{M}'’.)-]*){0,5}$/u
const date = /^\d{1,2}([./-])\d{1,2}\1\d{2,4}\b/

/** Kinds whose values are never of another kind as well. */
const certainKinds = ['company profile', 'person profile', 'email', 'phone'] as const
type CertainKind = (typeof certainKinds)[number]

const trimCell = (cell: string): string => cell.trim().replace(/^'(?=[+\d(])/, '')

/** Returns what a trimmed cell certainly holds; `undefined` where its form may be that of something else. */
function toCertainKind(text: string): CertainKind | undefined {
  if (text.includes('@') && mail.test(text)) return 'email'
  if (text.includes('/')) {
    const profile = parseProfile(text)
    if (profile) return `${profile.kind} profile`
  }
  return isPhone(text) ? 'phone' : undefined
}

/** Returns what a cell holds, where its form shows it; `undefined` for other text. */
export function toValueKind(cell: string): ValueKind | undefined {
  const text = trimCell(cell)
  const certain = toCertainKind(text)
  if (certain !== undefined) return certain
  if (text.includes('.') && web.test(text)) return 'web address'
  if (/\s/.test(text) && trailingForms.has(foldText(/[^\s,]+$/.exec(text)?.[0] ?? ''))) return 'company name'
  if (!words.test(text)) return undefined
  const mayBeCountry = text.length > 3 || /^[A-Z]{2}$|^USA$/.test(text)
  if (mayBeCountry && toCountryCode(text) !== undefined) return 'country'
  return isPersonName(text) ? 'person name' : undefined
}

/** Whether one of the words before a family name, or after its comma, is a common given name. */
function isPersonName(text: string): boolean {
  const [family = '', given = family] = text.split(',', 2)
  const [first = ''] = given.trim().split(/[\s-]/, 1)
  givenNames ??= new Set(commonNames.flatMap((names) => names.split(' ')))
  return givenNames.has(foldText(first))
}

let givenNames: ReadonlySet<string> | undefined

const isPhone = (text: string): boolean =>
  american.test(text) || (phone.test(text) && !date.test(text) && text.replace(/\D/g, '').length >= 8)

/**
 * Returns the kind that more than half of the cells of a column are; `undefined` where there is none. Companies may be
 * called like people, so a column holds names of people only if its own name may mean that.
 */
export function toColumnKind(cells: readonly string[] = [], column?: string): ValueKind | undefined {
  const counts = new Map<ValueKind, number>()
  for (const cell of cells) {
    const kind = toValueKind(cell)
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  const kind = [...counts].find(([, count]) => count * 2 > cells.length)?.[0]
  return kind === 'person name' && column !== undefined && !isNameOfPeople(column) ? undefined : kind
}

/** Names of columns of results, such as `company.domain`, which look like web addresses. */
const dotted = /^(?:account|company|contact|input|job|lead|person|post|result)\./i

/**
 * Whether the first row of a file is data and no header: all its cells are values, or one is, the cells below it are like it,
 * and no cell is a common name of a column.
 */
export function isData(first: readonly string[], samples: readonly (readonly string[])[]): boolean {
  const filled = [...first.entries()].filter(([, cell]) => cell.trim() !== '')
  const isValue = (cell: string) => {
    const kind = toValueKind(cell)
    return kind === 'web address' || certainKinds.some((one) => one === kind)
  }
  const isLikeOthers = ([at, cell]: readonly [number, string]) =>
    isValue(cell) && toColumnKind(samples[at]) === toValueKind(cell)
  const names = filled.filter(([, cell]) => isColumnName(cell) || isColumnName(cell.replace(dotted, '')))
  if (filled.length === 0 || names.length > 0) return false
  return filled.every(([, cell]) => isValue(cell) && !dotted.test(cell)) || filled.some(isLikeOthers)
}

/** Returns the first cells of columns with those of a row before them. */
export const withFirstRow = (
  first: readonly string[],
  samples: readonly (readonly string[])[],
): readonly (readonly string[])[] =>
  samples.map((cells, at) =>
    [first[at]?.trim() ?? '', ...cells].filter((cell, index) => index > 0 || cell !== ''),
  )

/** Returns the kinds that a field is made for; `undefined` for text of any other kind. */
export function kindsOfField(subject: RowSubject, field: string): readonly ValueKind[] | undefined {
  if (field === 'network_url') return [subject === 'people' ? 'person profile' : 'company profile']
  return Object.hasOwn(fieldKinds, field) ? fieldKinds[field] : undefined
}

const webAddress: readonly ValueKind[] = ['web address']
const mailAddress: readonly ValueKind[] = ['email']
const phoneNumber: readonly ValueKind[] = ['phone']
const companyName: readonly ValueKind[] = ['company name']
const personName: readonly ValueKind[] = ['person name']
const personProfile: readonly ValueKind[] = ['person profile']
const countryName: readonly ValueKind[] = ['country']

const fieldKinds: Readonly<Record<string, readonly ValueKind[]>> = {
  ...{ domain: webAddress, company_domain: webAddress, website: webAddress },
  ...{ email: mailAddress, personal_email: mailAddress },
  ...{ phone: phoneNumber, phones: phoneNumber, phone_number: phoneNumber, phone_numbers: phoneNumber },
  ...{ name: companyName, company_name: companyName },
  ...{ first_name: personName, firstname: personName, full_name: personName },
  ...{ last_name: personName, lastname: personName },
  ...{ network_profile_url: personProfile, premium_profile_url: personProfile, linkedin_url: personProfile },
  ...{ company_network_url: ['company profile'], author_profile_url: ['person profile', 'company profile'] },
  ...{ country: countryName, country_code: countryName, network_id: [], company_network_id: [] },
}

export function fitsColumn(subject: RowSubject, field: string, kind: ValueKind | undefined): boolean {
  const kinds = kindsOfField(subject, field)
  if (kind === undefined || kinds?.includes(kind) || isStandIn(field, kind)) return true
  return kinds === undefined && !(certainKinds as readonly ValueKind[]).includes(kind)
}

/** Whether values of a kind are email addresses, and stand for the domain that a field means. */
export const isStandIn = (field: string, kind: ValueKind | undefined): boolean =>
  kind === 'email' && fieldKinds[field] === webAddress

/** An address with nothing around it. */
const plainAddress = /^(?:https?:\/\/)?[\p{L}\p{N}._-]+(?::\d+)?(?:[/?#]\S*)?$/iu

/** Returns a cell of a domain, with the domain in place of an email address, or of an address with more around it. */
export const toDomainCell = (cell: string): string =>
  plainAddress.test(cell) ? cell : (toCompanyDomain(cell) ?? cell)

/**
 * Whether a cell is nothing that a field means: a value of another kind, or, for a domain, something at a host that many
 * share. A cell that no kind is certain of fits any field. `name` is that of the company in the same row.
 */
export function isMisplaced(subject: RowSubject, field: string, cell: string, name?: string): boolean {
  const kinds = kindsOfField(subject, field)
  const kind = unremarkable.test(cell) ? undefined : toCertainKind(trimCell(cell))
  if (kinds === webAddress && (kind === undefined || kind === 'email'))
    return toCompanyDomain(cell, name) === undefined && (kind === 'email' || toDomain(cell) !== undefined)
  return kind !== undefined && kinds?.includes(kind) !== true
}

/** Returns why a misplaced cell of a field is refused, as the end of a sentence. */
export function describeMisplaced(field: string, cell: string): string {
  const kind = toValueKind(cell)
  if (kind?.endsWith('profile')) return 'must not be a profile URL'
  if (kind === 'phone') return 'must not be a phone number'
  if (kind === 'email' && fieldKinds[field] !== webAddress) return 'must not be an email address'
  return "must be a company's own: pages of social networks, short links and free email identify none"
}

/** What stands for nothing in exports and spreadsheets. `Null` is a family name. */
const placeholder = /^\s*(?:[-–—]+|#?n\/a|#?N\/A|none|None|NONE|null|NULL)\s*$/

/** Whether a cell of a field that identifies or describes somebody is as good as blank. */
export const isPlaceholder = (field: string, cell: string): boolean =>
  cell.length < 10 && placeholder.test(cell) && (field === 'network_url' || Object.hasOwn(fieldKinds, field))

const noName = /^(?:n\/?a|none|null|nil|unknown|unbekannt|inconnu|tbd|x+)$/i

/** Whether a cell of a domain is text that may be the name of the company instead. */
export const isNameInDomain = (cell: string): boolean =>
  /\p{L}/u.test(cell) &&
  !/@|:\/|^www\b/i.test(cell) &&
  !noName.test(cell.trim()) &&
  toDomain(cell) === undefined

/** Whether a cell of a name is the web address of the company instead. */
export const isDomainInName = (cell: string): boolean =>
  toValueKind(cell) === 'web address' && hasKnownSuffix(cell) && toCompanyDomain(cell) !== undefined

/** Text that is no profile, email address or phone number: most cells. */
const unremarkable = /^[^@/\d]*$/

const sampleCells = 200
const sampleCharacters = 1_000_000
const cellCharacters = 500

/** The first non-empty cells of each column of a file. */
export class ColumnSample {
  readonly cells: readonly (readonly string[])[]
  readonly #cells: string[][]
  #left = sampleCharacters

  constructor(width: number) {
    this.#cells = Array.from({ length: width }, () => [])
    this.cells = this.#cells
  }

  /** Adds the cells of a row. Returns whether more rows are needed. */
  add(row: readonly string[]): boolean {
    let isWanted = false
    for (const [at, column] of this.#cells.entries()) {
      const text = row[at] ?? ''
      // Every cell counts: an import keeps these rows, also where one column is empty in all of them.
      this.#left -= text.length + 1
      if (column.length >= sampleCells) continue
      const cell = text.trim().slice(0, cellCharacters)
      if (cell !== '' && !placeholder.test(cell)) column.push(cell)
      isWanted ||= column.length < sampleCells
    }
    return isWanted && this.#left > 0
  }
}

/**
 * Returns a key that is equal for rows of the same company: profile url, else registrable domain, else folded name and
 * country. Fields may have the names of any operation or record. `undefined` when there is none of these.
 */
export function toCompanyIdentity(fields: Fields): string | undefined {
  const url = firstText(fields.company_network_url, fields.network_url, fields.url)
  const profile = url === undefined ? undefined : parseProfile(url)
  if (profile?.kind === 'company') return toProfileIdentity(profile)
  const id = firstText(fields.company_network_id)
  if (id !== undefined) return `company:id:${id}`
  const site = firstText(fields.domain, fields.company_domain)
  const name = firstText(fields.name, fields.company_name)
  const domain = site === undefined ? undefined : toCompanyDomain(site, name)
  if (domain !== undefined) return `company:domain:${domain}`
  if (name === undefined) return undefined
  return `company:name:${foldName(name)}:${firstText(fields.country)?.toUpperCase() ?? ''}`
}

/**
 * Returns a key that is equal for rows of the same person: profile url, also one that cannot be parsed, else email
 * address, else folded name and the company's domain or name. `undefined` when there is none of these.
 */
export function toPersonIdentity(fields: Fields): string | undefined {
  const url = firstText(fields.network_url, fields.network_profile_url, fields.linkedin_url)
  const profile = url === undefined ? undefined : parseProfile(url)
  if (profile?.kind === 'person') return toProfileIdentity(profile)
  if (url !== undefined && !profile) return `person:url:${url}`
  const email = firstText(fields.email)
  if (email !== undefined) return `person:email:${email.toLowerCase()}`
  const name = foldFullName(fields)
  const company = toCompanyIdentity({
    domain: fields.domain,
    company_domain: fields.company_domain,
    company_name: fields.company_name,
  })
  return name === '' || company === undefined ? undefined : `person:name:${name}:${company}`
}

const toProfileIdentity = ({ kind, id, slug }: NetworkProfile): string =>
  id === undefined ? `${kind}:slug:${slug}` : `${kind}:id:${id}`

/** Returns the folded name of a person, from its parts where there are any; '' without a name. */
export function foldFullName(fields: Fields): string {
  const parts = [firstText(fields.first_name, fields.firstname), firstText(fields.last_name, fields.lastname)]
  return foldText(
    parts.some((part) => part !== undefined) ? parts.join(' ') : (firstText(fields.full_name) ?? ''),
  )
}

/** Returns the first value that is non-blank text or a number, as text. */
export function firstText(...values: readonly unknown[]): string | undefined {
  for (const value of values) {
    if (typeof value === 'number') return String(value)
    const text = typeof value === 'string' ? value.trim() : ''
    if (text !== '') return text
  }
  return undefined
}
