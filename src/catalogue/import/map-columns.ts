import { type Note, Refusal } from '../../api/calls/errors.js'
import { once, resultOr } from '../../api/values/objects.js'
import {
  columnNamed,
  familyNameIn,
  isColumnName,
  isOwnColumn,
  isPhoneOfOthers,
  isPlainName,
  isPrivateAddress,
  isUnnamed,
  mentionsAddresses,
  normaliseName,
  synonymsOf,
} from '../../csv/names.js'
import { parseProfile } from '../../identity/profile.js'
import {
  bool,
  country,
  date,
  decimal,
  employeeRange,
  type FieldReader,
  wholeNumber,
} from '../../identity/readers.js'
import {
  areOwnAddresses,
  areOwnProfiles,
  areOwnSites,
  fitsColumn,
  isProfileKind,
  isStandIn,
  kindsOfField,
  type NamesBeside,
  toColumnKind,
  toSoleKind,
  type ValueKind,
} from '../../identity/value-kinds.js'
import type { RecordKind } from '../kinds/kind.js'
import { fields } from '../records/fields.js'

/** Fields that identify a record of each kind: a file needs at least one of each group. */
export const requiredFields: Readonly<Record<RecordKind, readonly (readonly string[])[]>> = {
  companies: [['domain', 'website', 'network_url', 'network_id']],
  people: [
    'network_profile_url premium_profile_url network_id email full_name last_name first_name'.split(' '),
  ],
  jobs: [
    ['job_title'],
    ['company_domain', 'company_network_url', 'company_network_id', 'company_name', 'company'],
  ],
  posts: [['post_url']],
}

/**
 * Maps the columns of a header to the fields of a kind: explicitly, where an empty column is none, else by field name, else by a common synonym, where the
 * field can hold their first cells; else by what these are. Columns without a value come last. Throws when no column
 * identifies a record.
 */
export function mapColumns(
  kind: RecordKind,
  header: readonly string[],
  explicit: Readonly<Record<string, string>> = {},
  samples: readonly (readonly string[])[] = [],
) {
  const columnOf = chosenColumns(kind, header, explicit)
  const left = new Set(Object.keys(explicit).filter((field) => explicit[field] === ''))
  const ids = readCompanyIds(samples)
  const names = header.map(normaliseName)
  const beside = namesBeside(kind, header, samples)
  // Beside the title of a job, a plain `Title` is how people are addressed, and so is one of `Dr.` and `Prof.`.
  const isSalutation = (field: string, at: number) => {
    if (field !== 'title') return false
    const cells = samples[at] ?? []
    const addressed = cells.filter((cell) => howAddressed.test(cell)).length
    return (names[at] === 'title' && names.includes('jobtitle')) || addressed * 2 > cells.length
  }
  const familyName = kind === 'people' ? familyNameIn(header, samples) : -1
  // Beside `Firma`, a plain `Name` is that of somebody there.
  const isPlain = (at: number) => isPlainName(names[at] ?? '')
  const isOfSomebody =
    kind === 'companies' &&
    header.some((column, at) => {
      const isName = matchFields(kind, column).some(({ field, rank }) => field === 'name' && rank < likely)
      return isName && !isPlain(at) && samples[at]?.length !== 0
    })
  const rankOf = ({ field, rank }: Guess, at: number) =>
    isOfSomebody && field === 'name' && isPlain(at) ? Math.max(rank, likely) : rank
  const guesses = header.flatMap((column, at) =>
    guessFields(kind, at === familyName ? 'last_name' : column, samples[at] ?? [], ids, beside)
      .filter(({ field }) => !isSalutation(field, at))
      .map((guess) => ({ ...guess, rank: rankOf(guess, at), at, isEmpty: samples[at]?.length === 0 })),
  )
  guesses.sort((a, b) => Number(a.isEmpty) - Number(b.isEmpty) || a.rank - b.rank || a.at - b.at)
  for (const { field, at, rank } of guesses) {
    if (left.has(field) || columnOf.has(field) || [...columnOf.values()].includes(at)) continue
    if (rank < onlyWithout || findUnfilled(kind, columnOf)) columnOf.set(field, at)
  }
  const addresses =
    kind !== 'companies' || left.has('domain')
      ? []
      : header.flatMap((column, at) =>
          toColumnKind(samples[at]) === 'email' && mayNameCompany(kind, column, samples[at] ?? [], beside)
            ? [at]
            : [],
        )
  if (addresses[0] !== undefined && findUnfilled(kind, columnOf)) columnOf.set('domain', addresses[0])
  checkRequired(kind, header, columnOf)
  const used = new Set(columnOf.values())
  const moreOf = (field: 'email' | 'phone') =>
    columnOf.has(field) && !Object.hasOwn(explicit, field)
      ? guesses.filter(
          (guess) => guess.field === field && !used.has(guess.at) && isFurther(kind, guess, header),
        )
      : []
  const more = {
    email: moreOf('email').map(({ at }) => at),
    phone: moreOf('phone').map(({ at }) => at),
    // An address of a company's own names its domain, where a row has no website.
    domain: addresses.filter((at) => !used.has(at)),
  }
  const mapped = [...columnOf].sort(([, one], [, other]) => one - other)
  const byColumn = new Map(mapped.map(([field, at]) => [at, field]))
  return {
    /** The field of each column, in order. */
    fields: header.map((_, at) => byColumn.get(at)),
    mapping: Object.fromEntries(mapped.map(([field, at]) => [field, header[at] ?? ''])),
    /** Further columns of addresses and phones, the best first. A person has all the phones, else the first that is filled counts. */
    more,
    ignored: header.filter(
      (name, at) =>
        !byColumn.has(at) && !Object.values(more).flat().includes(at) && name !== '' && !isOwnColumn(name),
    ),
    notes: (['email', 'phone', 'domain'] as const).flatMap((field): Note[] => {
      const columns = more[field].map((at) => nameAt(header, at))
      if (columns.length === 0) return []
      if (field === 'domain') return [{ code: 'import.domain_of_email', details: { columns } }]
      const column = nameAt(header, columnOf.get(field) ?? 0)
      return [
        { code: 'import.more_columns', details: { field, column, columns, keepsAll: hasMany(kind, field) } },
      ]
    }),
    samples: Object.fromEntries(mapped.map(([field, at]) => [field, samples[at]?.[0] ?? ''])),
  }
}

