import { once } from '../api/values/objects.js'
import synonyms from './header-synonyms.json' with { type: 'json' }
import { rejectColumns, statusColumns } from './own-columns.js'

/** What the columns of a field are commonly called. */
export interface Synonyms {
  /** Names that mean the field. */
  readonly sure?: readonly string[]
  /** Names that are taken when nothing better is there. */
  readonly likely?: readonly string[]
  /** Names that are taken when a row could not be looked up at all without them. */
  readonly lastResort?: readonly string[]
}

type SynonymsByField = Readonly<Record<string, Synonyms>>

const listed: Readonly<Record<string, SynonymsByField>> = synonyms

/** Fields of companies whose names columns of other records have, too. */
const fieldsOfCompany: SynonymsByField = {
  company_name: { sure: ['name', ...(synonyms.companies.name.sure ?? [])] },
  company_domain: {
    sure: ['domain', 'website', ...synonyms.companies.domain.sure, ...synonyms.companies.website.sure],
  },
}

/** Fields of which a file may have several columns, the first with a number: `Company 1`, `E-Mail 1`. */
const numbered =
  'name domain website first_name last_name full_name email phone company_name company_domain'.split(' ')

/** The synonyms that are listed, with those that follow from others and that no field of the same record is listed with. */
const byKind = new Map(
  Object.entries(listed).map(([kind, fields]) => [kind, once(() => withDerived(kind, fields))]),
)

const ofKind = (kind: string): SynonymsByField => byKind.get(kind)?.() ?? {}

function withDerived(kind: string, fields: SynonymsByField): SynonymsByField {
  const isCompany = kind === 'companies'
  const all = isCompany
    ? Object.keys(fields)
    : [...new Set([...Object.keys(fields), ...Object.keys(fieldsOfCompany)])]
  const names = Object.entries(fields).map(([field, known]) => ({ field, all: namesOf([[field, known]]) }))
  return Object.fromEntries(
    all.map((field) => {
      const { likely = [], lastResort = [] } = fields[field] ?? {}
      const less = new Set([...likely, ...lastResort].map(normaliseName))
      const isFree = (name: string) => {
        const plain = normaliseName(name)
        return !less.has(plain) && !names.some((other) => other.field !== field && other.all.has(plain))
      }
      const own = fields[field] ?? {}
      const more = isCompany ? [] : (fieldsOfCompany[field]?.sure ?? [])
      const sure = [...(own.sure ?? []), ...more.filter(isFree)]
      // `Name 1` is the first line of a company's name in some programs, and listed there.
      const first = numbered.includes(field)
        ? [field, ...sure].filter((name) => !/\d$/.test(name) && name !== 'name').map((name) => `${name} 1`)
        : []
      return [field, { ...own, sure: [...sure, ...first.filter(isFree)] }]
    }),
  )
}

/** Returns the synonyms of a field of companies, people, jobs or posts; empty when it has none. */
export const synonymsOf = (kind: string, field: string): Synonyms => ofKind(kind)[field] ?? {}

/** Whether a column comes from an earlier output or rejects file: it says nothing about whom a row is about. */
export const isOwnColumn = (name: string): boolean =>
  [...rejectColumns, ...statusColumns].some((own) => own === name)

const firstNames = once(() =>
  namesOf([['first_name', { sure: synonymsOf('people', 'first_name').sure ?? [] }]]),
)
const lastNames = once(() => namesOf([['last_name', { sure: synonymsOf('people', 'last_name').sure ?? [] }]]))

/**
 * Returns the position of a column of family names that is only called `Name`, as beside `Vorname`; -1 where there is none.
 * Its cells are words, and no full names.
 */
export function familyNameIn(
  header: readonly string[],
  samples: readonly (readonly string[])[] = [],
): number {
  const names = header.map(normaliseName)
  if (!names.some((name) => firstNames().has(name)) || names.some((name) => lastNames().has(name))) return -1
  const at = names.findIndex(
    (name) => ['name', 'nom', 'naam', 'nome'].includes(name) && !firstNames().has(name),
  )
  const cells = samples[at] ?? []
  return cells.filter((cell) => /\S\s+\S/.test(cell)).length * 2 > cells.length ? -1 : at
}

/** Returns the name of a column in a file without a header. */
export const toUnnamed = (_: unknown, at: number): string => `column_${at + 1}`

export const isUnnamed = (column: string): boolean => /^column_\d+$/.test(column)

