import type { Input } from '../../api/calls/caller.js'
import type { Identity } from '../../api/operations/facts.js'
import { nearest } from '../../api/values/nearest.js'
import { columnNamed, normaliseName, type Synonyms, synonymsOf } from '../../csv/names.js'

/** What columns are to be matched with. */
export interface MappingRequest {
  readonly header: readonly string[]
  /** Input fields that a column may fill. */
  readonly fields: readonly string[]
  /** What a row is about. */
  readonly subject: Identity
  /** Columns by field, as the user wants them. */
  readonly pins?: Readonly<Record<string, string>>
  /** Where the column of a field was named, for sentences; by default `--map`. */
  readonly namedIn?: (field: string) => string
  /** Whether columns fill no fields but those of `pins`. */
  readonly isExact?: boolean
  /** Input that is the same in every row. */
  readonly constants?: Input
  /** Fields of which at least one is needed; by default the identifying ones. */
  readonly anyOf?: readonly string[]
}

/** A field and the column that fills it. */
interface MappedColumn {
  readonly field: string
  readonly column: string
  /** Position of the column, from 0. */
  readonly at: number
  /** Because the user said so, because the column has the field's name, or because it means the same. */
  readonly by: 'pin' | 'name' | 'synonym'
}

/** Which columns fill which fields. */
export interface Mapping {
  readonly columns: readonly MappedColumn[]
  /** Columns that are carried along and not sent. */
  readonly unused: readonly string[]
  /** Sentences about choices that the user may want to change. */
  readonly notes: readonly string[]
}

/** Reads `field=Column` pairs of `--map`. */
export function parsePins(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1 || at === pair.length - 1)
        throw new MappingError(`--map takes field=Column, such as --map domain=Website, not "${pair}".`)
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    }),
  )
}

/** A mapping that was saved under a name. */
export interface SavedMap {
  readonly name: string
  /** `field=Column` */
  readonly pairs: readonly string[]
}

/** Returns the columns that options name: `--map` comes first, and a saved map fills no other fields. */
export function toPins(
  map: readonly string[],
  saved: SavedMap | undefined,
): Pick<MappingRequest, 'pins' | 'namedIn' | 'isExact'> {
  const given = parsePins(map)
  return {
    pins: { ...parsePins(saved?.pairs ?? []), ...given },
    namedIn: (field) => (saved && !Object.hasOwn(given, field) ? `The saved map ${saved.name}` : '--map'),
    isExact: saved !== undefined,
  }
}

/** Matches the columns of a file with the fields of an operation; throws MappingError. */
export function mapColumns(request: MappingRequest): Mapping {
  const pinned = pinnedColumns(request)
  const taken = new Set(pinned.map((column) => column.at))
  const filled = new Map<string, Guess>(pinned.map((column) => [column.field, { ...column, rank: -1 }]))
  const notes: string[] = []
  for (const guess of request.isExact ? [] : guesses(request)) {
    if (taken.has(guess.at)) continue
    if (guess.rank === lastResort && isIdentified(request, filled)) continue
    const winner = filled.get(guess.field)
    if (winner) {
      const lesser = guess.rank >= likely && winner.rank < likely
      if (winner.by !== 'pin' && !lesser) notes.push(describeOther(guess, winner))
      continue
    }
    taken.add(guess.at)
    filled.set(guess.field, guess)
  }
  checkUsable(request, filled)
  return {
    columns: request.fields.flatMap((field) => toMapped(filled.get(field))),
    unused: request.header.filter((_, at) => !taken.has(at)),
    notes,
  }
}

/** Columns named one by one; of a wide file the others are counted. */
const columnsNamed = 12

/** A mapping in lines for a person to read. */
export function describeMapping(mapping: Mapping): string[] {
  const width = Math.max(0, ...mapping.columns.map(({ field }) => field.length))
  const lines = mapping.columns.map(({ field, column }) => `${field.padEnd(width)}  <-  "${column}"`)
  const unused = mapping.unused.filter((name) => name !== '')
  const named = unused.slice(0, columnsNamed).map((name) => `"${name}"`)
  const more = unused.length > named.length ? ` and ${unused.length - named.length} more` : ''
  if (named.length > 0) lines.push(`kept, not sent: ${named.join(', ')}${more}`)
  return [...lines, ...mapping.notes]
}

/** Makes the input of a row from its cells; empty cells are left out, and constants come last. */
export function rowInput(
  mapping: Mapping,
  constants: Input = {},
  convert?: (field: string, cell: string) => unknown,
): (cells: readonly string[]) => Input {
  return (cells) => {
    const input: Record<string, unknown> = {}
    for (const { field, at } of mapping.columns) {
      const cell = cells[at]?.trim()
      if (cell) input[field] = convert ? convert(field, cell) : cell
    }
    return Object.assign(input, constants)
  }
}

function pinnedColumns({ header, fields, pins = {}, namedIn }: MappingRequest): MappedColumn[] {
  return Object.entries(pins).map(([field, name]) => {
    const by = namedIn?.(field) ?? '--map'
    if (!fields.includes(field)) throw unknown(by, 'field', field, fields)
    const at = columnNamed(header, name)
    if (at < 0) throw unknown(by, 'column', name, header)
    return { field, column: header[at] ?? name, at, by: 'pin' }
  })
}