/** Returns the name of a column; of several with the same one, with its number. */
const nameAt = (header: readonly string[], at: number): string | undefined =>
  header.indexOf(header[at] ?? '') === header.lastIndexOf(header[at] ?? '')
    ? header[at]
    : `${header[at]} (${at + 1})`

/** Returns the columns that somebody chose for fields. Throws where there is no such field or column. */
export function chosenColumns(
  kind: RecordKind,
  header: readonly string[],
  explicit: Readonly<Record<string, string>>,
): Map<string, number> {
  const columnOf = new Map<string, number>()
  for (const [name, column] of Object.entries(explicit)) {
    const field = checkField(kind, name)
    if (column !== '') columnOf.set(field, findColumn(header, column))
  }
  return columnOf
}

/** Cells that say how somebody is addressed, and not what they do. */
const howAddressed =
  /^(?:(?:herrn?|frau|hr|mr|mrs|ms|mx|mme|dr|prof|dipl|mag|ing|priv|doz|med|jur|phil|rer|nat|h|c|mult|mba|phd)(?:[.\s-]+|$))+$/i

/** Whether a record has all the values that columns have for a field. */
export const hasMany = (kind: RecordKind, field: string): boolean => kind === 'people' && field === 'phone'

/** Whether a column has further values of a field that another one fills, which are nobody else's. */
const isFurther = (
  kind: RecordKind,
  { field, at, rank, isEmpty }: Guess & { at: number; isEmpty: boolean },
  header: readonly string[],
) => !isEmpty && (field === 'phone' ? !isPhoneOfOthers(kind, header[at] ?? '') : rank <= likely)

/** A field that a column may fill, and how sure that is: 0 is best. */
interface Guess {
  readonly field: string
  readonly rank: number
}

const likely = 2
/** Email addresses below the name of a domain: a field for email addresses, or a column of domains, comes first. */
const standIn = 2.5
/** Values that are all of one kind, below a name that says nothing. */
const byValues = 2.7
const lastResort = 3
/** Values that may be anything's, where a record could not be identified at all without them. */
const onlyWithout = 4
const never = Number.POSITIVE_INFINITY

