import type { z } from 'zod'
import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { ApiError, type Note, Refusal } from '../../api/calls/errors.js'
import type { Identity } from '../../api/operations/facts.js'
import { flagOf, type Operation } from '../../api/operations/table.js'
import { bare, coerceField, kindOf, mapCountries } from '../../api/validation/coerce.js'
import { findUnknown, refuseField, validate } from '../../api/validation/validate.js'
import { nearest } from '../../api/values/nearest.js'
import { getOrMake, once } from '../../api/values/objects.js'
import {
  columnNamed,
  familyNameIn,
  isColumnName,
  isNameOf,
  isNameOfPeople,
  isOwnColumn,
  isPhoneOfOthers,
  isPlainName,
  isPrivateAddress,
  isSiteOfOthers,
  isUnnamed,
  type LeftOutValue,
  normaliseName,
  type RepeatedName,
  type Synonyms,
  synonymsOf,
} from '../../csv/names.js'
import { checkCalculated, type UncalculatedColumn } from '../../csv/uncalculated.js'
import { toCountryCode } from '../../identity/country.js'
import { isGivenName, isNobody, isNothing, splitPersonName, toPersonName } from '../../identity/name.js'
import { toE164 } from '../../identity/phone.js'
import { parseProfile, toUsualUrl } from '../../identity/profile.js'
import { partsOf } from '../../identity/spelling.js'
import {
  areOwnAddresses,
  areOwnProfiles,
  areOwnSites,
  describeMisplaced,
  fitsColumn,
  isDomainInName,
  isMisplaced,
  isNameInDomain,
  isPlaceholder,
  isProfileKind,
  isStandIn,
  kindsOfField,
  toColumnKind,
  toDomain,
  toDomainCell,
  toEmail,
  toNameAndDomain,
  toSoleKind,
  toValueKind,
  type ValueKind,
} from '../../identity/value-kinds.js'
import { describing, identifying } from './identifying.js'

export interface MappingRequest {
  readonly header: readonly string[]
  /** The first non-empty cells of each column, in the order of the header. */
  readonly samples?: readonly (readonly string[])[]
  /** How the file was read, for the notes of the mapping. */
  readonly notes?: readonly Note[]
  /** Columns that got another name, because an earlier one has theirs. */
  readonly repeated?: readonly RepeatedName[]
  /** Columns of formulas without a stored value. */
  readonly uncalculated?: readonly UncalculatedColumn[]
  /** Whether the file reads like notes or a letter. */
  readonly isText?: boolean
  /** Input fields that a column may fill. */
  readonly fields: readonly string[]
  /** What a row is about. */
  readonly subject: Identity
  /** Columns by field, as the user wants them; an empty one for a field that no column is to fill. */
  readonly pins?: Readonly<Record<string, string>>
  /** Input of the rows that have no value for a field. */
  readonly constants?: Input
  /** Fields of which at least one is needed; by default the identifying ones. */
  readonly anyOf?: readonly string[]
}

interface MappedColumn {
  readonly field: string
  readonly column: string
  /** Position of the column, from 0. */
  readonly at: number
  /** Why: the user said so, the column has the field's name or a synonym or its values, or nothing better is there. */
  readonly by: 'pin' | 'name' | 'synonym' | 'values' | 'last resort'
  /** The first value of the column. */
  readonly sample?: string
  /** Which part of a full name the field is, where the column holds one. */
  readonly part?: 'first' | 'last'
  /** Further columns of addresses or numbers: the first that has one is used in a row without one in this column. */
  readonly orElse?: readonly Pick<MappedColumn, 'column' | 'at'>[]
}

export interface Mapping {
  readonly columns: readonly MappedColumn[]
  /** Columns that are carried along and not sent. */
  readonly unused: readonly string[]
  /** Choices that the user may want to change. */
  readonly notes: readonly Note[]
}

/** Reads `field=Column` pairs of `--map`; the column is empty where the field is to have none. */
export function parsePins(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw new Refusal('map.not_pair', { pair })
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    }),
  )
}

