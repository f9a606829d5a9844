import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Input } from '../api/calls/caller.js'
import { isRefusal, Refusal } from '../api/calls/errors.js'
import type { Identity } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { nearest } from '../api/values/nearest.js'
import type { Fields } from '../api/values/objects.js'
import { columnNamed, isPlainName, normaliseName } from '../csv/names.js'
import { arePersonal, firstText, toColumnKind } from '../identity/value-kinds.js'
import { keyReader, ListIndex, type ListKind, type Match } from '../lists/list-index.js'
import { openInput } from './find-run.js'
import { type Mapping, mapColumns, parsePins, positionsOf, rowInput, unknownName } from './input/mapping.js'
import type { Table } from './input/table.js'
import type { KnownList, RunHome, RunPorts } from './ports.js'

export interface MappedList {
  readonly kind: ListKind
  readonly mapping: Mapping
}

/** What a list is read for: its rows are compared with others, or whomever they are about is suppressed. */
type ListUse = 'compare' | 'suppress'

const fieldsOf: Readonly<Record<ListKind, readonly string[]>> = {
  companies: ['domain', 'network_url', 'company_network_id', 'name', 'country'],
  people: [
    'email',
    'personal_email',
    'network_url',
    'first_name',
    'last_name',
    'full_name',
    'company_domain',
    'company_name',
  ],
}

/** Fields of which a list needs one to be about a kind. */
const needed: Readonly<Record<ListKind, readonly string[]>> = {
  companies: ['domain', 'network_url', 'company_network_id', 'name'],
  people: ['email', 'personal_email', 'network_url', 'first_name', 'last_name', 'full_name'],
}

/** Fields of people who are suppressed, beside those that they are compared by. */
const fieldsOfSuppressed = ['phone', 'country']

/** Returns what the rows of a table are about, and its columns of keys. Throws a Refusal, with the `name` of the file. */
export function mapList(
  table: Pick<Table, 'header' | 'samples' | 'notes'> & Partial<Pick<Table, 'repeated' | 'uncalculated'>>,
  name: string,
  kind?: ListKind,
  pairs: readonly string[] = [],
  use: ListUse = 'compare',
): MappedList {
  const { header, samples, notes, repeated = [], uncalculated = [] } = table
  const pins = parsePins(pairs)
  const fields = (of: ListKind) =>
    of === 'people' && use === 'suppress' ? [...fieldsOf[of], ...fieldsOfSuppressed] : fieldsOf[of]
  const isMeant = (of: ListKind) => Object.keys(pins).every((field) => fields(of).includes(field))
  const map = (of: ListKind): MappedList | undefined => {
    if (of === 'people' && kind === undefined && !isMeant(of)) return undefined
    if (of === 'companies' && kind === undefined && !isMeant(of) && isMeant('people')) return undefined
    const subject = of === 'companies' ? 'company' : 'person'
    const columns = {
      header,
      samples,
      notes,
      repeated,
      uncalculated,
      fields: fields(of),
      anyOf: use === 'suppress' ? [...needed[of], 'phone'] : needed[of],
      subject,
    } as const
    try {
      return { kind: of, mapping: mapColumns({ ...columns, pins }) }
    } catch (error) {
      if (isRefusal(error, 'map.unidentified')) return undefined
      throw error
    }
  }
  const [people, companies] = [kind !== 'companies' && map('people'), kind !== 'people' && map('companies')]
  if (people && (kind === 'people' || isOfPeople(people, companies || undefined, table, use))) return people
  if (companies) return companies
  throw new Refusal('list.unidentified', { name, kind, header })
}

/**
 * Whether a file is about people: it has their profiles, their names, or email addresses that are people's, or beside which
 * nothing is of a company's own. Who is suppressed by an address is a person, whatever else the row says.
 */
