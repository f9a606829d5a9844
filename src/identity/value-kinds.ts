import { createRequire } from 'node:module'
import { domainToASCII } from 'node:url'
import { type Fields, once, resultOr } from '../api/values/objects.js'
import { networkHosts } from '../api/values/url.js'
import {
  isAddressOfOthers,
  isColumnName,
  isNamedForAddresses,
  isNamedForProfiles,
  isNamedForSites,
  isNameOfPeople,
  isProfileOfOthers,
  isSiteOfOthers,
} from '../csv/names.js'
import { toCountryCode } from './country.js'
import providers from './free-mailboxes.json' with { type: 'json' }
import {
  foldName,
  foldPersonName,
  foldText,
  isErrorValue,
  isGivenName,
  isNothing,
  trailingForms,
} from './name.js'
import { isNoAddress } from './no-address.js'
import { parseProfile } from './profile.js'
import ownHosts from './shared-host-owners.json' with { type: 'json' }
import socialHosts from './shared-hosts.json' with { type: 'json' }
import { ascii, toPlainText } from './spelling.js'
import toolSites from './tool-hosts.json' with { type: 'json' }
import { readWrittenName } from './written-name.js'

/** What the cells of a column hold, by their form: values count for more than the name of the column (decision 13). */
export type ValueKind =
  | 'company profile'
  | 'person profile'
  | 'email'
  | 'phone'
  | 'web address'
  | 'country'
  | 'company name'
  | 'person name'

type RowSubject = 'companies' | 'people' | 'jobs' | 'posts'

const mail = /^(?:[^<>]*<)?(?:mailto:)?[^\s@,;<>/]+@[^\s@,;<>/]+\.[^\s@,;<>/]+>?$/i
const bareMail = /^[^\s@,;<>/]+@[^\s@,;<>/]+\.[^\s@.,;<>/]+$/

/**
 * Returns the email address in a text that is one, in its one spelling: lower case, the domain in ASCII. The text may be
 * `Jane <jane@acme.example>`, `mailto:jane@acme.example?subject=Hello` or `SMTP:jane@acme.example`.
 */
export function toEmail(text: string): string | undefined {
  if (plainMail.test(text) && text.length <= maxEmailLength) return text
  if (text === '') return undefined
  const lower = toPlainText(text).trim().toLowerCase()
  const bare = plainMail.test(lower) ? lower : toBareAddress(lower)
  if (!bareMail.test(bare) || bare.length > maxEmailLength) return undefined
  const at = bare.lastIndexOf('@')
  const host = bare.slice(at + 1)
  const domain = asciiHost.test(host) ? host : domainToASCII(host)
  return domain === '' ? undefined : `${bare.slice(0, at)}@${domain}`
}