/** Matches the columns of a file with the fields of an operation; throws a Refusal. */
export function mapColumns(request: MappingRequest): Mapping {
  const { pins = {} } = request
  const left = Object.keys(pins).filter((field) => pins[field] === '')
  const pinned = pinnedColumns(request)
  const taken = new Set(pinned.map((column) => column.at))
  const filled = new Map<string, Guess>(pinned.map((column) => [column.field, { ...column, rank: -1 }]))
  const lost: Guess[] = []
  for (const guess of guesses(request)) {
    if (taken.has(guess.at) || left.includes(guess.field)) continue
    const isLast = guess.rank === lastResort
    if (isLast && (isIdentified(request, filled) || splitColumn(request, filled, taken).length > 0)) continue
    if (winnerOf(filled, guess.field)) lost.push(guess)
    else {
      taken.add(guess.at)
      filled.set(guess.field, guess)
    }
  }
  const others = new Map<MappedColumn, string[]>()
  for (const guess of lost) {
    const winner = winnerOf(filled, guess.field)
    const isEmpty = request.samples?.[guess.at]?.length === 0
    if (!winner || winner.by === 'pin' || isEmpty || taken.has(guess.at)) continue
    if (mayStandBy(guess, request)) {
      const orElse = [...(winner.orElse ?? []), { column: guess.column, at: guess.at }]
      taken.add(guess.at)
      filled.set(winner.field, { ...winner, orElse })
    } else if (guess.rank < likely || winner.rank >= likely)
      others.set(winner, [...(others.get(winner) ?? []), guess.column])
  }
  const split = splitColumn(request, filled, taken)
  for (const column of split) {
    taken.add(column.at)
    filled.set(column.field, column)
  }
  checkConstants(request, filled)
  checkUnambiguous(request, filled)
  checkCalculated(identifyingIn(request, filled), request.uncalculated ?? [])
  checkUsable(request, filled)
  return {
    columns: request.fields.flatMap((field) => toMapped(filled.get(field))),
    unused: request.header.filter((name, at) => !taken.has(at) && !isOwnColumn(name)),
    notes: [
      ...(request.notes ?? []),
      ...firstRowNotes(request),
      ...left.map((field): Note => ({ code: 'map.left', details: { name: spell(field) } })),
      ...split.slice(0, 1).map(({ column }): Note => ({ code: 'map.split', details: { column } })),
      ...[...others].map(([{ field, column }, columns]): Note => {
        const details = { columns, name: spell(field), column, other: columns[0] }
        return { code: 'map.others', details }
      }),
    ],
  }
}

/**
 * Returns the column of full names as that of first names and of last names, where these are asked for and have none of their
 * own.
 */
function splitColumn(
  { header, samples, fields, subject, constants = {}, pins = {} }: MappingRequest,
  filled: ReadonlyMap<string, unknown>,
  taken: ReadonlySet<number>,
): readonly Guess[] {
  const [first, last] = ['first', 'last'].map((part) =>
    fields.find((field) => field === `${part}_name` || field === `${part}name`),
  )
  if (subject === 'company' || fields.includes('full_name') || first === undefined || last === undefined)
    return []
  if ([first, last].some((field) => filled.has(field) || Object.hasOwn(pins, field) || field in constants))
    return []
  const named = new Set(['full_name', ...(synonymsOf('people', 'full_name').sure ?? [])].map(normaliseName))
  const mayHold = (at: number): number => {
    const kind = toColumnKind(samples?.[at], 'full_name')
    const name = normaliseName(header[at] ?? '')
    if (taken.has(at) || samples?.[at]?.length === 0) return -1
    if (named.has(name)) return fitsColumn('people', 'full_name', kind, samples?.[at]) ? 1 : -1
    return kind === 'person name' && !isColumnName(name) && !isOwnColumn(name) ? byValues : -1
  }
  const ranks = header.map((_, at) => mayHold(at))
  const rank = Math.min(...ranks.filter((one) => one > 0))
  const at = ranks.indexOf(rank)
  if (at < 0) return []
  const by = rank === byValues ? 'values' : 'synonym'
  return (
    [
      ['first', first],
      ['last', last],
    ] as const
  ).map(([part, field]): Guess => {
    const sample = (samples?.[at] ?? [])
      .map((cell) => partOfName(cell, part))
      .find((name) => name !== undefined)
    return {
      column: header[at] ?? '',
      at,
      rank,
      by,
      field,
      part,
      ...(sample === undefined ? {} : { sample }),
    }
  })
}

const partOfName = (name: string, part: 'first' | 'last'): string | undefined =>
  splitPersonName(name)?.[part === 'first' ? 0 : 1]

/** Returns what fills a field already; all fields of phone numbers ask for the same one. */
const winnerOf = (filled: ReadonlyMap<string, Guess>, field: string): Guess | undefined =>
  filled.get(field) ??
  (isOf('phone', field) ? [...filled.values()].find((guess) => isOf('phone', guess.field)) : undefined)

const isOf = (kind: ValueKind, field: string): boolean =>
  kindsOfField('people', field)?.includes(kind) === true

/** Whether a column has what stands for a blank cell of a better one: a further address, number or website of the same one. */
const mayStandBy = (
  { field, column, by, rank }: Guess,
  { header, subject, repeated = [] }: Pick<MappingRequest, 'header' | 'subject' | 'repeated'>,
): boolean => {
  if (isOf('phone', field)) return !isPhoneOfOthers(fileKindOf(subject), column)
  if (isOf('web address', field)) {
    // The results of an output are nobody's input, and of two columns with one name somebody has to choose.
    if (header.includes('_status') || repeated.some(({ as }) => as === column)) return false
    return rank < likely && !isSiteOfOthers(column)
  }
  return isOf('email', field) && by !== 'values'
}

/** Returns the positions of the columns that fill a field, the best first. */
export const positionsOf = ({ columns }: Pick<Mapping, 'columns'>, field: string): readonly number[] =>
  columns.flatMap((one) => (one.field === field ? placesIn(one) : []))