function isOfPeople(
  people: MappedList,
  companies: MappedList | undefined,
  table: Pick<Table, 'samples'>,
  use: ListUse,
): boolean {
  const columnOf = ({ mapping }: MappedList, field: string) =>
    mapping.columns.find((one) => one.field === field)
  const kindIn = (list: MappedList, field: string) => {
    const column = columnOf(list, field)
    return column && toColumnKind(table.samples[column.at], column.column)
  }
  if (['first_name', 'last_name'].some((field) => columnOf(people, field))) return true
  /** Whether there is a column of profiles: one without a value says not whose they are. */
  const hasProfiles = (list: MappedList): boolean => {
    const column = columnOf(list, 'network_url')
    return column !== undefined && (table.samples[column.at] ?? []).length > 0
  }
  if (hasProfiles(people)) return true
  // Companies have a plain name, too.
  const whole = columnOf(people, 'full_name')
  const isPlain = whole && (whole.by === 'values' || isPlainName(normaliseName(whole.column)))
  if (
    whole &&
    (!isPlain || columnOf(people, 'company_name') || kindIn(people, 'full_name') === 'person name')
  )
    return true
  const isOfCompany = companies && (hasProfiles(companies) || kindIn(companies, 'domain') === 'web address')
  const address = columnOf(people, 'email') ?? columnOf(people, 'personal_email')
  if (!address) return use === 'suppress' && !isOfCompany && columnOf(people, 'phone') !== undefined
  return use === 'suppress' || !isOfCompany || arePersonal(table.samples[address.at])
}

export const pairsFor = (pairs: readonly string[], header: readonly string[]): string[] =>
  pairs.filter((pair) => {
    const column = pair.slice(pair.indexOf('=') + 1).trim()
    return column === '' || columnNamed(header, column) >= 0
  })

/** Throws a Refusal for a pair of `--map` whose column no table has. */
export function checkPairs(pairs: readonly string[], headers: readonly (readonly string[])[]): void {
  for (const pair of pairs)
    if (headers.every((header) => pairsFor([pair], header).length === 0))
      throw unknownName('column', Object.values(parsePins([pair]))[0] ?? '', headers.flat())
}

/** Returns a table as a list. Rows with more cells than the header are left out. */
export function tableList(
  name: string,
  table: Pick<Table, 'header' | 'rows'>,
  { mapping }: MappedList,
  /** Whether its rows are about people, and it is read for their companies. */
  isOfOthers = false,
): KnownList {
  const toFields = rowInput(mapping)
  const unmapped = [...table.header.keys()].filter((at) =>
    mapping.columns.every(({ field }) => !positionsOf(mapping, field).includes(at)),
  )
  const { header } = table
  const places = new Map<string, number>()
  const placeOf = (column: string): number => {
    const place = places.get(column) ?? columnNamed(header, column)
    places.set(column, place)
    return place
  }
  return {
    name,
    header,
    mapping,
    async *rows() {
      for await (const batch of table.rows())
        yield batch
          .filter(({ cells, isFooter }) => cells.length === header.length && !isFooter)
          .map(({ cells, line }) => ({
            line,
            fields: toFields(cells),
            cell: (column) => cells[placeOf(column)] ?? '',
            ...(isOfOthers ? {} : { rest: () => unmapped.map((at) => cells[at]?.trim()).join('\n') }),
          }))
    },
  }
}

const recordList = (name: string, records: () => AsyncIterable<Fields>): KnownList => ({
  name,
  header: [],
  async *rows() {
    for await (const fields of records())
      yield [{ line: null, fields, cell: (column) => firstText(fields[column]) ?? '' }]
  },
})

/** Reads lists to their ends, to look rows up in them until the command ends. Columns to take that no file has are refused. */
export async function openMatcher(
  { onClose }: Pick<RunHome, 'onClose'>,
  kind: ListKind,
  lists: readonly KnownList[],
  take: readonly string[] = [],
  onRow: (rows: number) => void = () => {},
) {
  checkTaken(lists, take)
  const index = new ListIndex(kind)
  onClose(() => index.close())
  const toKeys = keyReader(kind)
  const counts: { readonly name: string; rows: number }[] = []
  let all = 0
  for (const { name, rows } of lists) {
    index.begin(name)
    const count = { name, rows: 0 }
    counts.push(count)
    for await (const batch of rows()) {
      for (const { line, fields, cell, rest, others = [], hashed } of batch) {
        const sets = hashed ?? [fields, ...others].flatMap(toKeys)
        if (sets.some((keys) => keys.some((key) => key !== null)))
          index.add(line, sets, take.length > 0 ? take.map(cell) : undefined, rest)
      }
      count.rows += batch.length
      all += batch.length
      onRow(all)
    }
  }
  return {
    counts,
    /** Equal for the same lists, in any order of their rows. */
    fingerprint: index.finish(),
    /** Returns the match of fields that may have the names of any operation. */
    find: (fields: Fields): Match => index.find(toKeys(fields)),
  }
}