/** The spelling in most files. */
const plainMail = /^[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/

/** Returns an address without the name, quotes and the like that stand around it. */
function toBareAddress(lower: string): string {
  // Google's exports list the addresses of a person like this, the first one first.
  const first = lower.split(' ::: ', 1)[0] ?? ''
  // Of two people in a cell, nobody says which one is meant.
  const named = first.includes('<') ? (/^[^<>]*<([^<>]+)>[^<>]*$/.exec(first)?.[1] ?? '') : first
  const address = named
    .trim()
    .replace(/^(["'])(.*)\1$/s, '$2')
    .replace(/[.,;]+$/, '')
  const link = /^(?:mailto|smtp):([^?]*)/.exec(address)?.[1]
  const linked = link === undefined ? address : resultOr(link, () => decodeURIComponent(link))
  // Full stops of other scripts are dots in a domain.
  return linked.replaceAll('。', '.').replace(/^"([^\s"\\@]+)"@/, '$1@')
}

const maxEmailLength = 320
const asciiHost = /^[\x21-\x7e]+$/

/** International numbers, national ones that begin with 0 or an area code in brackets, and those of North America. */
const phone = /^(?:tel:|p:)?(?:(?:\+|00)[1-9]|0[1-9]|\(\d)[\d\s().\-–/]{5,}(?:\s*(?:x|ext\.?)\s*\d+)?$/i
const american = /^\d{3}([ .-])\d{3}\1\d{4}$/
const date = /^\d{1,2}([./-])\d{1,2}\1\d{2,4}\b/

/** Kinds whose values are never of another kind as well. */
const certainKinds = ['company profile', 'person profile', 'email', 'phone'] as const
type CertainKind = (typeof certainKinds)[number]

const trimCell = (cell: string): string =>
  toPlainText(cell)
    .trim()
    .replace(/^'(?=[+\d(])/, '')

/** Returns what a trimmed cell certainly holds; `undefined` where its form may be that of something else. */
function toCertainKind(text: string): CertainKind | undefined {
  if (text.includes('@') && mail.test(text)) return 'email'
  if (/[\\/]/.test(text)) {
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
  const isWeb =
    text.includes('.') &&
    /^(?:[Hh][Tt][Tt][Pp][Ss]?:)?\/\/\S+$|^(?:[\p{L}\p{N}_-]+\.)+\p{L}{2,}\.?(?:[:/?#]\S*)?$/u.test(text)
  if (isWeb) return 'web address'
  if (/\s/.test(text) && trailingForms().has(foldText(/[^\s,]+$/.exec(text)?.[0] ?? '')))
    return 'company name'
  // At most six words of letters.
  if (!/^\p{L}[\p{L}\p{M}'’.-]*(?:,? [\p{L}(&][\p{L}\p{M}'’.)-]*){0,5}$/u.test(text)) return undefined
  const mayBeCountry = text.length > 3 || /^[A-Z]{2}$|^USA$/.test(text)
  if (mayBeCountry && toCountryCode(text) !== undefined) return 'country'
  return isPersonName(text) ? 'person name' : undefined
}

/** Whether one of the words before a family name, or after its comma, is a common given name. */
function isPersonName(text: string): boolean {
  const [family = '', given = family] = text.split(',', 2)
  const [first = ''] = given.trim().split(/[\s-]/, 1)
  return isGivenName(first)
}

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

/** Whether values of a kind are profiles, of a company or a person. */
export const isProfileKind = (kind: ValueKind | undefined): boolean =>
  kind === 'company profile' || kind === 'person profile'

/** Kinds that say by themselves whom a row is about, or how to reach them. */
const tellingKinds: ReadonlySet<ValueKind> = new Set([...certainKinds, 'web address'])

/** Returns the kind of nearly all cells of a column, where it is an address, a number or a profile; of web addresses, where they differ. */
export function toSoleKind(cells: readonly string[] = []): ValueKind | undefined {
  const kind = toColumnKind(cells)
  if (kind === undefined || !tellingKinds.has(kind)) return undefined
  if (cells.filter((cell) => toValueKind(cell) === kind).length < 0.9 * cells.length) return undefined
  const isVaried = () => new Set(cells.map((cell) => toDomain(cell) ?? '')).size * 2 > cells.length
  return kind !== 'web address' || isVaried() ? kind : undefined
}

/** A website's first page, in whatever language. */
const homePage =
  /^(?:https?:\/\/)?[^\s/?#]+(?:\/(?:[a-z]{2}(?:[-_][a-z]{2})?|home|index\.\w{2,5}|start(?:seite)?))?\/?$/i

/** Whether nearly all cells of a column are first pages of companies' own websites, or their domains. */
export const areSites = (cells: readonly string[]): boolean =>
  cells.length > 0 &&
  cells.filter((cell) => homePage.test(cell.trim()) && toCompanyDomain(cell) !== undefined).length >=
    0.9 * cells.length

/**
 * Whether a column below a name that no field has holds the websites of the companies of its rows. Beside their `names` its
 * own name has to say so, or most of the websites fit: somebody else's would be looked up instead.
 */
export function areOwnSites(
  column: string,
  cells: readonly string[],
  names: readonly (readonly string[])[],
): boolean {
  if (!areSites(cells) || isSiteOfOthers(column)) return false
  return names.length === 0 || isNamedForSites(column) || names.some((one) => fitNames(cells, one))
}

/** The names that stand beside a column: the cells of columns of companies' names, and of those of people's. */
export interface NamesBeside {
  readonly companies: readonly (readonly string[])[]
  readonly people: readonly (readonly string[])[]
}

/**
 * Whether a column below a name that no field has holds the addresses of the people or companies of its rows, and not of those who
 * look after them. Beside names of people most of them fit, unless the column is named for addresses; beside several companies
 * they are more than a few, at more than one domain.
 */
export function areOwnAddresses(
  kind: 'companies' | 'people',
  column: string,
  cells: readonly string[],
  { companies, people }: NamesBeside,
): boolean {
  if (isAddressOfOthers(kind, column)) return false
  const mailboxOf = (cell: string) => toEmail(cell)?.split('@')[0] ?? ''
  const isFitting = () =>
    kind === 'people'
      ? people.length === 0 || carryNames(cells.map(mailboxOf), people)
      : companies.length === 0 || companies.some((one) => fitNames(cells, one))
  if (!isNamedForAddresses(column) && !isFitting()) return false
  const beside = companies.find((one) => new Set(one.map(foldName)).size > 1)
  if (!beside || cells.length < 2) return true
  const domains = new Set(cells.map((cell) => toEmail(cell)?.split('@')[1]))
  const isOneDomain = domains.size === 1 && !domains.has(undefined)
  return !isOneDomain && new Set(cells).size * 2 > cells.length
}

/** The same of profiles, which below a name of their own need not have that of the person in them. */
export function areOwnProfiles(
  kind: 'companies' | 'people',
  column: string,
  cells: readonly string[],
  beside: NamesBeside,
): boolean {
  // Where nothing else says whom the rows are about, they are about these.
  if (beside.companies.length + beside.people.length === 0) return true
  if (isProfileOfOthers(kind, column)) return false
  const names = beside[kind]
  return names.length === 0 || isNamedForProfiles(column) || carryNames(cells, names)
}

/** Whether at least half of the texts have a part of a name in the same row, or are its initials. */
function carryNames(cells: readonly string[], names: readonly (readonly string[])[]): boolean {
  // Columns with blank cells have lost their rows.
  const aligned = names.filter((one) => one.length === cells.length)
  const fitting = cells.filter((cell, at) => {
    const text = foldText(cell).replaceAll(' ', '')
    const beside = aligned.length > 0 ? aligned.map((one) => one[at] ?? '') : names.flat()
    const parts = beside.flatMap((name) => foldText(name).split(' '))
    const initials = parts.map((part) => part.charAt(0))
    return (
      parts.some((part) =>
        part.length > 2 ? text.includes(part) : part.length === 2 && text.startsWith(part),
      ) ||
      (text.length <= parts.length && [...text].every((letter) => initials.includes(letter)))
    )
  })
  return fitting.length * 2 >= cells.length
}

/** Whether most addresses have the name of a person, as `jane.doe@…` and `jane@…` have, and `info@…` has not. */
export const arePersonal = (cells: readonly string[] = []): boolean =>
  cells.filter((cell) => {
    const [box = ''] = (toEmail(cell) ?? '').split('@')
    return /^\p{L}+[._-]\p{L}{2,}$/u.test(box) || isGivenName(box)
  }).length *
    2 >
  cells.length

/** Whether at least two in three websites, and two of them, have the name of a company in the same row. */
function fitNames(cells: readonly string[], names: readonly string[]): boolean {
  // Columns with blank cells have lost their rows.
  const isAligned = cells.length === names.length
  const fitting = cells.filter((cell, at) =>
    (isAligned ? [names[at] ?? ''] : names).some((name) => fitsName(cell, name)),
  ).length
  return fitting >= 2 && fitting * 3 >= cells.length * 2
}

/** Whether the domain of a website shares a word with the name of a company, or is its initials. */
function fitsName(cell: string, name: string): boolean {
  const label = foldText((toDomain(cell) ?? '').split('.', 1)[0] ?? '')
  const parts = label.split(' ')
  const words = foldName(name).split(' ')
  const [whole, spelt] = [parts.join(''), parts.join('').replace(/([aou])e/g, '$1')]
  const initials = words.map((word) => word.charAt(0)).join('')
  return (
    words.some((word) => word.length > 2 && (whole.includes(word) || spelt.includes(word))) ||
    parts.some((part) => part.length > 2 && words.some((word) => word.startsWith(part))) ||
    (whole.length > 2 && whole === initials)
  )
}

/** Names of columns of results, such as `company.domain`, which look like web addresses. */
const dotted = /^(?:account|company|contact|input|job|lead|person|post|result)\./i

/** Whether the first row is data: no cell names a column, and all are values, or one is that those below it are like. */
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
export const withFirstRow = (first: readonly string[], samples: readonly (readonly string[])[]) =>
  samples.map((cells, at) =>
    [first[at]?.trim() ?? '', ...cells].filter((cell, index) => index > 0 || cell !== ''),
  )

/** Returns the kinds that a field is made for; `undefined` for text of any other kind. */
export function kindsOfField(subject: RowSubject, field: string): readonly ValueKind[] | undefined {
  if (field === 'network_url') return [subject === 'people' ? 'person profile' : 'company profile']
  return fieldKinds.get(field)
}

const fieldsByKind: readonly (readonly [kinds: readonly ValueKind[], fields: readonly string[]])[] = [
  [['web address'], ['domain', 'company_domain', 'website']],
  [['email'], ['email', 'personal_email']],
  [['phone'], ['phone', 'phones', 'phone_number', 'phone_numbers']],
  [['company name'], ['name', 'company_name']],
  [['person name'], ['first_name', 'firstname', 'full_name', 'last_name', 'lastname']],
  [['person profile'], ['network_profile_url', 'premium_profile_url', 'linkedin_url']],
  [['company profile'], ['company_network_url']],
  [['person profile', 'company profile'], ['author_profile_url']],
  [['country'], ['country', 'country_code']],
  [[], ['network_id', 'company_network_id']],
]

const fieldKinds: ReadonlyMap<string, readonly ValueKind[]> = new Map(
  fieldsByKind.flatMap(([kinds, fields]) => fields.map((field) => [field, kinds])),
)

const isOfDomain = (field: string): boolean => fieldKinds.get(field)?.[0] === 'web address'

const isOfProfile = (field: string): boolean => isProfileKind(kindsOfField('people', field)?.[0])

/** A number of a customer or the like, where a name is expected. */
const code = /^(?:\d+|[A-Z]{0,4}[-_./ ]?\d[\d_./ -]{2,})$/

/** Whether a column may fill a field: by what its cells are, and by the cells themselves, where these are numbers. */
export function fitsColumn(
  subject: RowSubject,
  field: string,
  kind: ValueKind | undefined,
  cells: readonly string[] = [],
): boolean {
  const kinds = kindsOfField(subject, field)
  const isName = kinds?.some((one) => one.endsWith(' name'))
  if (isName && cells.filter((cell) => code.test(cell)).length * 2 > cells.length) return false
  if (kind === undefined || kinds?.includes(kind) || isStandIn(field, kind)) return true
  // `JO` and `AL` are short for names, too.
  if (isName && kind === 'country' && cells.every((cell) => cell.trim().length <= 3)) return true
  return kinds === undefined && !(certainKinds as readonly ValueKind[]).includes(kind)
}

/** Whether values of a kind are email addresses, and stand for the domain that a field means. */
export const isStandIn = (field: string, kind: ValueKind | undefined): boolean =>
  kind === 'email' && isOfDomain(field)

/** Whether a cell is an address with nothing around it. */
const isPlainAddress = (cell: string): boolean =>
  ascii.test(cell)
    ? /^(?:https?:\/\/)?[\w.-]+(?::\d+)?(?:[/?#]\S*)?$/i.test(cell)
    : /^(?:[Hh][Tt][Tt][Pp][Ss]?:\/\/)?[\p{L}\p{N}._-]+(?::\d+)?(?:[/?#]\S*)?$/u.test(cell)

/** Returns a cell of a domain, with the domain in place of an email address, or of an address with more around it. */
export const toDomainCell = (cell: string): string =>
  isPlainAddress(cell) ? cell : (toCompanyDomain(cell) ?? cell)

/**
 * Whether a cell is nothing that a field means: a value of another kind, or, for a domain, something at a host that many
 * share. A cell that no kind is certain of fits any field. `name` is that of the company in the same row.
 */
export function isMisplaced(subject: RowSubject, field: string, cell: string, name?: string): boolean {
  const isDomain = isOfDomain(field)
  if (isDomain && toUsualSite(cell) !== undefined) return false
  const kind = unremarkable.test(cell) ? undefined : toCertainKind(trimCell(cell))
  if (isDomain && (kind === undefined || kind === 'email')) {
    const domain = toCompanyDomain(cell, name)
    // Of a mailbox provider, the name has to say that it is meant.
    if (domain !== undefined) return name === undefined && isFreeMailbox(domain)
    return kind === 'email' || toDomain(cell) !== undefined || isInternalSite(cell)
  }
  return kind !== undefined && kindsOfField(subject, field)?.includes(kind) !== true
}

/** Returns why a misplaced cell of a field is refused, as the end of a sentence. */
export function describeMisplaced(field: string, cell: string): string {
  const kind = toValueKind(cell)
  if (kind === 'company profile' && isOfProfile(field))
    return 'must be the profile of a person, not of a company'
  if (kind === 'person profile' && isOfProfile(field))
    return 'must be the profile of a company, not of a person'
  if (isProfileKind(kind)) return 'must not be a profile URL'
  if (kind === 'phone') return 'must not be a phone number'
  if (kind === 'email' && !isOfDomain(field)) return 'must not be an email address'
  if (isInternalSite(cell))
    return "must be a company's own website: an IP address, a tunnel, a reserved name or one in a private network is none"
  const domain = toDomain(cell)
  if (kind !== 'email' && domain !== undefined && mayBeOwn(cell, domain))
    return "may be a page of a search engine, map or archive: give the company's first page, or its name in another column"
  return "must be a company's own: pages of social networks, directories and search engines, short links and free email identify none"
}

/** Returns why a value that is asked for by itself cannot be what a field means, as the end of a sentence; `undefined` where it may be. */
export function describeUnfit(subject: RowSubject, field: string, value: string): string | undefined {
  const isUnfit = isMisplaced(subject, field, value)
  // Its schema says what a profile looks like.
  if (isOfProfile(field) && !isProfileKind(toValueKind(value))) return undefined
  if (!isOfDomain(field)) return isUnfit ? describeMisplaced(field, value) : undefined
  const domain = toDomain(value)
  if (!isUnfit) return domain === undefined ? 'must be a domain, such as example.com' : undefined
  // Who asks for nothing but a host that many share means the company that owns it.
  const isOfOwner = domain !== undefined && !/[/?]/.test(value) && !isInternalSite(value)
  return isOfOwner ? undefined : describeMisplaced(field, value)
}

/** Whether a cell of a field that identifies or describes somebody is as good as blank. */
export function isPlaceholder(field: string, cell: string): boolean {
  const isTelling = field === 'network_url' || fieldKinds.has(field)
  if (isTelling && cell.includes('@')) return isAddressOfNobody(field, cell)
  if (isTelling && cell.startsWith('=') && formula.test(cell)) return true
  if (cell.length >= longestPlaceholder) return false
  return isErrorValue(cell) || (isTelling && (isNothing(cell) || noAddress.test(cell)))
}

const longestPlaceholder = 20
/** A formula whose value was not written. */
const formula = /^=\s*[A-Z][A-Z.]+\(/i

/** The beginning of an address that nobody completed, as forms suggest it. */
const noAddress = /^\s*(?:https?:\/{0,2}(?:www\.?)?|www\.?)\s*$/i

/** Whether a cell holds an address that only stands for one, such as `email_not_unlocked@domain.com`. */
function isAddressOfNobody(field: string, cell: string): boolean {
  const kind = fieldKinds.get(field)?.[0]
  if (kind !== 'email' && kind !== 'web address') return false
  const email = toEmail(cell)
  return email !== undefined && isNoAddress(email)
}

const noName = /^(?:n\/?a|none|null|nil|unknown|unbekannt|inconnu|tbd|x+)$/i

/** Whether a cell of a domain is text that may be the name of the company instead. */
export const isNameInDomain = (cell: string): boolean =>
  /\p{L}/u.test(cell) &&
  !/@|:\/|^www\b/i.test(cell) &&
  !noName.test(cell.trim()) &&
  !isInternalSite(cell) &&
  toDomain(cell) === undefined

export const isDomainInName = (cell: string): boolean =>
  toValueKind(cell) === 'web address' && hasKnownSuffix(cell) && toCompanyDomain(cell) !== undefined

/** Returns the parts of a name that has its domain behind it in brackets, as HubSpot writes companies. */
export function toNameAndDomain(value: unknown): { name: string; domain: string } | undefined {
  if (typeof value !== 'string' || !value.endsWith(')')) return undefined
  const [, name, domain] = /^(.*\S)\s*\(\s*([^\s()]+\.[^\s()]+)\s*\)$/s.exec(value) ?? []
  const isBoth = name && domain && isDomainInName(domain) && toCompanyDomain(domain, name) !== undefined
  return isBoth ? { name, domain } : undefined
}

/** Text that is no profile, email address or phone number: most cells. */
const unremarkable = /^[^@/\d]*$/

const sampleCells = 200
const sampleCharacters = 1_000_000
const cellCharacters = 500

/** The first non-empty cells of each column of a file. */
export class ColumnSample {
  readonly cells: string[][]
  #left = sampleCharacters

  constructor(width: number) {
    this.cells = Array.from({ length: width }, () => [])
  }

  /** Adds the cells of a row. Returns whether more rows are needed. */
  add(row: readonly string[]): boolean {
    let isWanted = false
    for (const [at, column] of this.cells.entries()) {
      const text = row[at] ?? ''
      // Every cell counts: an import keeps these rows, also where one column is empty in all of them.
      this.#left -= text.length + 1
      if (column.length >= sampleCells) continue
      const cell = text.trim().slice(0, cellCharacters)
      if (cell !== '' && !isNothing(cell) && !isErrorValue(cell)) column.push(cell)
      isWanted ||= column.length < sampleCells
    }
    return isWanted && this.#left > 0
  }
}

/** Returns the folded name of a person, from its parts where there are any; '' without a name. */
export const foldFullName = (fields: Fields): string => foldPersonName(fullNameIn(fields))

function fullNameIn(fields: Fields): string {
  const first = firstText(fields.first_name, fields.firstname)
  const last = firstText(fields.last_name, fields.lastname)
  if (first === undefined && last === undefined) return firstText(fields.full_name) ?? ''
  return [first, last].join(' ')
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

/** Top-level domains under which every name of two labels is registrable. */
const flat = 'com|net|org|example|dev|app|eu|de|ch|tech|cloud|info|online|shop|site|xyz'
const plain = new RegExp(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.(?:${flat})$`)
/** The spelling in most files: a plain domain, with or without scheme, `www` and path. */
const common = new RegExp(
  `^(?:https?://)?(?:www\\.)?([a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.(?:${flat}))(?:[/?#]|$)`,
)
const valid =
  /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{2,59})$/

/** The public-suffix list takes 10 ms to load, and most domains do not need it, so it is loaded on first use. */
const suffixes = once(() => createRequire(import.meta.url)('tldts') as typeof import('tldts'))

const maxLabelLength = 63

/** Returns the domain of an address in the usual spelling. `www.com` is a registered domain. */
function toUsualDomain(text: string): string | undefined {
  const usual = plain.test(text) ? text : common.exec(text)?.[1]
  // Asking for 63 characters in the pattern would take twice the time.
  return usual?.startsWith('www.') || (usual && usual.indexOf('.') > maxLabelLength) ? undefined : usual
}

/** Returns the registrable domain (ASCII, lower case) in a url, host or email address; `undefined` for a free mailbox. */
export function toDomain(text: string): string | undefined {
  const usual = toUsualDomain(text)
  if (usual !== undefined) return usual
  const written = parseHost(text)
  const { host, mailbox } = isHost(written.host) ? written : parseHost(tidyAddress(text))
  if (!isHost(host)) return undefined
  const domain = plain.test(host) ? host : toRegistrableDomain(host)
  return mailbox && domain !== undefined && isFreeMailbox(domain) ? undefined : domain
}

/** Whether text is a host below a top-level domain that exists: `Booking.com` is, `Ember.js` is not. */
export function hasKnownSuffix(text: string): boolean {
  const domain = toDomain(text)
  if (domain === undefined || plain.test(domain)) return domain !== undefined
  return suffixes().parse(domain, { validateHostname: false }).isIcann === true
}

const isHost = (host: string | undefined): host is string => host !== undefined && valid.test(host)

const brokenScheme = /^(?:https?(?::\/{0,3}|\/\/)\s*)+|^www\s+/i
const quotes = /^["'“”„‘’«<([]+|["'“”‘’»>)\],;]+$/g

/** Returns the address in a cell with a label, quotes, a broken scheme or a remark around it. Other text becomes nothing. */
function tidyAddress(text: string): string {
  const [first = '', ...others] = toPlainText(text)
    .trim()
    .replace(/^\[.*\]\((.*)\)$/s, '$1')
    .replace(/^(?:web(?:site)?|url|domain|site)\s*:\s*/i, '')
    .replace(quotes, '')
    .replace(/^\*\./, '')
    .replace(brokenScheme, '')
    .split(/[\s,;|]+/)
  const isRemark = others.every((part) => /[.@]/.test(part)) || /^\(.*\)?$/.test(others.join(' '))
  return isRemark ? first : ''
}

/** Returns the host in a url or address; `mailbox` is true when it came from an email address. */
function parseHost(text: string): { host: string | undefined; mailbox: boolean } {
  const bare = text
    .trim()
    .toLowerCase()
    .replace(/^.*<([^<>]*@[^<>]*)>$/, '$1')
  const scheme = /^(?:[a-z][a-z0-9+.-]*:)?\/\//.exec(bare)?.[0]
  const rest = bare.slice(scheme?.length ?? 0).replace(/^mailto:/, '')
  const authority = rest.split(/[/?#\\]/, 1)[0] ?? ''
  const at = authority.lastIndexOf('@')
  const name = authority
    .slice(at + 1)
    .replace(/:\d*$/, '')
    .replace(/\.+$/, '')
  const ascii = /^[\x21-\x7e]+$/.test(name) && !name.includes('%') ? name : toAscii(name)
  return { host: ascii?.replace(/^www\d?\.(?=[^.]+\.)/, ''), mailbox: at >= 0 && scheme === undefined }
}

function toAscii(name: string): string | undefined {
  if (/\s/.test(name)) return undefined
  try {
    return domainToASCII(decodeURIComponent(name)).replace(/\.+$/, '') || undefined
  } catch {
    return undefined
  }
}

/** Returns the registered name. On a shared host (`acme.github.io`) that is the site; the bare host is its own domain. */
function toRegistrableDomain(host: string): string | undefined {
  const { getDomain } = suffixes()
  return (
    getDomain(host, { allowPrivateDomains: true, validateHostname: false }) ??
    getDomain(host, { validateHostname: false }) ??
    undefined
  )
}

/** Providers of free mailboxes. The domain of such an address says nothing about an employer. */
const freeMailboxes: ReadonlySet<string> = new Set(providers)

export const isFreeMailbox = (domain: string): boolean => freeMailboxes.has(domain)

/** Hosts at which many have pages, short links or mailboxes. */
const shared: ReadonlySet<string> = new Set([...networkHosts, ...socialHosts, ...freeMailboxes])

export const isSharedHost = (domain: string): boolean => shared.has(domain)

/**
 * Returns the domain of the company that a url, host name or email address stands for. A page below a host that many share,
 * or a mailbox at it, stands for none. The bare host is the company that owns it, unless the row has another name.
 */
export function toCompanyDomain(text: string, name?: string): string | undefined {
  const usual = toUsualSite(text)
  if (usual !== undefined) return usual
  const domain = toDomain(text)
  if (domain === undefined || isInternal(domain) || isTunnel(text, domain)) return undefined
  // A company's own site is searched, too.
  if (isToolPage(text, domain) && !(name !== undefined && isPageOfOwner(text, name, domain))) return undefined
  if (!shared.has(domain)) return domain
  return isBareHost(text, domain) && (name === undefined || isOwner(name, domain)) ? domain : undefined
}

/** Last words of names that only a network of one's own has, or that nobody can have (RFC 6761, without `example`). */
const internal: ReadonlySet<string> = new Set(
  'localhost localdomain local internal intranet intra private corp home lan arpa onion alt invalid test'.split(
    ' ',
  ),
)
/** Hosts below which a name leads to somebody's machine. */
const tunnels: ReadonlySet<string> = new Set(
  (
    'ngrok.app ngrok.dev ngrok.io ngrok-free.app ngrok-free.dev trycloudflare.com loca.lt localtunnel.me localhost.run lhr.life ' +
    'serveo.net pagekite.me devtunnels.ms localtest.me lvh.me nip.io sslip.io xip.io duckdns.org no-ip.com no-ip.org ddns.net ' +
    'hopto.org zapto.org sytes.net dyndns.org dynu.net'
  ).split(' '),
)
/** The address of a machine, of which numbers may be written as octal or hexadecimal ones. */
const machine =
  /^(?:[a-z]+:\/\/)?(?:localhost|0[0-7]+(?:\.\d+){1,3}|(?:\d+\.){0,3}0x[\da-f]+(?:\.(?:0x[\da-f]+|\d+)){0,3}|\d{1,3}(?:\.\d{1,3}){2,3}|\[[\da-f:.]+(?:%\w+)?\]|(?=[^/]*::|(?:[\da-f]+:){3})[\da-f:]+(?:\d{1,3}(?:\.\d{1,3}){3})?(?:%\w+)?)\.?(?::\d+)?(?:[/?#].*)?$/i
/** An address of one word, which only a network of one's own knows. */
const singleHost = /^https?:\/\/[a-z0-9_-]+(?::\d+)?(?:[/?#].*)?$/i

const isInternal = (domain: string): boolean => internal.has(domain.slice(domain.lastIndexOf('.') + 1))

/** Whether a text at a domain is below a host of tunnels, whose own name is a company's. */
function isTunnel(text: string, domain: string): boolean {
  const host = domain.slice(domain.lastIndexOf('.', domain.lastIndexOf('.') - 1) + 1)
  return tunnels.has(host) && (host !== domain || !isBareHost(text, domain))
}

/** Whether a cell is the address of a machine, or a name in a network of one's own: no company's website. */
const isInternalSite = (cell: string): boolean => {
  const text = cell.trim()
  const domain = toDomain(text) ?? ''
  return machine.test(text) || singleHost.test(text) || isInternal(domain) || isTunnel(text, domain)
}

/** The first words of hosts that `toolPage` knows. */
const toolHosts: ReadonlySet<string> = new Set(
  (
    'airbnb airtable alibaba allegro amazon apple archive atlassian baidu bamboohr bing bol booking box breezy ' +
    'canva cdiscount discord duckduckgo ec21 expedia figma force freshdesk g goo google googleusercontent ' +
    'greenhouse hs-sites hubspot jimdo lazada lever loom manomano mercadolibre mercadolivre miro myworkdayjobs ' +
    'office okta onmicrosoft paypal personio rakuten recruitee salesforce service-now shopee slack ' +
    'smartrecruiters spotify squarespace statuspage surveymonkey teamtailor tradekey translate trello walmart ' +
    'webcache webex webs weebly wix wordpress workable yahoo yandex zendesk zoom ' +
    'bingj brave cachedview deepl ecosia here mementoweb microsofttranslator openstreetmap qwant share startpage ' +
    'turbopages waze webpkgcache idealo kaufland live microsoft office365 otto shopify wa'
  ).split(' '),
)

/** Pages that show or find others' pages, or are anybody's: of search engines, maps, shops, web archives and free sites. */
const toolPage = new RegExp(
  [
    '^\\s*(?:https?:)?(?://)?(?:(?:www|m)\\.)?(?:',
    'google\\.[a-z]{2,3}(?:\\.[a-z]{2})?/(?:search|maps|url|imgres|translate|amp|local)\\b|',
    '(?:maps|sites|translate|docs|drive|forms|business|meet|chat|calendar|mail|plus|news|groups|scholar|books|images|photos|play|cse)',
    '\\.google\\.[a-z]{2,3}(?:\\.[a-z]{2})?(?:[/?#:]|$)|webcache\\.googleusercontent\\.com|g\\.page(?:[/?#:]|$)|',
    '[a-z0-9-]+\\.translate\\.goog(?:[/?#:]|$)|maps\\.app\\.goo\\.gl|(?:apps|itunes|maps)\\.apple\\.com|',
    '(?!www\\.)(?:[a-z0-9-]+\\.)+alibaba\\.com|',
    // A shop at a market is any page but the first one and those about the market itself.
    '(?:alibaba|allegro|amazon|bol|cdiscount|ec21|lazada|manomano|mercadolibre|mercadolivre|rakuten|shopee|',
    'tradekey|walmart)\\.[a-z]{2,3}(?:\\.[a-z]{2})?',
    '/(?!(?:[a-z]{2}(?:[-_][a-z]{2})?|index\\.\\w+|home|about(?:-us)?|careers|jobs|contact(?:-us)?|corporate)?/?(?:[?#]|\\s*$))|',
    'booking\\.com/(?:hotel|share)\\b|airbnb\\.[a-z.]+/(?:rooms|h|users)\\b|expedia\\.[a-z.]+/[^ ]*hotel|',
    'open\\.spotify\\.com|discord\\.com/(?:invite|channels|users)\\b|paypal\\.com/paypalme\\b|[a-z0-9-]*\\.?zoom\\.us/(?:j|my|w|rec|meeting)\\b|',
    '(?:app|share)\\.hubspot\\.com|(?:app|[a-z0-9-]+\\.app)\\.box\\.com|[a-z0-9-]+\\.box\\.com/[sv]/|box\\.com/s/|(?:forms|outlook)\\.office(?:365)?\\.com|outlook\\.live\\.com|(?:teams|forms|login)\\.microsoft\\.com|wa\\.(?:link|me)(?:[/?#:]|$)|(?:apps|cdn)\\.shopify\\.com|airtable\\.com/(?:app|shr|inv)|',
    '(?:figma|miro|canva|trello|loom|surveymonkey)\\.com/(?:file|design|proto|board|app/board|b|c|share|r)/|',
    // What companies rent there has a name in front, and is read as the owner's otherwise.
    '(?!www\\.)(?:[a-z0-9-]+\\.)+(?:zendesk|freshdesk|slack|service-now|bamboohr|workable|smartrecruiters|recruitee|teamtailor|okta|',
    'onmicrosoft|myworkdayjobs|webex|force|hs-sites|personio|greenhouse|lever|breezy|statuspage|atlassian|',
    'jimdo|squarespace|webs|weebly|wix|wordpress)\\.(?:com|net|io|co|hr|de)(?:[/?#:]|$)|',
    '(?!www\\.)(?:[a-z0-9-]+\\.)+my\\.salesforce\\.com|',
    '(?:[a-z]{2,3}\\.)?bing\\.com/(?:search|maps|translator|images|videos|news|shop)\\b|(?:map|fanyi|baike|tieba|pan|zhidao|wenku|image)\\.baidu\\.com|',
    '(?:m\\.)?(?:map|place)\\.kakao\\.com|duckduckgo\\.com/?\\?|(?:html|lite|start|links)\\.duckduckgo\\.com|',
    'kaufland\\.[a-z]{2}/(?:shop|product)\\b|otto\\.de/(?:p|suche)/|idealo\\.[a-z]{2}(?:\\.[a-z]{2})?/(?:preisvergleich|prix|compare|cmp|precios|prezzi)/|search\\.yahoo\\.com|yandex\\.[a-z]+/(?:search|maps)|baidu\\.com/s\\b|',
    'ecosia\\.org/(?:search|images)|startpage\\.com/(?:do|sp)\\b|(?:[a-z]+\\.)?qwant\\.com/(?:\\?|maps)|search\\.brave\\.com|',
    'openstreetmap\\.org/(?:node|way|relation|search|\\?|#)|waze\\.com/(?:[a-z-]+/)?(?:live-map|ul)\\b|(?:wego|share)\\.here\\.com|',
    'share\\.google(?:[/?#:]|$)|deepl\\.com/(?:[a-z-]+/)?translator|microsofttranslator\\.com/bv|translated\\.turbopages\\.org|',
    'cachedview\\.(?:nl|com)|timetravel\\.mementoweb\\.org|cc\\.bingj\\.com|(?:[a-z0-9-]+\\.)+webpkgcache\\.com|',
    '(?:web|wayback)\\.archive\\.org(?:[/?#:]|$)|archive\\.org/(?:web|wayback)\\b|archive\\.(?:ph|is|today|li)(?:[/?#:]|$)',
    ')',
  ].join(''),
  'i',
)

/** Sites of search engines, maps, dictionaries and archives, which their first pages and those about themselves stand for. */
const tools: ReadonlySet<string> = new Set(toolSites)
const ownPage =
  /^[^/?#]*\/?(?:[a-z]{2}(?:[-_][a-z]{2})?(?:\/|(?=[?#]|$)))?(?:index\.\w+|home|about(?:-us)?|company|careers|jobs|contact(?:-us)?|corporate|press|impressum|legal)?\/?(?:\?(?:(?:hl|lang(?:uage)?|locale|ref|[a-z]+clid|utm_\w+)=[^&#]*&?)*)?(?:#[\w-]*)?$/i

/** What a search, a map or a translation is called in a query. */
const asked =
  '(?:q|qs|query|text|wd|kw|keywords?|search(?:_?(?:query|term))?|search_for|term|find_desc|suche|busca)'
/**
 * Pages of whatever search engine, map, translator, archive or redirection, without scheme and `www`: with a question or another
 * address behind their host.
 */
const anyTool = new RegExp(
  [
    // Another address in the path, as archives have it, or in the query.
    '^[^/?#\\s]+/[^?#\\s]*(?:https?:/|https?%3a|/www\\.[a-z0-9-]+\\.[a-z])',
    '[?&#](?:u|url|uri|link|target|dest(?:ination)?|site|domain|website|to)=(?:https?(?::|%3a)|www\\.)',
    '^[^/?#\\s]+/(?:[^?#\\s]*/)?(?:web/(?:\\d{8,14}|\\d{4,7}[^/]*/[a-z0-9-]+\\.[a-z])|wayback/|maps?/(?:place|dir|search|poi|@)|translate/?\\?)',
    // A question to a page that answers some.
    '^[^/?#\\s]+/?(?:[a-z-]{2,5}/)?(?:search|suche|recherche|web|serp|results?|find|input|translate|translator|maps?)?' +
      `(?:/|\\.\\w{3,4})?[?#](?:[^\\s]*&)?${asked}=(?!node|[^&]*/)[^&\\s]`,
    // A host that is named for it.
    '^(?:search|suche|recherche|translate|translator|webcache|wayback|webarchive?|cache)\\.[^/?#\\s]+/[^\\s]',
    '^(?:maps?|karten?|mapa|mapy)\\.[^/?#\\s]+/[^\\s]*(?:[?&#]|maps?/|place|poi|@)',
  ].join('|'),
  'i',
)
/** Whether a text has more behind its host than most have. */
const hasMore = /[?#]|[^/:]\/[^/\s]/

/** Whether a text at a domain is a tool's page. Few hosts have any, and the patterns are long. */
function isToolPage(text: string, domain: string): boolean {
  const isKnown = toolHosts.has(domain.slice(0, domain.indexOf('.'))) || domain.endsWith('.goog')
  if (isKnown && toolPage.test(text)) return true
  // A domain by itself is no page.
  if (text === domain) return false
  const isOfTool = tools.has(domain)
  if (!hasMore.test(text)) return isOfTool && !isBareHost(text, domain)
  const bare = text.trim().replace(beforeHost, '')
  return (isOfTool && !ownPage.test(bare)) || anyTool.test(bare)
}

/** Whether a text at a domain looks like a page of a tool, at a host that is not known as one. */
const mayBeOwn = (text: string, domain: string): boolean =>
  !shared.has(domain) &&
  !tools.has(domain) &&
  !toolPage.test(text) &&
  anyTool.test(text.trim().replace(beforeHost, ''))

const beforeHost = /^(?:https?:)?(?:\/\/)?(?:www\d?\.)?/i

/** The last addresses in the usual spelling and their domains: that of a row is asked for four times. */
const usualSites = new Map<string, string>()
const mostUsualSites = 1_024

/** Returns the domain of an address in the usual spelling at a host of one's own, whatever name is beside it. */
function toUsualSite(text: string): string | undefined {
  const known = usualSites.get(text)
  if (known !== undefined) return known
  const domain = toUsualDomain(text)
  if (domain === undefined || shared.has(domain) || isTunnel(text, domain) || isToolPage(text, domain))
    return undefined
  if (usualSites.size >= mostUsualSites) usualSites.clear()
  usualSites.set(text, domain)
  return domain
}

/** Whether a page that may be any tool's is one at the site of the company with a name. */
const isPageOfOwner = (text: string, name: string, domain: string): boolean =>
  !tools.has(domain) && !shared.has(domain) && isOwner(name, domain) && !toolPage.test(text)

const aroundHost = /^(?:https?:)?(?:\/\/)?(?:(?:www\d?|m)\.)*|\.?(?::\d+)?\/?(?:[?#].*)?$/gs

const isBareHost = (text: string, domain: string): boolean =>
  [text.trim(), tidyAddress(text)].some((one) => one.toLowerCase().replace(aroundHost, '') === domain)

/** Names of owners, without spaces, that their hosts do not have. */
const owners: Readonly<Record<string, readonly string[]>> = ownHosts

/** Returns whether a name is that of a shared host (`TikTok Ltd.`, `bitly`) or of the company that is known to own it. */
function isOwner(name: string, domain: string): boolean {
  const hostNames = [domain.slice(0, domain.indexOf('.')), domain].map(toCompactName)
  const { folds } = readWrittenName(name, () => undefined)
  return [...folds.keys()].map(toCompactName).some((fold) => {
    const hosts = Object.hasOwn(owners, fold) ? owners[fold] : undefined
    return hostNames.includes(fold) || hosts?.includes(domain) === true
  })
}

const toCompactName = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, '')