const placesIn = ({ at, orElse = [] }: MappedColumn): readonly number[] => [
  at,
  ...orElse.map((one) => one.at),
]

/** Throws a Refusal where an option and a column both say which company or person a row is about. */
function checkConstants(
  { subject, constants = {} }: MappingRequest,
  filled: ReadonlyMap<string, Pick<MappedColumn, 'column'>>,
): void {
  for (const [field, { column }] of filled) {
    const value = constants[field]
    if (value === undefined || ![...identifying[subject], ...describing].includes(field)) continue
    throw new Refusal('map.filled_twice', { field, flag: flagOf(field), column, value: String(value) })
  }
}

/** Throws a Refusal where a field is filled by one of several columns that the file gives the same name, and nobody chose it. */
function checkUnambiguous(
  { header, samples, repeated = [] }: MappingRequest,
  filled: ReadonlyMap<string, MappedColumn>,
): void {
  for (const { field, column, by, orElse = [] } of filled.values()) {
    const name = repeated.find(({ name, as }) => name === column || as === column)?.name
    if (by === 'pin' || name === undefined) continue
    const alike = [name, ...repeated.filter((one) => one.name === name).map(({ as }) => as)]
    const isChoice = (one: string) => one === column || orElse.every((other) => other.column !== one)
    const columns = alike.filter((one) => isChoice(one) && samples?.[header.indexOf(one)]?.length !== 0)
    if (columns.length > 1) throw new Refusal('map.same_names', { name, field: spell(field), columns })
  }
}

/** Returns the columns that say whom a row is about, with their fields as they are spelt for people. */
function identifyingIn({ subject }: MappingRequest, filled: ReadonlyMap<string, MappedColumn>) {
  const fields = [...identifying[subject], ...describing]
  return [...filled.values()].flatMap(({ field, column, at }) =>
    fields.includes(field) ? [{ field: spell(field), column, at }] : [],
  )
}

/** Returns the name of a field for people, spelt like its option. */
export const spell = (field: string): string => flagOf(field).replaceAll('-', '_')

/** Makes the input of a row from its cells, with the constants in place of empty ones. */
export function rowInput(
  mapping: Mapping,
  constants: Input = {},
  convert?: (field: string, cell: string) => unknown,
): (cells: readonly string[]) => Input {
  return (cells) => {
    const input: Record<string, unknown> = { ...constants }
    for (const column of mapping.columns) {
      const { field, at, part } = column
      const whole = (column.orElse ? firstFilled(column, cells) : cells[at])?.trim()
      const cell = part && whole ? partOfName(whole, part) : whole
      if (!cell) continue
      const value = convert ? convert(field, cell) : cell
      if (!isPlaceholder(field, cell)) input[field] = value
    }
    return input
  }
}

/**
 * Returns the first cell of the columns of a field that has a value of its kind, else the first that is not blank. Of phones it is
 * the first whose country is certain: others are not asked for. Of websites it is the first that is a company's own.
 */
function firstFilled(column: MappedColumn, cells: readonly string[]): string | undefined {
  const { field } = column
  const filled = placesIn(column).flatMap((at) => {
    const cell = cells[at]?.trim() ?? ''
    return cell === '' || isPlaceholder(field, cell) ? [] : [cell]
  })
  if (isOf('web address', field)) {
    const own = filled.find(
      (cell) => !cell.includes('@') && !isMisplaced('companies', field, cell) && toDomain(cell) !== undefined,
    )
    // Only a company's own site stands in for what the column itself has.
    return own ?? cells[column.at]?.trim()
  }
  const certain = isOf('phone', field) ? filled.find((cell) => toE164(cell) !== undefined) : undefined
  return (
    certain ??
    filled.find((cell) => kindsOfField('people', field)?.some((kind) => kind === toValueKind(cell))) ??
    filled[0]
  )
}

function pinnedColumns(request: MappingRequest): MappedColumn[] {
  const { header, samples, fields, pins = {} } = request
  return Object.entries(pins).flatMap(([field, name]): MappedColumn[] => {
    if (!fields.includes(field)) throw unknownName('field', spell(field), fields.map(spell))
    if (name === '') return []
    const at = columnNamed(header, name)
    if (at < 0) throw unknownName('column', name, header)
    checkPin(request, field, at)
    return [{ field, column: header[at] ?? name, at, by: 'pin', ...sampleAt(samples, at) }]
  })
}

/** Throws a Refusal where a column of profiles is to fill a field that is none. */
function checkPin({ header, samples, subject }: MappingRequest, field: string, at: number): void {
  const kind = toColumnKind(samples?.[at])
  if (!kind?.endsWith('profile') || fitsColumn(fileKindOf(subject), field, kind)) return
  const [sample] = samples?.[at] ?? []
  throw new Refusal('map.profiles', { field, column: header[at], kind, sample })
}

const sampleAt = (samples: MappingRequest['samples'], at: number): Pick<MappedColumn, 'sample'> => {
  const sample = samples?.[at]?.[0]
  return sample === undefined ? {} : { sample }
}