/** Whether a cell is the name of a column in a file that was written from one without a header. */
export const isOwnName = (cell: string): boolean => isOwnColumn(cell) || cell === 'column_1'

const namesOf = (fields: readonly (readonly [field: string, known: Synonyms])[]): ReadonlySet<string> =>
  new Set(fields.flatMap(([field, known]) => [field, ...Object.values(known).flat()]).map(normaliseName))

const columnNames = once(() => namesOf(Object.keys(listed).flatMap((kind) => Object.entries(ofKind(kind)))))
const namesOfPeople = once(() =>
  namesOf(
    ['first_name', 'last_name', 'full_name'].map((field) => [field, synonymsOf('people', field)] as const),
  ),
)

/** Whether a name says no more than that: of a company, or of somebody there. `name` is in its usual form. */
export const isPlainName = (name: string): boolean => name === 'name' || name === 'naam'

export const isColumnName = (name: string): boolean => columnNames().has(normaliseName(name))

const namesOfKind = {
  companies: once(() => namesOf(Object.entries(ofKind('companies')))),
  people: once(() => namesOf(Object.entries(ofKind('people')))),
}

/** Whether a name is one of a column of companies or people, whatever it is in files of other records. */
export const isNameOf = (kind: 'companies' | 'people', name: string): boolean =>
  namesOfKind[kind]().has(normaliseName(name))

/** Whether a column of this name may hold names of people. */
export const isNameOfPeople = (name: string): boolean => namesOfPeople().has(normaliseName(name))

/** Names of columns with numbers of faxes, or at which somebody else answers. */
const phonesOfOthers = /fax|telecopie|asst|assist|emergency|notfall|pager/
const phonesOfCompanies = /company|corporate|switchboard|zentrale|vertrieb|einkauf|sales/

/** Whether a column of phone numbers has, by its name, none at which the person or company of a row answers. */
export function isPhoneOfOthers(kind: string, column: string): boolean {
  const name = normaliseName(column)
  if (phonesOfOthers.test(name) || belongsToColleague(column)) return true
  return kind === 'people'
    ? phonesOfCompanies.test(name) || belongsToOthers(column, phoneWord)
    : belongsToOthers(column, phoneWord, mailboxWord)
}

/** Names of columns with websites of somebody or something else than the company of a row. */
const sitesOfOthers = new RegExp(
  'referr|competit|competid|wettbewerb|mitbewerb|konkurren|concurren|concorren|source|quelle|herkunft|fuente|partner|agenc|agentur|' +
    'hosting|nameserver|blog|portfolio|persona?l|privat|previous|former|^alte|^old|ancien|antigu|vecchi|parent|mutter|konzern|' +
    'redirect|track|provider|anbieter|distribut|handler|reseller|karriere|career|stellen|landing|kampagne|campa|datei|spam|block',
)

/** Whether a column of websites has, by its name, none of the company of a row. */
export const isSiteOfOthers = (column: string): boolean =>
  sitesOfOthers.test(normaliseName(column)) || belongsToColleague(column)

/** Words for a website or its address in the name of a column, with marks removed. */
const siteWord =
  /^(?:sites?|urls?|www|web(?:sites?|seiten?|adress\w*|address\w*|pages?|pagina|auftritt|prasenz|links?|urls?|domains?|adres)?|internet(?:adress\w*|seiten?|auftritt|prasenz|domain)?|seite|strona|strony|witryn\w*|pagina|sitio|sito|domein|domeinnaam|dominio|domini|domaine|domen\w|\w*(?:websites?|webseiten?|homepage|domains?|domane|domanenname|domainname))$/
/** Words for somebody, or something, whose address a row may have beside that of its company. */
const relation =
  /suppl|vendor|lieferant|fourniss|proveedor|fornit|dostawc|leveranc|invest|bank|steuer|kanzlei|regist|konkur|wiederverk|host|heberg|shop|cdn|login|portal|refer|backlink|found|gefunden|messe|event|besucht|visit|ats$|^ats/

/** Words that say whose website it is where that is the company of the row, or nothing. */
const ownWord =
  /^(?:compan\w*|corporate|business|firm\w*|unternehmens?|betriebs?|organi[sz]ation\w*|org|accounts?|kundens?|kunde|clients?|clientes?|customers?|klant\w*|klient\w*|leads?|prospects?|interessent\w*|societes?|entreprises?|empresas?|azienda\w*|ditta|bedrijfs?\w*|spolk\w*|foretag\w*|virksomhe\w*|yritys\w*|official|offizielle|officiel\w*|oficial|ufficiale|primary|main|haupt|own|eigene|name|namen?|address|adresse|adres|link|home|page|of|the|de|du|della?|der|des|di|do|la|le|l|d|s|online|email)$/

