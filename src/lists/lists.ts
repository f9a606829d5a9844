import { isRefusal, Refusal } from '../api/calls/errors.js'
import { nearest } from '../api/values/nearest.js'
import type { Fields } from '../api/values/objects.js'
import { firstText, toColumnKind } from '../catalogue/normalize/value-kinds.js'
import { columnNamed, normaliseName } from '../csv/names.js'
import { type Mapping, mapColumns, parsePins, rowInput, unknownName } from '../runs/input/mapping.js'
import type { Table } from '../runs/input/table.js'
import { keyReader, type ListKind, type RowKeys } from './keys.js'
import { ListIndex, type Match } from './list-index.js'

/** A list whose columns are known. */
export interface MappedList {
  readonly kind: ListKind
  readonly mapping: Mapping
}

const fieldsOf: Readonly<Record<ListKind, readonly string[]>> = {
  companies: ['domain', 'network_url', 'company_network_id', 'name', 'country'],
  people: [
    ...['email', 'personal_email', 'network_url', 'first_name', 'last_name', 'full_name'],
    ...['company_domain', 'company_name'],
  ],
}

/** Fields of which a list needs one to be about a kind. */
const needed: Readonly<Record<ListKind, readonly string[]>> = {
  companies: ['domain', 'network_url', 'company_network_id', 'name'],
  people: ['email', 'personal_email', 'network_url', 'first_name', 'last_name', 'full_name'],
}

/**
 * Returns what the rows of a table are about, where that is not given, and its columns of keys. Throws a Refusal, with the
 * `name` of the file.
 */
export function mapList(
  table: Pick<Table, 'header' | 'samples' | 'notes'>,
  name: string,
  kind?: ListKind,
  pairs: readonly string[] = [],
): MappedList {
  const { header, samples, notes } = table
  const pins = parsePins(pairs)
  const isMeant = (of: ListKind) => Object.keys(pins).every((field) => fieldsOf[of].includes(field))
  const map = (of: ListKind): MappedList | undefined => {
    if (of === 'people' && kind === undefined && !isMeant(of)) return undefined
    if (of === 'companies' && kind === undefined && !isMeant(of) && isMeant('people')) return undefined
    const subject = of === 'companies' ? 'company' : 'person'
    const columns = { header, samples, notes, fields: fieldsOf[of], anyOf: needed[of], subject } as const
    try {
      return { kind: of, mapping: mapColumns({ ...columns, pins }) }
    } catch (error) {
      if (isRefusal(error, 'map.unidentified')) return undefined
      throw error
    }
  }
  const [people, companies] = [kind !== 'companies' && map('people'), kind !== 'people' && map('companies')]
  if (people && (kind === 'people' || isOfPeople(people, companies || undefined, table))) return people
  if (companies) return companies
  throw new Refusal('list.unidentified', { name, kind, header })
}

/** Whether a file is about people: it has their profiles, their names, or email addresses and nothing of a company's own. */
function isOfPeople(
  people: MappedList,
  companies: MappedList | undefined,
  table: Pick<Table, 'samples'>,
): boolean {
  const columnOf = ({ mapping }: MappedList, field: string) =>
    mapping.columns.find((one) => one.field === field)
  const kindIn = (list: MappedList, field: string) => {
    const column = columnOf(list, field)
    return column && toColumnKind(table.samples[column.at], column.column)
  }
  if (['network_url', 'first_name', 'last_name'].some((field) => columnOf(people, field))) return true
  // Companies have a plain name, too.
  const whole = columnOf(people, 'full_name')
  const isPlain = whole && (whole.by === 'values' || normaliseName(whole.column) === 'name')
  if (
    whole &&
    (!isPlain || columnOf(people, 'company_name') || kindIn(people, 'full_name') === 'person name')
  )
    return true
  const isOfCompany =
    companies && (columnOf(companies, 'network_url') || kindIn(companies, 'domain') === 'web address')
  return ['email', 'personal_email'].some((field) => columnOf(people, field)) && !isOfCompany
}