/** Returns the refusal of a field or column that does not exist, with the nearest one and all of them. */
export const unknownName = (kind: 'field' | 'column', name: string, known: readonly string[]): Refusal =>
  new Refusal('map.unknown_name', { kind, name, near: nearest(name, known), known })

interface Guess extends MappedColumn {
  /**
   * -1 for a pin, 0 for the field's own name, 1 for a sure synonym, 2 for a likely one or for values that another header
   * announces, 3 for a last resort.
   */
  readonly rank: number
}

const likely = 2
/** Email addresses below the name of a domain: a field for email addresses, or a column of domains, comes first. */
const standIn = 2.5
/** Values that are all of one kind, below a name that says nothing. */
const byValues = 2.7
const lastResort = 3

const toMapped = (guess: Guess | undefined): MappedColumn[] => {
  if (!guess) return []
  const { rank: _, ...column } = guess
  return [column]
}

const companyName = ['name']
const companyDomain = ['domain', 'website']
const companyUrl = ['network_url']
const profileUrl = ['network_profile_url', 'premium_profile_url']

/** The fields of records whose columns fill an input field, by what a row is about. */
const recordFields: Readonly<Record<'companies' | 'people', Readonly<Record<string, readonly string[]>>>> = {
  companies: {
    name: companyName,
    company_name: companyName,
    domain: companyDomain,
    company_domain: companyDomain,
    network_url: companyUrl,
    company_network_url: companyUrl,
    company_network_id: ['network_id'],
    country: ['country'],
    country_code: ['country'],
  },
  people: {
    network_url: profileUrl,
    network_profile_url: profileUrl,
    linkedin_url: profileUrl,
    first_name: ['first_name'],
    firstname: ['first_name'],
    last_name: ['last_name'],
    lastname: ['last_name'],
    company_name: ['company_name'],
    domain: ['company_domain'],
    company_domain: ['company_domain'],
    full_name: ['full_name'],
    personal_email: ['personal_email'],
    phone: ['phone'],
    email: ['email', 'personal_email'],
    phone_number: ['phone'],
    phone_numbers: ['phone'],
    country: ['country'],
  },
}

/** Returns the fields of records that fill an input field, the best first; the field itself where there are none. */
export const recordFieldsOf = (about: 'companies' | 'people', field: string): readonly string[] =>
  recordFields[about][field] ?? [field]

/** Returns the kind of records that rows about a subject are like. */
export const fileKindOf = (subject: Identity): 'companies' | 'people' =>
  subject === 'company' ? 'companies' : 'people'

/** Columns that may fill a field, the best first; among equals the one further left. */
function guesses(request: MappingRequest): Guess[] {
  const { header, samples, fields, subject } = request
  const about = fileKindOf(subject)
  const names = header.map(normaliseName)
  const kinds = header.map((column, at) => toColumnKind(samples?.[at], column))
  const ranks = fields.map((field) => namesOfField(about, field))
  const companyNames = companyNamesIn(request)
  const isKnown = (name: string) => ranks.some((sets) => sets.some((set) => set.has(name)))
  const isOfPeople = about === 'companies' && names.some((name) => personNames().has(name))
  const familyName = about === 'people' ? familyNameIn(header, samples) : -1
  const isOfPerson = (name: string) => isOfPeople && (isPlainName(name) || name === 'country')
  const found = fields.flatMap((field, index) => {
    const sets = ranks[index] ?? []
    return header.flatMap((column, at): Guess[] => {
      const name = names[at] ?? ''
      const isFamilyName = at === familyName && ['last_name', 'lastname', 'full_name'].includes(field)
      if (isFamilyName && field === 'full_name') return []
      const named = isFamilyName ? 1 : name === '' ? -1 : sets.findIndex((set) => set.has(name))
      const kind = kinds[at]
      const guess = { field, column, at, ...sampleAt(samples, at) }
      if (named >= 0 && fitsColumn(about, field, kind, samples?.[at])) {
        const rank = isOfPerson(name) ? likely : isStandIn(field, kind) ? Math.max(named, standIn) : named
        return [{ ...guess, by: howNamed[named] ?? 'synonym', rank }]
      }
      if (!isKnown(name) || !isMeant(about, field, kind)) return []
      const others = companyNames.flatMap((one) => (one.at === at ? [] : [one.cells]))
      const isOwn = kind !== 'web address' || areOwnSites(column, samples?.[at] ?? [], others)
      return [{ ...guess, by: 'values', rank: isOwn || others.length === 0 ? likely : lastResort }]
    })
  })
  // Columns without a value come last.
  const isEmpty = ({ at }: Guess) => samples?.[at]?.length === 0
  // An output has the columns of its input first, which fill rows that were not found too.
  const isOutput = header.includes('_status')
  const rankOf = ({ rank }: Guess) => (isOutput && rank < likely ? 0 : rank)
  return [...found, ...guessesByValues(request)].sort(
    (a, b) => Number(isEmpty(a)) - Number(isEmpty(b)) || rankOf(a) - rankOf(b) || a.at - b.at,
  )
}