/** Words of a column's name, without marks. */
const wordsIn = (column: string): readonly string[] =>
  column
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/ß/g, 'ss')
    .replace(/ł/gi, 'l')
    .replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 ')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '')

/** Whether a word of a column's name says what it holds, and no other word makes that somebody else's than the row's. */
function isNamedFor(column: string, what: RegExp, ...whose: readonly RegExp[]): boolean {
  const words = wordsIn(column)
  return (
    words.some((word) => what.test(word)) &&
    words.every((word) => [what, ...whose].some((one) => one.test(word)))
  )
}

/** Whether the name of a column says that it holds websites, and no word of it says that they are somebody else's. */
export const isNamedForSites = (column: string): boolean =>
  !relation.test(normaliseName(column)) && !/mail/i.test(column) && isNamedFor(column, siteWord, ownWord)

/** Words for an address of email in the name of a column, and for somebody who works for the owner of the file, or for nobody else. */
const mailWord = /mail|courriel|correo|posta|messag|^info|contact|kontakt|contatto/
const colleague =
  /owner|manager|betreu|opiekun|handlow|zustand|erstell|creat|bearbeit|verantwort|responsab|proprieta|eigenaar|beheer|gestor|agent|berater|consult|vertret|rep$|assign|zugewiesen|user|benutz|auth?or|modif|geander|assist|sekretar|secretar|sdr|bdr|csm|kam$|vertriebler|innendienst|aussendienst|sachbearb|kontaktiert|contactedby|empf|recommend|raccomand|recomend|by$|von$|par$|durch$|beiuns|commercial|comercial|salesperson|salesrep|verkaufer|privat|personal|perso$/
/** Words for the address that somebody has outside their work. */
const privateWord =
  /priv|persona?l|perso$|persoonlijk|prywat|particul|personnel|domicil|freemail|zuhause|^home/

/** Whether a column has, by its name, what belongs to somebody who looks after the rows. */
const belongsToColleague = (column: string): boolean => {
  const name = normaliseName(column)
  return colleague.test(name) && !privateWord.test(name)
}

const profileWord =
  /^(?:linkedin|linked|in|\w*profil\w*|perfil|xing|urls?|links?|network|social|page|seite|web|salesnav\w*|navigator|facebook|twitter)$/
const phoneWord =
  /^(?:\w*phones?|p|t|\w*tel\w*|fon|\w*mobil\w*|mobiel\w*|movil|\w*handy\w*|cell\w*|celular\w*|portable|gsm|kom|komork\w*|numbers?|\w*nummern?|numero|numer|\w*nr|no|nos|durchwahl|festnetz|landline|dial|fixe?|line)$/
/** Words that say whose an address, a profile or a number is where that is the person of the row, or of which kind. */
const personWord =
  /^(?:persons?|personne|persona|people|contacts?|kontakt\w*|contatto|contacto|mitarbeiter\w*|employee|arbeit|travail|trabajo|lavoro|trabalho|work|werk|geschaft\w*|dienst\w*|zakelijke?|sluzbow\w*|firmow\w*|pro|profess\w*|beruf\w*|office|buro|bureau|direct[aeo]?|direkte?|secondary|secundari\w*|other|weitere[rs]?|zweite?|alternativ\w*|altern\w*|value|values|home|privat\w*|prive|prywatn\w*|persoonlijke?|personal\w*|personnel\w*|perso|e|id|unique|public|verified|valid\w*|clean\w*|new|neue?|current|aktuelle?|first|general|allgemein\w*|ansprechpartner\w*|x|std|standard|default|type|google|outlook|hubspot|full|raw|indirizzo|direccion|elettronic\w*|ele[ck]troni\w*|primare|poczt\w*|premium|sales|navigator|most|best|final|probable|likely|int|national|internation\w*|landes\w*|country|code)$/
/** Words for the mailboxes and numbers of a company. */
const mailboxWord =
  /^(?:infos?|billing|invoices?|rechnung\w*|buchhaltung\w*|accounting|support|service|zentrale|switchboard|hotline|central\w*|empfang|reception|einkauf\w*|bestell\w*|order\w*|sales|vertriebs?|office)$/