/** Returns the ids in the profile URLs of companies that a file has. */
const readCompanyIds = (samples: readonly (readonly string[])[]): ReadonlySet<string | undefined> =>
  new Set(
    samples
      .filter((cells) => toColumnKind(cells) === 'company profile')
      .flatMap((cells) => cells.map((cell) => parseProfile(cell)?.id)),
  )

/**
 * Returns the fields of a column: by its name, or, where its cells are of another kind, the field that is made for them.
 * A `Company ID` is often a number of another tool, so it counts only if the profile URLs of the file have it.
 */
function guessFields(
  kind: RecordKind,
  column: string,
  cells: readonly string[],
  companyIds: ReadonlySet<string | undefined>,
  beside: NamesBeside,
): readonly Guess[] {
  const isCompanyId = cells.filter((cell) => companyIds.has(cell)).length * 2 > cells.length
  const named = matchFields(kind, column).filter(
    ({ field, rank }) => rank < lastResort || (field.endsWith('network_id') && isCompanyId),
  )
  const held = toColumnKind(cells, column)
  const fitting = named.find(
    ({ field }) => fitsColumn(kind, field, held, cells) && canRead(kind, field, cells),
  )
  if (fitting && held === 'person profile') return [{ ...fitting, field: ofProfiles(fitting.field, cells) }]
  const isStanding = fitting !== undefined && isStandIn(fitting.field, held)
  if (fitting && !isStanding) return [fitting]
  const isNamed = named.length > 0 || isUnnamed(column)
  if (held === undefined || held === 'person name') return []
  if (held === 'email' && kind === 'companies' && !mayNameCompany(kind, column, cells, beside)) return []
  const of = kind === 'companies' ? kind : 'people'
  if (!isNamed && isProfileKind(held) && !areOwnProfiles(of, column, cells, beside)) return []
  // Below a name that is no field's, values count that are all alike.
  const isElse = isColumnName(column) && !isProfileKind(held)
  if (
    !isNamed &&
    (isElse ||
      toSoleKind(cells) !== held ||
      (held === 'phone' && isPhoneOfOthers(kind, column)) ||
      (held === 'email' && kind === 'people' && !areOwnAddresses(kind, column, cells, beside)))
  )
    return []
  if (held === 'email' && kind === 'people' && isPrivateAddress(column))
    return [{ field: 'personal_email', rank: byValues }]
  const known = [...(kind === 'people' ? ['phone'] : []), ...Object.keys(fields[kind])]
  const field =
    known.find((one) => kindsOfField(kind, one)?.includes(held)) ?? known.find((one) => isStandIn(one, held))
  const isSure = isUnnamed(column) || (isNamed && (held !== 'web address' || beside.companies.length === 0))
  const rank = isSure ? likely : rankByValues(column, held, cells, beside.companies)
  return [
    ...(field === undefined || rank === never ? [] : [{ field: ofProfiles(field, cells), rank }]),
    ...(isStanding ? [{ ...fitting, rank: standIn }] : []),
  ]
}

/** Whether email addresses of a column may name the companies of its rows: others are those of account managers, say. */
const mayNameCompany = (
  kind: RecordKind,
  column: string,
  cells: readonly string[],
  beside: NamesBeside,
): boolean =>
  isUnnamed(column) ||
  matchFields(kind, column).length > 0 ||
  (mentionsAddresses(column) && areOwnAddresses('companies', column, cells, beside))

/**
 * Returns how sure a column is by its values. Web addresses may be anything's: those that are not companies' own, or are somebody
 * else's by their name, are a last resort. Beside the names of the companies they are not even that.
 */
function rankByValues(
  column: string,
  kind: ValueKind,
  cells: readonly string[],
  companyNames: readonly (readonly string[])[],
): number {
  if (kind !== 'web address' || areOwnSites(column, cells, companyNames)) return byValues
  return companyNames.length === 0 ? onlyWithout : never
}

/** Returns the cells of the columns that are named for the names of the companies or people of the rows, and may hold them. */
function namesBeside(
  kind: RecordKind,
  header: readonly string[],
  samples: readonly (readonly string[])[],
): NamesBeside {
  const cellsOf = (names: readonly string[]) =>
    header.flatMap((column, at) => {
      const cells = samples[at] ?? []
      const field =
        cells.length > 0 && matchFields(kind, column).find((one) => names.includes(one.field))?.field
      return field && fitsColumn(kind, field, toColumnKind(cells), cells) ? [cells] : []
    })
  return {
    companies: cellsOf([kind === 'companies' ? 'name' : 'company_name']),
    people: kind === 'people' ? cellsOf(['first_name', 'last_name', 'full_name']) : [],
  }
}