/** Returns the columns that are named for the companies of the rows, and may hold their names. */
function companyNamesIn({ header, samples = [], subject }: MappingRequest) {
  const about = fileKindOf(subject)
  const field = about === 'companies' ? 'name' : 'company_name'
  const { sure = [], likely = [] } = synonymsOf(about, field)
  const known = new Set([field, ...sure, ...likely].map(normaliseName))
  return header.flatMap((column, at) => {
    const cells = samples[at] ?? []
    const isNamed = known.has(normaliseName(column)) && cells.length > 0
    return isNamed && fitsColumn(about, field, toColumnKind(cells), cells) ? [{ at, cells }] : []
  })
}

/** Returns the cells of the columns that are named for the names of people, in files about people. */
function peopleNamesIn({ header, samples = [], subject }: MappingRequest) {
  if (fileKindOf(subject) === 'companies') return []
  return header.flatMap((column, at) => {
    const cells = samples[at] ?? []
    return cells.length > 0 && isNameOfPeople(column) ? [cells] : []
  })
}

const cellsOf = (columns: readonly { readonly cells: readonly string[] }[]) =>
  columns.map(({ cells }) => cells)

const isRecognised = (column: string): boolean =>
  isUnnamed(column) || isOwnColumn(column) || isColumnName(column)

/**
 * Columns without a name, or with one that says nothing, that may fill a field. Of other text in a column without a name, the
 * first one may be the names of companies.
 */
function guessesByValues(request: MappingRequest): Guess[] {
  const { header, samples, fields, subject } = request
  const about = fileKindOf(subject)
  const beside = { companies: cellsOf(companyNamesIn(request)), people: peopleNamesIn(request) }
  return header.flatMap((column, at) => {
    if (!isUnnamed(column)) {
      const kind = toSoleKind(samples?.[at])
      if (kind === undefined || isOwnColumn(column)) return []
      // `Link` is what files of jobs call a page; here it may be a company's own.
      const isElse = kind === 'web address' ? isNameOf(about, column) : isColumnName(column)
      if (isElse && !isProfileKind(kind)) return []
      if (kind === 'phone' && isPhoneOfOthers(about, column)) return []
      if (isProfileKind(kind) && !areOwnProfiles(about, column, samples?.[at] ?? [], beside)) return []
      if (kind === 'email' && !areOwnAddresses(about, column, samples?.[at] ?? [], beside)) return []
      // Web addresses that are not companies' own may be anything's, and so may a profile below the name of something else:
      // they count only where nothing else says whom a row is about.
      const isOwn = kind !== 'web address' || areOwnSites(column, samples?.[at] ?? [], beside.companies)
      const rank = isOwn && !isElse ? byValues : lastResort
      const isPrivate = kind === 'email' && isPrivateAddress(column) && fields.includes('personal_email')
      return fields.flatMap((field): Guess[] =>
        isMeant(about, field, kind) && (field === 'personal_email' || !isPrivate)
          ? [{ field, column, at, ...sampleAt(samples, at), by: 'values', rank }]
          : [],
      )
    }
    const kind = toColumnKind(samples?.[at], column)
    const isText = kind === undefined || kind === 'company name'
    return fields.flatMap((field): Guess[] => {
      const guess = { field, column, at, ...sampleAt(samples, at) }
      if (isMeant(about, field, kind)) return [{ ...guess, by: 'values', rank: likely }]
      if (isStandIn(field, kind)) return [{ ...guess, by: 'values', rank: standIn }]
      const mayBeName =
        isText && about === 'companies' && kindsOfField(about, field)?.includes('company name')
      return mayBeName ? [{ ...guess, by: 'last resort', rank: lastResort }] : []
    })
  })
}

function firstRowNotes({ header, samples }: MappingRequest): Note[] {
  if (header.some(isRecognised)) return []
  const alike = header.find((name, at) => {
    const kind = toValueKind(name)
    return kind !== undefined && kind === toColumnKind(samples?.[at])
  })
  return alike === undefined ? [] : [{ code: 'map.first_row', details: { name: alike } }]
}

/** Names of columns with which a file is about people: its plain name and country are theirs, not their company's. */
const personNames = once(
  () =>
    new Set(
      ['first_name', 'last_name']
        .flatMap((field) => [field, ...(synonymsOf('people', field).sure ?? [])])
        .map(normaliseName),
    ),
)

const howNamed: readonly MappedColumn['by'][] = ['name', 'synonym', 'synonym', 'last resort']

const namesOfFields = new Map<string, readonly ReadonlySet<string>[]>()

/** Returns the names of columns for a field in their usual form, the surest first. */
function namesOfField(about: 'companies' | 'people', field: string): readonly ReadonlySet<string>[] {
  return getOrMake(namesOfFields, `${about} ${field}`, () => {
    const known = recordFields[about][field]?.map((one) => synonymsOf(about, one)) ?? []
    const of = (rank: keyof Synonyms) => known.flatMap((one) => one[rank] ?? [])
    return [[field], of('sure'), of('likely'), of('lastResort')].map(
      (names) => new Set(names.map(normaliseName)),
    )
  })
}

