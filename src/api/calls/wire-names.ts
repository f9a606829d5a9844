import { type Fields, isBlank } from '../values/objects.js'
import { ApiError } from './errors.js'

/** The words of a server for `network` and `premium` in field names. */
export interface WireNames {
  readonly network: string
  readonly premium: string
}

/** Fields with `network` in their names; aliases have one internal spelling. */
const networkFields = [
  'company_network_id',
  'company_network_url',
  'company_network_urls',
  'is_open_profile_network',
  'is_open_to_work_network',
  'is_premium_network',
  'network_id',
  'network_list_id',
  'network_profile_url',
  'network_session_valid',
  'network_url',
] as const

/** Fields with `premium` in their names that a server renames. */
const premiumFields = ['premium_profile_url', 'premium_session_valid'] as const

export const renamedFields: readonly string[] = [...networkFields, ...premiumFields]

/** Bodies of the API never nest deeper; deeper values are not renamed. */
const deepest = 32

type Pairs = ReadonlyMap<string, string>

const createPairs = (names: WireNames): Pairs =>
  new Map([
    ...networkFields.map((name) => [name, name.replace('network', names.network)] as const),
    ...premiumFields.map((name) => [name, name.replace('premium', names.premium)] as const),
  ])

const invert = (pairs: Pairs): Pairs => new Map([...pairs].map(([inside, wire]) => [wire, inside]))

/** Renames the fields of a body or query to their names on the wire; values and `custom` stay as they are. */
export const renameOut = (body: unknown, names: WireNames): unknown => renameBody(body, createPairs(names))

/** Renames the fields of a body or query from the wire to internal names. */
export const renameIn = (body: unknown, names: WireNames) => renameBody(body, invert(createPairs(names)))

/** Renames the fields of a request to internal names. Throws 422 for a field under both; an empty one does not count. */
export function renameRequest(request: unknown, names: WireNames): unknown {
  const pairs = invert(createPairs(names))
  return renameKeys(request, pairs, deepest, (given) => dropSpellings(given, pairs))
}

function dropSpellings(given: Fields, pairs: Pairs): Fields {
  const twice = [...pairs].filter(
    ([wire, name]) => wire !== name && Object.hasOwn(given, wire) && Object.hasOwn(given, name),
  )
  if (twice.length === 0) return given
  const dropped = twice.map(([wire, name]) => {
    if (isBlank(given[name])) return name
    if (isBlank(given[wire])) return wire
    throw new ApiError('invalid', { reason: `${name} is given under two names: give one of them` })
  })
  return Object.fromEntries(Object.entries(given).filter(([name]) => !dropped.includes(name)))
}

/** Renames the fields in a text, such as a document, to their names on the wire. */
export const renameText = (text: string, names: WireNames): string => renameWords(text, createPairs(names))

/** Renames a body, and the field names that its error text lists. */
function renameBody(body: unknown, pairs: Pairs): unknown {
  const copy = renameKeys(body, pairs, deepest)
  if (!isPlain(copy)) return copy
  for (const key of ['error', 'message']) {
    const text = copy[key]
    if (typeof text === 'string') copy[key] = renameWords(text, pairs)
  }
  return copy
}

const renameWords = (text: string, pairs: Pairs): string =>
  text.replace(/[a-z][a-z0-9_]*/gi, (word) => pairs.get(word) ?? word)

function renameKeys(
  value: unknown,
  pairs: Pairs,
  levels: number,
  read: (fields: Fields) => Fields = (fields) => fields,
): unknown {
  if (levels === 0) return value
  if (Array.isArray(value)) return value.map((one) => renameKeys(one, pairs, levels - 1, read))
  if (!isPlain(value)) return value
  const fields = read(value)
  const taken = new Set(Object.keys(fields).flatMap((key) => pairs.get(key) ?? []))
  const entries = Object.entries(fields).filter(([key]) => pairs.has(key) || !taken.has(key))
  return Object.fromEntries(
    entries.map(([key, one]) => [
      pairs.get(key) ?? key,
      key === 'custom' ? one : renameKeys(one, pairs, levels - 1, read),
    ]),
  )
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value))