function checkTaken(lists: readonly KnownList[], take: readonly string[]): void {
  // Of records, the fields are not known beforehand.
  if (lists.some(({ header }) => header.length === 0)) return
  const known = [...new Set(lists.flatMap(({ header }) => header))]
  for (const column of take) {
    if (columnNamed(known, column) >= 0) continue
    throw new Refusal('list.no_column', { column, near: nearest(column, known), known })
  }
}

export type ListPorts = RunHome &
  Pick<RunPorts, 'streams' | 'convertFile' | 'claimFile' | 'records' | 'mirror'>

/** Whether a source of known rows is no file. */
export const isRecords = (source: string): boolean =>
  source === 'catalogue' || source.startsWith('list:') || isMirror(source)

const mirrorPrefix = 'crm:'

export const isMirror = (source: string): boolean => source.startsWith(mirrorPrefix)

/** Opens a table by its path; `-` is stdin. `option` says what it is. */
export async function openListFile(
  ports: ListPorts,
  file: string,
  option: string,
  sheet?: string,
): Promise<Table> {
  const { table } = await openInput(ports, { file, sheet })
  if (file !== '-') ports.claimFile(table.path, option, 'read')
  return table
}

/** Opens lists about a kind, as an option names them: files, `catalogue`, `list:NAME`. `pairs` are those of `--map`. */
export async function openLists(
  ports: ListPorts,
  sources: readonly string[],
  kind: ListKind,
  option: string,
  pairs: readonly string[] = [],
): Promise<readonly KnownList[]> {
  const opened: KnownList[] = []
  for (const source of sources) {
    if (isMirror(source)) {
      opened.push(await ports.mirror(source.slice(mirrorPrefix.length), kind))
      continue
    }
    if (isRecords(source)) {
      if (source !== 'catalogue' && kind === 'people') {
        // Of one that there is not, this says so.
        for await (const _ of ports.records(source, 'companies')) break
        throw new Refusal('list.of_companies', { option, source })
      }
      opened.push(recordList(source, () => ports.records(source, kind)))
      continue
    }
    const table = await openListFile(ports, source, option)
    const isOfOthers = kind === 'companies' && isAboutPeople(table, source)
    opened.push(tableList(source, table, mapAs(table, source, kind, option, pairs), isOfOthers))
  }
  return opened
}

/** Maps a list for rows about a kind. A list of people has companies, too; one of companies has no people. */
function mapAs(
  table: Table,
  source: string,
  kind: ListKind,
  option: string,
  pairs: readonly string[],
): MappedList {
  const own = pairsFor(pairs, table.header)
  if (kind === 'companies' || own.length > 0) return mapList(table, source, kind, own)
  const found = mapList(table, source)
  if (found.kind === kind) return found
  throw new Refusal('list.of_companies', { option, source })
}

function isAboutPeople(table: Table, source: string): boolean {
  try {
    return mapList(table, source).kind === 'people'
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

const kinds: Readonly<Record<Identity, ListKind | undefined>> = {
  company: 'companies',
  person: 'people',
  contact: 'people',
  email: 'people',
  number: undefined,
}

/** Opens the lists whose rows an operation does not look up, or that are of a kind; `undefined` without any. Closed with the command. */
export async function openKnownRows(
  ports: ListPorts & Pick<RunPorts, 'notify'>,
  of: Operation | ListKind,
  sources: readonly string[] = [],
  onRow?: (rows: number) => void,
) {
  if (sources.length === 0) return undefined
  const option = 'skipKnown'
  const kind = typeof of === 'string' ? of : kinds[of.batch?.identity ?? 'company']
  if (kind === undefined) throw new Refusal('list.of_numbers', { option })
  const opened = await openLists(ports, sources, kind, option)
  const matcher = await openMatcher(ports, kind, opened, [], onRow)
  for (const [at, { name, rows }] of matcher.counts.entries()) {
    const columns = opened[at]?.mapping?.columns ?? []
    const named = columns.map(({ field, column }) => `${field} "${column}"`).join(', ')
    const count = `${rows.toLocaleString('en-US')} known ${rows === 1 ? 'row' : 'rows'}`
    ports.notify(`${basename(name)}: ${count}${named === '' ? '' : `, by ${named}`}`)
  }
  return {
    /** Equal for the same lists. */
    fingerprint: createHash('sha256').update(matcher.fingerprint).digest('hex').slice(0, 32),
    /** Whether a list surely has the company or person of an input. */
    has: (input: Input) => matcher.find(input).verdict === 'yes',
  }
}