/** Returns the pairs of `--map` whose column a table has. */
export const pairsFor = (pairs: readonly string[], header: readonly string[]): string[] =>
  pairs.filter((pair) => columnNamed(header, pair.slice(pair.indexOf('=') + 1).trim()) >= 0)

/** Throws a Refusal for a pair of `--map` whose column no table has. */
export function checkPairs(pairs: readonly string[], headers: readonly (readonly string[])[]): void {
  for (const pair of pairs)
    if (headers.every((header) => pairsFor([pair], header).length === 0))
      throw unknownName({}, 'column', Object.values(parsePins([pair]))[0] ?? '', headers.flat())
}

/** A list to look rows up in: a file, or records of the catalogue or of a list of the API. */
export interface KnownList {
  readonly name: string
  readonly header: readonly string[]
  /** Yields the line, the fields and the cells of each row; with records, no line and no header. */
  rows(): AsyncIterable<readonly KnownRow[]>
}

interface KnownRow {
  readonly line: number | null
  readonly fields: Fields
  readonly cell: (column: string) => string
}

/** Returns a table as a list. Rows with more or fewer cells than the header are left out. */
export function tableList(
  name: string,
  table: Pick<Table, 'header' | 'rows'>,
  { mapping }: MappedList,
): KnownList {
  const toFields = rowInput(mapping)
  const { header } = table
  const places = new Map<string, number>()
  const placeOf = (column: string): number => {
    const known = places.get(column)
    if (known !== undefined) return known
    const place = columnNamed(header, column)
    places.set(column, place)
    return place
  }
  return {
    ...{ name, header },
    async *rows() {
      for await (const batch of table.rows())
        yield batch
          .filter(({ cells }) => cells.length === header.length)
          .map(({ cells, line }) => ({
            ...{ line, fields: toFields(cells) },
            cell: (column) => cells[placeOf(column)] ?? '',
          }))
    },
  }
}

export const recordList = (name: string, records: () => AsyncIterable<Fields>): KnownList => ({
  ...{ name, header: [] },
  async *rows() {
    for await (const fields of records())
      yield [{ line: null, fields, cell: (column) => firstText(fields[column]) ?? '' }]
  },
})

/** Looks rows up in lists. */
export interface Matcher {
  readonly kind: ListKind
  /** Equal for the same lists, in any order of their rows. */
  readonly fingerprint: string
  readonly counts: readonly { readonly name: string; readonly rows: number }[]
  /** Returns the match of fields that may have the names of any operation. */
  find(fields: Fields): Match
  close(): void
}

/** Reads lists to their ends. Columns to take that no file has are refused. */
export async function openMatcher(
  kind: ListKind,
  lists: readonly KnownList[],
  take: readonly string[] = [],
  onRow: (rows: number) => void = () => {},
): Promise<Matcher> {
  checkTaken(lists, take)
  const index = new ListIndex(kind)
  const toKeys = keyReader(kind)
  const counts: { name: string; rows: number }[] = []
  let all = 0
  try {
    for (const { name, rows } of lists) {
      index.begin(name)
      const count = { name, rows: 0 }
      counts.push(count)
      for await (const batch of rows()) {
        for (const { line, fields, cell } of batch) {
          const sets = toKeys(fields)
          if (sets.some(isFilled)) index.add(line, sets, take.length > 0 ? take.map(cell) : undefined)
        }
        count.rows += batch.length
        all += batch.length
        onRow(all)
      }
    }
    return {
      ...{ kind, counts, fingerprint: index.finish() },
      find: (fields) => index.find(toKeys(fields)),
      close: () => index.close(),
    }
  } catch (error) {
    index.close()
    throw error
  }
}

const isFilled = (keys: RowKeys): boolean => keys.some((key) => key !== null)

function checkTaken(lists: readonly KnownList[], take: readonly string[]): void {
  // Of records, the fields are not known beforehand.
  if (lists.some(({ header }) => header.length === 0)) return
  const known = [...new Set(lists.flatMap(({ header }) => header))]
  for (const column of take) {
    if (columnNamed(known, column) >= 0) continue
    throw new Refusal('list.no_column', { column, near: nearest(column, known), known })
  }
}