/** Whether the name of a column has a word for what it holds, and another one that makes it somebody else's than the row's. */
const belongsToOthers = (column: string, what: RegExp, ...whose: readonly RegExp[]): boolean =>
  wordsIn(column).some((word) => what.test(word)) && !isNamedFor(column, what, ownWord, personWord, ...whose)

/** Whether a column of profiles has, by its name, those of somebody else than the person or company of a row. */
export function isProfileOfOthers(kind: 'companies' | 'people', column: string): boolean {
  const name = normaliseName(column)
  if (kind === 'people') return belongsToColleague(column) || relation.test(name)
  return isSiteOfOthers(column) && !/source|quelle|herkunft|fuente/.test(name)
}

/** Whether the name of a column says that it holds profiles. */
export const isNamedForProfiles = (column: string): boolean =>
  isNamedFor(column, profileWord, ownWord, personWord)

/** Whether the name of a column says that it holds addresses of email. */
export const isNamedForAddresses = (column: string): boolean =>
  isNamedFor(column, mailWord, ownWord, personWord, mailboxWord)

/** Whether a column of email addresses has, by its name, those that people have outside their work. */
export const isPrivateAddress = (column: string): boolean => privateWord.test(normaliseName(column))

/** Whether a column of email addresses has, by its name, those of somebody else than the person or company of a row. */
export function isAddressOfOthers(kind: 'companies' | 'people', column: string): boolean {
  const name = normaliseName(column)
  return (kind === 'people' ? belongsToColleague(column) : colleague.test(name)) || relation.test(name)
}

/** Whether a word in the name of a column means addresses of email. */
export const mentionsAddresses = (column: string): boolean => mailWord.test(normaliseName(column))

/**
 * Returns a column name without case, accents, spaces and punctuation: `Company Name` and `company_name` are equal, and so
 * are `first_name` and `lead.first_name`, as results name it.
 */
export function normaliseName(name: string): string {
  // Most names, of which a file is compared with thousands.
  if (/^[ -~]*$/.test(name))
    return name
      .toLowerCase()
      .replace(/^lead\.(?=.)/, '')
      .replace(/[^a-z0-9]/g, '')
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/^lead\.(?=.)/, '')
    .replace(/ß/g, 'ss')
    .replace(/œ/g, 'oe')
    .replace(/æ/g, 'ae')
    .replace(/ø/g, 'o')
    .replace(/ł/g, 'l')
    .replace(/[^\p{L}\p{N}]/gu, '')
}

/** Returns the position of a column by its name, in any spelling, or by its number in a file without names; -1 where there is none. */
export function columnNamed(header: readonly string[], name: string): number {
  const exact = header.indexOf(header.includes(name) ? name : `column_${name}`)
  const plain = normaliseName(name)
  return exact >= 0 || plain === '' ? exact : header.findIndex((column) => normaliseName(column) === plain)
}

/** A column that got a name of its own, because an earlier one has the name that it had. */
export interface RepeatedName {
  readonly name: string
  readonly as: string
}

/** Values of a field that were left out of their records because they were not understood. */
export interface LeftOutValues {
  readonly field: string
  readonly values: number
  /** The first of them. */
  readonly sample: string
}

export interface LeftOutValue {
  readonly field: string
  readonly value: unknown
  readonly reason: string
}

export type LeaveOut = (field: string, value: unknown, reason: string) => void

const sampleCharacters = 60

export class LeftOutCounter {
  readonly #counts = new Map<string, { values: number; readonly sample: string }>()

  add(field: string, value: unknown, values = 1): void {
    const known = this.#counts.get(field)
    if (known) known.values += values
    else this.#counts.set(field, { values, sample: toSample(value) })
  }

  addRow(values: readonly Pick<LeftOutValue, 'field' | 'value'>[]): void {
    for (const { field, value } of values) this.add(field, value)
  }

  addAll(counts: readonly LeftOutValues[]): void {
    for (const { field, sample, values } of counts) this.add(field, sample, values)
  }

  /** Returns the counts, the field with the most values first. */
  get counts(): LeftOutValues[] {
    return [...this.#counts]
      .map(([field, count]) => ({ field, ...count }))
      .sort((one, other) => other.values - one.values)
  }
}

function toSample(value: unknown): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).trim()
  return text.length > sampleCharacters ? `${text.slice(0, sampleCharacters - 1)}…` : text
}