function unknown(by: string, kind: 'field' | 'column', name: string, known: readonly string[]): MappingError {
  const near = nearest(name, known)
  const meant = near === undefined ? '' : ` Did you mean "${near}"?`
  const list = known.map((one) => `"${one}"`).join(', ')
  return new MappingError(
    `${by} names the ${kind} "${name}", which does not exist.${meant} The ${kind}s are: ${list}.`,
  )
}

interface Guess extends MappedColumn {
  /** -1 for a pin, 0 for the field's own name, 1 for a sure synonym, 2 for a likely one, 3 for a last resort. */
  readonly rank: number
}

const likely = 2
const lastResort = 3

const toMapped = (guess: Guess | undefined): MappedColumn[] =>
  guess ? [{ field: guess.field, column: guess.column, at: guess.at, by: guess.by }] : []

const companyName = ['name']
const companyDomain = ['domain', 'website']
const companyUrl = ['network_url']
const profileUrl = ['network_profile_url', 'premium_profile_url']

/** The fields of records whose columns fill an input field, by what a row is about. */
const recordFields: Readonly<Record<'companies' | 'people', Readonly<Record<string, readonly string[]>>>> = {
  companies: {
    ...{ name: companyName, company_name: companyName, domain: companyDomain, company_domain: companyDomain },
    ...{ network_url: companyUrl, company_network_url: companyUrl, company_network_id: ['network_id'] },
    ...{ country: ['country'], country_code: ['country'] },
  },
  people: {
    ...{ network_url: profileUrl, network_profile_url: profileUrl, linkedin_url: profileUrl },
    ...{ first_name: ['first_name'], firstname: ['first_name'] },
    ...{ last_name: ['last_name'], lastname: ['last_name'] },
    ...{ company_name: ['company_name'], domain: ['company_domain'], company_domain: ['company_domain'] },
    ...{ email: ['email', 'personal_email'], phone_number: ['phone'], phone_numbers: ['phone'] },
    country: ['country'],
  },
}

/** Columns that may fill a field, the best first; among equals the one further left. */
function guesses({ header, fields, subject }: MappingRequest): Guess[] {
  const found = fields.flatMap((field) => {
    const kind = subject === 'company' ? 'companies' : 'people'
    const known = recordFields[kind][field]?.map((one) => synonymsOf(kind, one)) ?? []
    const of = (rank: keyof Synonyms) => known.flatMap((one) => one[rank] ?? [])
    const ranks = [[field], of('sure'), of('likely'), of('lastResort')].map(
      (names) => new Set(names.map(normaliseName)),
    )
    return header.flatMap((column, at): Guess[] => {
      const name = normaliseName(column)
      const rank = name === '' ? -1 : ranks.findIndex((names) => names.has(name))
      return rank < 0 ? [] : [{ field, column, at, by: rank === 0 ? 'name' : 'synonym', rank }]
    })
  })
  return found.sort((a, b) => a.rank - b.rank || a.at - b.at)
}

function describeOther(guess: Guess, winner: MappedColumn): string {
  return (
    `"${guess.column}" could be ${guess.field} too; "${winner.column}" is used. ` +
    `To change that: --map ${guess.field}="${guess.column}"`
  )
}

const needed = ({ anyOf, subject, fields }: MappingRequest): readonly string[] =>
  anyOf ?? identifying[subject].filter((field) => fields.includes(field))

/** Whether something says which company or person a row is about. */
const isIdentified = (request: MappingRequest, filled: ReadonlyMap<string, unknown>): boolean =>
  needed(request).some((field) => filled.has(field) || request.constants?.[field] !== undefined)

function checkUsable(request: MappingRequest, filled: ReadonlyMap<string, unknown>): void {
  const fields = needed(request)
  if (fields.length === 0 || isIdentified(request, filled)) return
  const [first = 'field'] = fields
  throw new MappingError(
    `No column of the file is known to hold ${fields.join(', ')}. ` +
      `The file has: ${request.header.map((name) => `"${name}"`).join(', ')}. ` +
      `Say which column it is, for example: --map ${first}="${request.header.find((name) => name !== '') ?? 'Column'}"`,
    fields,
  )
}

/** Columns that cannot be matched to the fields of an operation. */
export class MappingError extends Error {
  /** Exit code of a command that ends with it. */
  readonly exit = 2
  /** Fields of which one is needed and has no column; none where something else is wrong. */
  readonly needed: readonly string[]

  constructor(message: string, needed: readonly string[] = []) {
    super(message)
    this.name = 'MappingError'
    this.needed = needed
  }
}

/** Fields of which a row needs at least one to be looked up at all, by what a row is about. */
export const identifying: Readonly<Record<Identity, readonly string[]>> = {
  company: [
    'company_network_url',
    'network_url',
    'company_network_id',
    'domain',
    'company_domain',
    'name',
    'company_name',
  ],
  person: ['network_url', 'network_profile_url', 'linkedin_url', 'first_name', 'last_name'],
  contact: ['network_url', 'linkedin_url', 'first_name', 'firstname', 'last_name', 'lastname'],
  email: ['email'],
  number: ['phone_number', 'phone_numbers'],
}
