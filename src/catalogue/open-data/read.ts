import { Refusal } from '../../api/calls/errors.js'
import { companySizes, companyTypes } from '../../api/schemas/enumerations.js'
import { foldText } from '../../identity/name.js'
import { toProfileUrl } from '../../identity/profile.js'
import { parseCompanySize } from '../../identity/readers.js'
import { fromCapitals, toCapitals } from './capitals.js'
import industryNames from './industries.json' with { type: 'json' }
import { type Conversion, findSet, type OpenSet, openSets } from './sets.js'

/** What a file is said to be that only looks like a set. */
export const ownSource = 'own'

/** Returns the set that a header is of; `named` is what somebody says that it is, and `chosen` are fields with a column. */
export function findOpenSet(
  header: readonly string[],
  named?: string,
  chosen: readonly string[] = [],
): OpenSet | undefined {
  if (named === ownSource) return undefined
  const names = header.map(folded)
  const recognised = openSets.find((set) => isOf(set, names))
  if (named === undefined) return recognised
  const set = findSet(named)
  // It would be stored under a licence that is not its own.
  if (recognised && recognised !== set)
    throw new Refusal('import.header_of_other', { name: named, other: recognised.name, line: 1 })
  const has = (field: string) =>
    chosen.includes(field) || columnsOf(set.fields[field]).some((one) => names.includes(folded(one)))
  if (has('name') && identifying.some(has)) return set
  const field = has('name') ? 'domain' : 'name'
  throw new Refusal('import.other_source', { title: set.title, columns: set.header.columns, field, line: 1 })
}

/** Tools that files are edited with change the case of names. */
const folded = (column: string): string => column.toLowerCase()

/** Fields beside the name, of which a file of a set needs one. */
const identifying = ['domain', 'website', 'network_url', 'registry_number']

function isOf({ header: { is, columns } }: Pick<OpenSet, 'header'>, header: readonly string[]): boolean {
  if (is === 'first') return columns.every((column, at) => header[at] === folded(column))
  if (is === 'all' && header.length !== columns.length) return false
  return columns.every((column) => header.includes(folded(column)))
}

type Rule = OpenSet['fields'][string]

const columnsOf = (rule: Rule | undefined): readonly string[] =>
  rule === undefined ? [] : [typeof rule === 'string' ? rule : rule.column].flat()

export type OpenReading = ReturnType<typeof readingOf>

/** Returns which columns of a header are read, and what makes records of their rows; `chosen` are those of some fields. */
export function readingOf(
  set: OpenSet,
  header: readonly string[],
  chosen: Readonly<Record<string, string>> = {},
) {
  const names = header.map(folded)
  const rules = Object.entries(set.fields).flatMap(([field, rule]) => {
    const wanted = Object.hasOwn(chosen, field) ? [chosen[field] ?? ''] : columnsOf(rule)
    const places = wanted.flatMap((column) =>
      column !== '' && names.includes(folded(column)) ? names.indexOf(folded(column)) : [],
    )
    const convert = typeof rule === 'string' || !rule.as ? undefined : conversions[rule.as]
    return places.length === 0 ? [] : [{ field, places, convert }]
  })
  const used = new Set(rules.flatMap(({ places }) => places))
  return {
    set,
    mapping: Object.fromEntries(rules.map(({ field, places: [at = 0] }) => [field, header[at] ?? ''])),
    ignored: header.filter((name, at) => !used.has(at) && name !== ''),
    /** Adds what the cells of a row say to a record; a field that it has already stays. */
    complete(record: Record<string, unknown>, cellAt: (at: number) => unknown): void {
      for (const { field, places, convert } of rules) {
        if (record[field] !== undefined) continue
        const texts = places.map((at) => textOf(cellAt(at))).filter((text) => text !== '')
        const [first] = texts
        if (first === undefined) continue
        const read = convert ? convert(first, texts) : first
        if (read !== undefined) record[field] = read
        if (field === 'name' && read !== first) record.original_name = first
      }
      record.country ??= set.country
    },
  }
}

const textOf = (cell: unknown): string => (cell === null || cell === undefined ? '' : String(cell).trim())

const maxRemembered = 20_000

/** Values such as cities are few in millions of rows. */
function remembered(read: (text: string) => string | undefined) {
  const known = new Map<string, string | undefined>()
  return (text: string): string | undefined => {
    if (known.has(text)) return known.get(text)
    const value = read(text)
    if (known.size < maxRemembered) known.set(text, value)
    return value
  }
}

const conversions: Readonly<
  Record<Conversion, (text: string, texts: readonly string[]) => string | undefined>
> = {
  name: toCapitals,
  place: remembered(fromCapitals),
  industry: remembered((text) => {
    const known = industries.get(foldText(text))
    return known ?? text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase())
  }),
  activity: (code, [, words]) => {
    const division = divisions[code.slice(0, 2)]
    return division ?? words ?? /^[\d.]+\s*[-–]\s*(.+)$/.exec(code)?.[1]
  },
  profile: (text) => (text.includes('/') ? text : toProfileUrl('company', text)),
  size: remembered((text) => parseCompanySize(text) ?? rangeAround(text)),
  type: remembered((text) => types.get(foldText(text)) ?? (/^[A-ZÆØÅ]{1,4}$/.test(text) ? undefined : text)),
  status: (text) => statuses[text.toLowerCase()] ?? text,
  year: (text) => /(?<!\d)(?:1[0-9]|20)\d\d(?!\d)/.exec(text)?.[0],
}

/** Some name other ranges, such as `2-10`: the one of ours that has its end. */
function rangeAround(text: string): string | undefined {
  const numbers =
    text
      .replace(/(?<=\d)[,.](?=\d{3})/g, '')
      .match(/\d+/g)
      ?.map(Number) ?? []
  const end = numbers.at(-1)
  if (end === undefined) return undefined
  if (end <= 1) return 'Self-employed'
  const found = companySizes.find((size) => Number(/-(\d+)$/.exec(size)?.[1] ?? 0) >= end)
  return found ?? companySizes.at(-1)
}

const divisions: Readonly<Record<string, string>> = industryNames.divisions

const industries: ReadonlyMap<string, string> = new Map(
  Object.entries(industryNames.names).map(([name, ours]) => [foldText(name), ours]),
)

const { C, P, N, D, S, E, O, G } = companyTypes
/** What sets call kinds of companies, folded, by ours. */
const types: ReadonlyMap<string, string | undefined> = new Map(
  (
    [
      [C, 'public', 'public company', 'public limited company', 'asa'],
      [P, 'private', 'privately held', 'private limited company', 'as', 'private unlimited company'],
      [N, 'nonprofit', 'non profit', 'fli', 'sti', 'charitable incorporated organisation'],
      [D, 'educational', 'educational institution'],
      [S, 'partnership', 'limited partnership', 'limited liability partnership', 'ans', 'da', 'ks'],
      [E, 'self employed'],
      [O, 'self owned', 'sole proprietorship', 'enk'],
      [G, 'government agency', 'komm', 'stat', 'orgl', 'fylk', 'sf'],
    ] as const
  ).flatMap(([ours, ...names]) => names.map((name) => [name, ours] as const)),
)

const statuses: Readonly<Record<string, string>> = {
  true: 'Bankrupt',
  false: 'Active',
  active: 'Active',
  inactive: 'Inactive',
}
