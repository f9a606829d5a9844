import { type Input, isOk } from '../../api/calls/caller.js'
import { ApiError, Refusal } from '../../api/calls/errors.js'
import { flagOf } from '../../api/operations/table.js'
import { industries, namedFields } from '../../api/schemas/enumerations.js'
import { nearest, nearestOf } from '../../api/values/nearest.js'
import { decodeSearchUrl } from '../../catalogue/search-url/decode.js'
import { foldText } from '../../identity/name.js'
import type { Context } from '../context/context.js'
import { recordsIn } from '../output/records.js'
import { oneLine } from '../output/text.js'
import { hasCatalogue } from '../target/local-target.js'
import type { OperationRequest } from './build.js'
import { callOnce, everyPage } from './send.js'

interface Named {
  readonly id: string | null
  readonly name: string
}

const isWholeId = (text: string): boolean => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)

const lists = {
  noun: 'list',
  command: 'lists list',
  isField: (name: string): boolean => name === 'included_account_lists' || name === 'excluded_account_lists',
  isId: (text: string) => /^\d+$/.test(text) || isWholeId(text),
  /** Whether the beginning of an id stands for it, as the ids of this machine are shown. */
  hasShortIds: true,
  showsNearest: false,
  /** Reads those that there are; `undefined` where they cannot be read. */
  read: async (context: Context): Promise<readonly Named[] | undefined> => {
    const reply = await everyPage((page) => callOnce(context, 'lists.list', page), {})
    if (reply.incomplete) throw reply.incomplete
    if (!isOk(reply)) return undefined
    const { rows } = recordsIn(reply.body, ['id', 'name'])
    return rows.map(({ id, name }) => ({ id: String(id), name: String(name) }))
  },
  resolve: (found: readonly Named[], name: string, option: string) => {
    if (found.length === 1) return found[0]?.id ?? name
    throw new Refusal('usage.list_name', { option, name, known: found.map(({ id }) => id) })
  },
}

type NamedKind = typeof lists

/** Most names in the refusal of one that there is not. */
const mostNear = 5

/** Fewest letters by which a part of a name is taken for it. */
const minPart = 4

const industryNames: NamedKind = {
  noun: 'industry',
  command: 'industries find',
  isField: (name) => namedFields[name]?.isOpen === true,
  isId: (text) => /^\d+$/.test(text),
  hasShortIds: false,
  showsNearest: true,
  read: readIndustries,
  resolve: (_, name) => name,
}

/**
 * Returns the input with the ids of lists where it has their names. Throws a Refusal for a name of a list or an industry
 * that nothing has, or several lists have. Where the lists cannot be read, names stay. `nameOf`: how a field is called.
 */
export async function resolveFilterNames(
  context: Context,
  input: Input,
  nameOf = (field: string) => `--${flagOf(field)}`,
): Promise<Input> {
  const resolved = { ...input }
  for (const kind of [lists, industryNames]) {
    const fields = Object.entries(input).flatMap(([field, value]) =>
      kind.isField(field) && Array.isArray(value) ? [[field, value.map(String)] as const] : [],
    )
    // On this machine, digits only may be the beginning of an id.
    const isSent = kind.hasShortIds && context.isLocal() ? isWholeId : kind.isId
    if (fields.every(([, values]) => values.every(isSent))) continue
    const known = await kind.read(context)
    for (const [field, values] of known ? fields : [])
      resolved[field] = values.map((value) =>
        isSent(value) ? value : find(kind, known ?? [], value, nameOf(field)),
      )
  }
  return resolved
}