/** Returns which of the two fields for profiles of people is for those that a column holds. */
function ofProfiles(field: string, cells: readonly string[]): string {
  if (field !== 'network_profile_url' && field !== 'premium_profile_url') return field
  const premium = cells.filter((cell) => cell.includes('/sales/')).length
  return premium * 2 > cells.length ? 'premium_profile_url' : 'network_profile_url'
}

/** Fields of which any other text is refused. */
const strict: ReadonlySet<unknown> = new Set([wholeNumber, decimal, bool, date, country, employeeRange])

/** Too few cells say nothing about a column: their rows are refused. */
const fewCells = 5

/** Whether a field can hold at least half of the cells of a column. */
function canRead(kind: RecordKind, field: string, cells: readonly string[]): boolean {
  const read = (fields[kind] as Readonly<Record<string, FieldReader<unknown>>>)[field]
  if (!read || !strict.has(read) || cells.length < fewCells) return true
  const unread = cells.filter((cell) => resultOr(cell, () => void read(cell)) !== undefined)
  return unread.length * 2 <= cells.length
}

/** Returns the field that a key or column stands for; `undefined` when none. */
export const findField = (kind: RecordKind, column: string): string | undefined =>
  matchFields(kind, column).find(({ rank }) => rank < lastResort)?.field

/** Returns the fields that a column is named for, the surest first. */
const matchFields = (kind: RecordKind, column: string): readonly Guess[] =>
  isOwnColumn(column) ? [] : (fieldsByName[kind]().get(normaliseName(column)) ?? [])

const fieldsByName: Readonly<Record<RecordKind, () => ReadonlyMap<string, readonly Guess[]>>> = {
  companies: once(() => toFieldsByName('companies')),
  people: once(() => toFieldsByName('people')),
  jobs: once(() => toFieldsByName('jobs')),
  posts: once(() => toFieldsByName('posts')),
}

/** Returns the fields of each name of a column in its usual form, the surest first. */
function toFieldsByName(kind: RecordKind): ReadonlyMap<string, readonly Guess[]> {
  const guesses = [...Object.keys(fields[kind]), ...(kind === 'people' ? ['phone'] : [])].flatMap((field) => {
    const { sure = [], likely = [], lastResort = [] } = synonymsOf(kind, field)
    const ranks = new Map<string, number>()
    for (const [rank, names] of [[field], sure, likely, lastResort].entries())
      for (const name of names.map(normaliseName)) if (!ranks.has(name)) ranks.set(name, rank)
    return [...ranks].map(([name, rank]) => ({ name, guess: { field, rank } }))
  })
  guesses.sort((one, other) => one.guess.rank - other.guess.rank)
  const byName = new Map<string, Guess[]>()
  for (const { name, guess } of guesses) byName.set(name, [...(byName.get(name) ?? []), guess])
  return byName
}

/** Returns the field. Throws when records of the kind do not have it. */
export function checkField(kind: RecordKind, field: string): string {
  if (Object.hasOwn(fields[kind], field) || (kind === 'people' && field === 'phone')) return field
  throw new Refusal('import.no_field', { kind, field, known: Object.keys(fields[kind]) })
}

function findColumn(header: readonly string[], column: string): number {
  const at = columnNamed(header, column)
  if (at < 0) throw new Refusal('import.no_column', { column, known: header, line: 1 })
  return at
}

function checkRequired(kind: RecordKind, header: readonly string[], columnOf: ReadonlyMap<string, number>) {
  const oneOf = findUnfilled(kind, columnOf)
  if (!oneOf) return
  const isNamed = header.some((name) => isUnnamed(name) || isColumnName(name))
  throw new Refusal('import.unidentified', { kind, oneOf, field: oneOf[0], header, isNamed, line: 1 })
}

/** Returns fields of which a record needs one, and that no column fills. */
const findUnfilled = (kind: RecordKind, columnOf: ReadonlyMap<string, number>) =>
  requiredFields[kind].find((oneOf) => !oneOf.some((field) => columnOf.has(field)))