/** Whether values alone say that they are a field's. Of a person's name they do not say which part it is. */
const isMeant = (about: 'companies' | 'people', field: string, kind: ValueKind | undefined): boolean =>
  kind !== undefined && kind !== 'person name' && kindsOfField(about, field)?.includes(kind) === true

const needed = ({ anyOf, subject, fields }: MappingRequest): readonly string[] =>
  anyOf ?? identifying[subject].filter((field) => fields.includes(field))

const isIdentified = (request: MappingRequest, filled: ReadonlyMap<string, unknown>): boolean =>
  needed(request).some((field) => filled.has(field) || request.constants?.[field] !== undefined)

function checkUsable(request: MappingRequest, filled: ReadonlyMap<string, unknown>): void {
  const fields = needed(request)
  if (fields.length === 0 || isIdentified(request, filled)) return
  const { header, samples, subject } = request
  const kinds = header.map((_, at) => toColumnKind(samples?.[at]))
  const isNamed = header.some(isRecognised)
  const byName = fields.filter((field) => field === 'name' || field === 'company_name')
  const example = [...(isNamed ? fields : [...byName, ...fields])]
    .flatMap((field) =>
      kinds.map((kind, at) => ({ field, at, isMeant: isMeant(fileKindOf(subject), field, kind) })),
    )
    .filter(({ field, at, isMeant }) => {
      const cells = samples?.[at]
      if (header[at]?.trim() === '' || cells?.length === 0 || isOwnColumn(header[at] ?? '')) return false
      return isMeant || mayBeText(subject, field, kinds[at], cells ?? [])
    })
    .sort((one, other) => Number(other.isMeant) - Number(one.isMeant))[0]
  const names = fields.map(spell)
  const field = example && spell(example.field)
  const column = example && header[example.at]
  const isOfPeople = fileKindOf(subject) === 'people'
  // A heading may be called like a column, as in notes about a country.
  const isText = request.isText === true && (!isNamed || header.length === 1)
  throw new Refusal('map.unidentified', { fields, names, header, isNamed, field, column, isOfPeople, isText })
}

/** Whether cells that are of no certain kind may be a field's: a name is any text, and the others have a form. */
const mayBeText = (
  subject: Identity,
  field: string,
  kind: ValueKind | undefined,
  cells: readonly string[],
): boolean => {
  const about = fileKindOf(subject)
  const worded = cells.filter((cell) => /\p{L}{2}/u.test(cell)).length
  if (worded * 2 < cells.length) return false
  const isName = kindsOfField(about, field)?.includes(about === 'companies' ? 'company name' : 'person name')
  return (
    isName === true && (kind === undefined || kind.endsWith(' name')) && fitsColumn(about, field, kind, cells)
  )
}

/** Returns the constants that no column replaces: those that are the same in every row. */
export const withoutMapped = (constants: Input, { columns }: Mapping): Input =>
  Object.fromEntries(
    Object.entries(constants).filter(([field]) => !columns.some((column) => column.field === field)),
  )

const withoutFields = (input: Input, fields: ReadonlySet<string>): Input =>
  Object.fromEntries(Object.entries(input).filter(([field]) => !fields.has(field)))

/** What a row is read as. */
export interface ReadRow {
  readonly input: Input
  /** Cells that were left out of it: they are not understood, and the row can be looked up without them. */
  readonly leftOut: readonly Pick<LeftOutValue, 'field' | 'value'>[]
  /** Whether nothing is wrong with the fields of the input. */
  readonly isValid: boolean
  /** What its column of full names has. */
  readonly fullName: string
  /** Which lookup it is, once somebody has asked. */
  identity?: string | undefined
}

/** Returns an input as one that nothing was left out of. */
export const asRead = (input: Input): ReadRow => ({
  input,
  leftOut: none,
  isValid: false,
  fullName: '',
  identity: undefined,
})