function find(kind: NamedKind, known: readonly Named[], name: string, option: string): string {
  const found = known.filter((one) => foldText(one.name) === foldText(name))
  if (found.length > 0) return kind.resolve(found, name, option)
  const begun = kind.hasShortIds ? known.filter(({ id }) => id?.startsWith(name.toLowerCase())) : []
  if (begun.length === 1) return begun[0]?.id ?? name
  if (begun.length > 1) throw new Refusal('usage.name_ambiguous', { option, name, noun: kind.noun })
  if (kind.isId(name)) return name
  const names = known.map((one) => one.name)
  const { noun, command, showsNearest } = kind
  const [part, ...others] = known.filter((one) => foldText(one.name).includes(foldText(name)))
  const isPartOfSome = showsNearest && part !== undefined && name.trim().length >= minPart
  const parts = isPartOfSome ? [part, ...others].slice(0, mostNear).map((one) => one.name) : []
  const near = showsNearest && parts.length === 0 ? nearestOf(name, names, mostNear) : []
  // A part of only one industry's name stands for it, as the beginning of its name does.
  if (isPartOfSome && others.length === 0) return part.id ?? part.name
  const meant = showsNearest ? undefined : (nearest(name, names) ?? part?.name)
  const some = showsNearest && near.length + parts.length === 0 ? names.slice(0, mostNear) : []
  throw new Refusal('usage.no_name', { option, name: oneLine(name), meant, parts, near, some, noun, command })
}

/** Says which technologies of a request this machine's data has none of: they find nobody, and exclude nobody. */
export async function noteUnknownTechnologies(context: Context, input: Input): Promise<void> {
  const { stacks, excluded_stacks: excluded } = input
  const given = [stacks ?? [], excluded ?? []].flat().map(String)
  if (given.length === 0 || !context.isLocal() || !(await hasCatalogue(context.home))) return
  const { toSlug } = await import('../../catalogue/records/technologies.js')
  const catalogue = await context.catalogue()
  const known = await catalogue.technologies('', Number.POSITIVE_INFINITY)
  const slugs = new Set(known.map(({ slug }) => slug))
  for (const name of new Set(given.filter((one) => !slugs.has(toSlug(one))))) {
    const meant = nearest(toSlug(name), [...slugs])
    const hint =
      meant === undefined ? 'Search for its name: prospect accounts technologies' : `Did you mean ${meant}?`
    context.notify(`Nobody is known to use the technology "${oneLine(name)}". ${hint}`)
  }
}

/** Throws a Refusal for a name of several lists; what no list is called stays, for the target to refuse. */
export async function resolveListName(context: Context, name: string): Promise<string> {
  if (lists.isId(name)) return name
  const known = (await lists.read(context)) ?? []
  const found = known.filter((one) => foldText(one.name) === foldText(name))
  return found.length > 0 ? lists.resolve(found, name, '<id>') : name
}

/** Returns the industries whose ids are known, and with a local target those of its catalogue. */
export async function readIndustries(context: Context) {
  const isStored = context.isLocal() && (await hasCatalogue(context.home))
  const stored = isStored ? await (await context.catalogue()).industries() : []
  const counts = new Map(stored.map(({ id, name, companies }) => [id ?? name, companies]))
  const known = Object.entries(industries).map(([id, name]) => ({ id, name, companies: counts.get(id) ?? 0 }))
  const others = stored.flatMap(({ id, name, companies }) =>
    name === null || (id !== null && Object.hasOwn(industries, id)) ? [] : [{ id, name, companies }],
  )
  return [...known, ...others]
}

/**
 * Returns what the pasted URL of a search asks for: its filters, with names in place of ids, and on this machine's engine how
 * many records match. No operation of a server tells that for free.
 */
export async function explainSearch(context: Context, { operation, input }: OperationRequest) {
  const kind = operation.id === 'accounts.extract' ? 'companies' : 'people'
  const isLocal = context.isLocal()
  try {
    const search = decodeSearchUrl(String(input.search_url), kind)
    const total = isLocal ? await countHere(context, search) : null
    if (!isLocal) context.notify('The number of matches is not known in advance.')
    return { search: { filters: withLabels(search.filters), total } }
  } catch (error) {
    // A server may know filters that this program does not.
    if (isLocal || !(error instanceof ApiError)) throw error
    context.notify(`The filters of this URL are not known here: ${error.message}.`)
    return { search: { filters: null, total: null } }
  }
}

const countHere = async (context: Context, search: ReturnType<typeof decodeSearchUrl>): Promise<number> =>
  (await hasCatalogue(context.home)) ? (await context.catalogue()).count(search, context.clock.now()) : 0

const withLabels = (filters: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(filters).map(([name, value]: [string, unknown]) => {
      const labels = namedFields[name]?.labels
      const nameOf = (id: unknown) => labels?.[String(id)] ?? id
      return [name, Array.isArray(value) ? value.map(nameOf) : value]
    }),
  )