/** Returns how a row of a mapped file becomes an input, and how that is checked. */
export function createRowReader(
  operation: Operation,
  shape: Shape,
  mapping: Mapping,
  constants: Input = {},
  /** Whether constants that the operation does not know are left to the server. */
  passesFields = false,
) {
  const { fields: mappable } = operation.batch ?? {}
  const read = rowInput(mapping, constants, valueReader(shape.input))
  const subject = operation.batch?.identity ?? 'company'
  const about = fileKindOf(subject)
  const schemas: Readonly<Record<string, z.ZodType>> = shape.input.shape
  const find = (...names: readonly string[]) =>
    names.find((one) => mappable?.includes(one) ?? Object.hasOwn(schemas, one))
  const name = find('company_name', ...(about === 'companies' ? ['name'] : []))
  const domain = find('company_domain', 'domain')
  const fields = mapping.columns.map((column) => column.field)
  const optional = fields.filter((field) => schemas[field]?._zod.optin !== undefined)
  const oneOf = exclusive[operation.id] ?? []
  const passed = new Set(passesFields ? findUnknown(operation.id, shape, constants) : [])

  /** Whether rows have none but fields of the operation, under their own names. */
  const hasOwnNames = [...fields, ...Object.keys(constants)].every((field) => Object.hasOwn(schemas, field))
  /** Returns the first field whose cell is of another kind, after those that were `seen`. */
  const findMisplaced = (input: Input, seen = 0): number => {
    // A row about a person names somebody, so a host that many share is the employer's only if its name is there.
    const company = input.company_name ?? (about === 'companies' ? input.name : '')
    const named = typeof company === 'string' ? company : undefined
    for (let at = seen; at < fields.length; at++) {
      const field = fields[at] as string
      const value = input[field]
      if (typeof value === 'string' && isMisplaced(about, field, value, named)) return at
    }
    return -1
  }

  const lastOf = mapping.columns.find(({ part }) => part === 'last')
  /** Whether a row has a full name that cannot be split, and nothing else that says whom it is about. */
  const isUnsplit = (input: Input): boolean =>
    lastOf !== undefined &&
    mapping.columns.some(({ field, part }) => part !== undefined && input[field] === undefined) &&
    profileFields.every((field) => input[field] === undefined)

  const [firstName, lastName] = [find('first_name', 'firstname'), find('last_name', 'lastname')]
  /** Whether the columns of a row have the words of a team or the like for a name, and nothing else that says whom it is about. */
  const isOfNobody = (input: Input): boolean => {
    if (firstName === undefined || lastName === undefined) return false
    const [first, last] = [firstName, lastName].map((field) =>
      fields.includes(field) ? input[field] : undefined,
    )
    if (typeof first !== 'string' || typeof last !== 'string' || isGivenName(first)) return false
    return isNobody(`${first} ${last}`) && profileFields.every((field) => input[field] === undefined)
  }

  const toInput = (cells: readonly string[]): Pick<ReadRow, 'input' | 'leftOut'> => {
    const input = read(cells)
    if (name === undefined || domain === undefined) return { input, leftOut: none }
    const both = toNameAndDomain(input[name])
    const parts = both ? { ...input, [name]: both.name, [domain]: input[domain] ?? both.domain } : input
    const [written, site] = [parts[name], parts[domain]]
    if (written === undefined && typeof site === 'string' && isNameInDomain(site)) {
      const { [domain]: _, ...others } = parts
      return { input: { ...others, [name]: site }, leftOut: [{ field: domain, value: site }] }
    }
    if (site === undefined && typeof written === 'string' && isDomainInName(written)) {
      const { [name]: _, ...others } = parts
      // `Booking.com` is a name, too.
      const named = /\/|^www\./i.test(written) ? others : parts
      return { input: { ...named, [domain]: written }, leftOut: none }
    }
    return { input: parts, leftOut: none }
  }

  return {
    read: (cells: readonly string[]): ReadRow => {
      const { input, leftOut: moved } = toInput(cells)
      const row = { ...asRead(input), leftOut: moved, fullName: (lastOf && cells[lastOf.at]?.trim()) ?? '' }
      const unusable: string[] = []
      for (let at = findMisplaced(input); at >= 0; at = findMisplaced(input, at + 1))
        unusable.push(fields[at] as string)
      const named = name === undefined || unusable.includes(name) ? undefined : input[name]
      if (domain !== undefined && named !== undefined && isText(input[domain])) unusable.push(domain)
      const isElse = (field: string) => input[field] !== undefined && isOther(input[field], about)
      const given = oneOf.filter((field) => input[field] !== undefined)
      const isUsual = hasOwnNames && unusable.length === 0 && given.length < 2 && !profileFields.some(isElse)
      if (isUsual && shape.input.safeParse(input).success) return { ...row, isValid: true }
      for (const field of optional) {
        const value = input[field]
        if (value !== undefined && value !== constants[field] && !schemas[field]?.safeParse(value).success)
          unusable.push(field)
      }
      unusable.push(...profileFields.filter(isElse))
      const usable = given.filter((field) => !unusable.includes(field))
      if (unusable.length === 0 && usable.length < 2) return row
      const spoilt = new Set([...unusable, ...usable.slice(1)])
      // Where nothing else says whom the row is about, the refusal has to name the field.
      if (!identifying[subject].some((field) => input[field] !== undefined && !spoilt.has(field))) return row
      const leftOut = [...new Set(unusable)].map((field) => ({ field, value: input[field] }))
      const defaults = Object.entries(constants).filter(([field]) => unusable.includes(field))
      return {
        ...row,
        input: { ...withoutFields(input, spoilt), ...Object.fromEntries(defaults) },
        leftOut: [...moved, ...leftOut],
      }
    },
    /** Throws an ApiError for a row whose input must not be sent. */
    validate: ({ input, isValid, fullName }: ReadRow): void => {
      const field = isValid ? undefined : fields[findMisplaced(input)]
      if (field !== undefined) throw refuseField(field, describeMisplaced(field, String(input[field])))
      if (isOfNobody(input)) throw refuseField(lastName ?? '', ofNobody)
      if (isUnsplit(input)) throw refuseField(lastOf?.field ?? '', whyUnsplit(fullName))
      // Its other filters would find people anywhere.
      if (mappable && !mappable.some((one) => input[one] !== undefined))
        throw new ApiError('bad_request', {
          anyOf: mappable,
          sentence: `Provide at least one of: ${mappable.join(', ')}`,
        })
      if (!isValid) validate(operation.id, shape, passed.size === 0 ? input : withoutFields(input, passed))
    },
  }
}

const none: readonly never[] = []

const ofNobody = 'is not the name of a person'

function whyUnsplit(name: string): string {
  if (name === '' || isNothing(name)) return 'is empty'
  if (isNobody(name)) return ofNobody
  return /\s/.test(name)
    ? 'may be split in several ways: give first and last names columns of their own'
    : 'is one name alone: a first and a last name are needed'
}

/** Whether a cell of a domain is a remark, and no address. */
const isText = (cell: unknown): boolean =>
  typeof cell === 'string' && (cell.includes(' ') || !cell.includes('.')) && toDomain(cell) === undefined

const isOfEmail = (field: string): boolean => field === 'email' || field === 'personal_email'

/** Returns a reader of cells: countries by any name, email addresses in one spelling or as their domain, phone numbers in E.164. */
export function valueReader(schema: z.ZodObject): (field: string, cell: string) => unknown {
  const fields: Readonly<Record<string, Parameters<typeof coerceField>[0]>> = schema.shape
  const toCode = (text: string) => toCountryCode(text) ?? text
  const readerOf = (field: string): ((cell: string) => unknown) => {
    if (field === 'country' || field === 'country_code') return toCode
    if (isStandIn(field, 'email')) return toDomainCell
    const given = fields[field]
    if (!given || isOfEmail(field)) return (cell) => toOneSpelling(field, cell)
    const schema = bare(given)
    const isName = kindsOfField('people', field)?.some((kind) => kind.endsWith(' name')) === true
    const readCell =
      kindOf(schema).type === 'array'
        ? (cell: string) => mapCountries(schema, coerceField(schema, partsOf(cell)), toCode)
        : (cell: string) => coerceField(schema, cell)
    return (cell) => toOneSpelling(field, isName && /[\r\n&]/.test(cell) ? toPlainName(cell) : readCell(cell))
  }
  const readers = new Map<string, ReturnType<typeof readerOf>>()
  return (field, cell) => getOrMake(readers, field, () => readerOf(field))(cell)
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  apos: "'",
  lt: '<',
  gt: '>',
  nbsp: ' ',
}

/** Returns a name in one line, with the letters that a web page writes as `&amp;` and the like. */
const toPlainName = (cell: string): string =>
  cell
    .replace(
      /&(?:#(3[2-9]|[4-9]\d|1\d\d|2[0-4]\d|25[0-5]|8\d{3})|(amp|quot|apos|lt|gt|nbsp));/g,
      (whole, number?: string, name?: string) =>
        name ? (entities[name] ?? whole) : String.fromCodePoint(Number(number)),
    )
    .replace(/\s*[\r\n]+\s*/g, ' ')

/** Returns an address, a number, a profile or a person's name as it is sent, whether it is in a cell or typed; any other value unchanged. */
export function toOneSpelling(field: string, value: unknown): unknown {
  if (isOfEmail(field)) return typeof value === 'string' ? (toEmail(value) ?? value) : value
  if (field === 'phone_number' || field === 'phone_numbers') return inE164(value)
  if (typeof value === 'string' && kindsOfField('people', field)?.includes('person name'))
    return toPersonName(value)
  const isProfile =
    typeof value === 'string' && /[\\<>]|(?:^|[^:])\/\//.test(value) && parseProfile(value) !== undefined
  return isProfile ? toUsualUrl(value) : value
}

/** Returns phone numbers as E.164; any other text is unchanged, for validation to refuse. */
function inE164(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inE164)
  // Earlier outputs have an apostrophe before a number that begins with `+`.
  return typeof value === 'string' ? (toE164(value.replace(/^'/, '')) ?? value) : value
}

/** Fields of which a request accepts only one, the best first, by operation. */
const exclusive: Readonly<Record<string, readonly string[]>> = {
  'accounts.count_profiles': ['company_network_url', 'company_network_id'],
  'messenger.validate': ['phone_numbers', 'phone_number'],
}

/** Paths in the URL of a profile of the other kind. */
const signs = { company: /\/(?:in|lead)\//i, person: /\/company\//i } as const

const profileFields = ['company_network_url', 'network_url', 'network_profile_url', 'linkedin_url']

/** Whether a value is the profile of a company where a person is meant, or the other way round. */
function isOther(url: unknown, about: 'companies' | 'people'): boolean {
  const kind = about === 'companies' ? 'company' : 'person'
  // Most are right, and parsing a URL is slow.
  if (typeof url !== 'string' || !signs[kind].test(url)) return false
  const profile = parseProfile(url)
  return profile !== undefined && profile.kind !== kind
}
