import { type Fields, isBlank, isObject } from '../values/objects.js'

/** The facts of one operation, as plain data. A row has no functions, so it can be printed and tested. */

/** A rate limit: a number of requests in one window. */
export type Limit = readonly [requests: number, per: 'second' | 'minute']

/** Which request limits count a call: the plan's requests per minute, and the endpoint's own. */
export interface Rate {
  readonly plan: boolean
  readonly own?: Limit
}

/** The units that are paid for. A handler reports how many it found, and the pipeline multiplies by the price. */
export type Unit = 'company' | 'person' | 'job' | 'email' | 'personal_email' | 'phone' | 'number'

/** Plan quotas: profiles (daily) and companies (daily and monthly). */
export type Quota = 'profiles' | 'companies'

/** How much a request must be able to pay before any work: see `docs/rules.md`. */
export type Needs = 'unit' | 'items' | 'types' | 'contacts' | 'numbers' | 'records'

/** What makes two CSV rows the same lookup. */
export type Identity = 'company' | 'person' | 'contact' | 'email' | 'number'

export interface BodyLimits {
  readonly bytes: number
  /** Values in it, those inside of others included. */
  readonly values: number
}

/** Limits of the body of every request. */
export const bodyLimits: BodyLimits = { bytes: 1024 * 1024, values: 75_000 }

/** Where a server of ours says how credits are bought, on its own origin. */
export const topUpPath = '/top-up'

/** Maximum nesting of arrays and objects in JSON from others. */
export const maxLevels = 64

/** How long a server keeps an idempotency key with its reply. An older key protects from nothing. */
export const idempotencyTtlMs = 72 * 3_600_000

/** How long any server that supports idempotency keys has them, as far as is known: after that, nothing is sent under one again. */
export const leastKeyLifeMs = 24 * 3_600_000

export interface Facts {
  /** Words after `prospect`. Rows may share a command: `flag` then chooses between them. */
  readonly command: string
  readonly flag?: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Relative to the base address, with `{name}` for path parameters. */
  readonly path: string
  /** Status of a success. */
  readonly ok: 200 | 201 | 202
  readonly summary: string
  /** Seen in the vendor's public clients and pages; the specification does not have it. */
  readonly observed?: true
  /** Credits per unit found; empty when the operation is free. */
  readonly price: Partial<Readonly<Record<Unit, number>>>
  /** What must be affordable before the work; only on priced operations. */
  readonly needs?: Needs
  readonly quota?: Quota
  /** One rate, or one for live results and one for `live: false`. */
  readonly rate: Rate | { readonly live: Rate; readonly database: Rate }
  /** A limit of its own that was observed and is not specified: clients keep to it, the engine has none. */
  readonly observedLimit?: Limit
  /** Its path below the synchronous base address of a server that has one. Observed, not specified. */
  readonly syncPath?: string
  /** The plan counter shared with other operations; by default its own id. */
  readonly group?: string
  /** A session on the network that a call needs: always, unless `live: false`, or for the source `live`. */
  readonly session?: {
    readonly when: 'always' | 'live' | 'source'
    /** Whether it also needs the premium search tool; `url` when the given URL is one of that tool. */
    readonly premium?: 'yes' | 'url'
  }
  /** Shape of its own 400, 404, 409 and 422 bodies: `{error}` or `{error: status, message}`. */
  readonly errors: 'text' | 'coded'
  /** Takes an idempotency key. */
  readonly idempotent: boolean
  /** Chooses records by its fields: one that it does not know is refused, because ignoring it would find others. */
  readonly filters?: true
  /** Whether it starts work whose results are delivered later. */
  readonly starts?: 'import' | 'waterfall'
  /** Usable with `--csv`. */
  readonly batch?: {
    readonly identity: Identity
    /** Whether the reply is the record of the company or person, the same whichever fields identified it. */
    readonly record?: true
    /** The array of a one-to-many reply. An import is answered with such a reply when it has ended. */
    readonly found?: string
    /** The fields that columns fill, where the others are the same in every row. */
    readonly fields?: readonly string[]
    /** Flag of the row of this command that answers each line of the file at once. */
    readonly through?: string
    /** The array that takes all lines of the file in one request. */
    readonly into?: string
    /** The row of the command by which several lines are sent as one request, with later results. */
    readonly bulkRequests?: {
      readonly flag: string
      /** The operation that reads accepted work by its id. */
      readonly reader: 'contacts.get'
      /** The array that takes them, one item each. */
      readonly into: string
      /** Fewest items for which a request in bulk is better than single ones, and most items. */
      readonly least: number
      readonly most: number
    }
  }
  /** Columns of a table on a terminal: dotted paths into the reply or one of its records. */
  readonly columns: readonly string[]
}

/** Returns the rate that applies to a request; anything but `live: false` counts as live. */
export function rateOf(facts: Facts, live?: unknown): Rate {
  if (!('live' in facts.rate)) return facts.rate
  return live === false ? facts.rate.database : facts.rate.live
}

/** Returns whether a request limit ever counts its requests. */
export function isLimited({ rate }: Pick<Facts, 'rate'>): boolean {
  const rates = 'live' in rate ? [rate.live, rate.database] : [rate]
  return rates.some(({ plan, own }) => plan || own !== undefined)
}

/** Returns whether an operation's requests are counted, and whether `live` chooses the windows that count them. */
export const countingOf = (facts: Pick<Facts, 'rate'>) => ({
  isCounted: isLimited(facts),
  isChosenByLive: 'live' in facts.rate,
})

/** Returns whether the fields of a request travel in its body, and not in the query. */
export const hasBody = ({ method }: Pick<Facts, 'method'>): boolean => method === 'POST' || method === 'PUT'

/**
 * Whether a call may be sent twice: it only reads, or replaces what it names. Calls with idempotency keys add something. A
 * repeated deletion would answer that nothing is there.
 */
export const isRead = ({ idempotent, method }: Pick<Facts, 'idempotent' | 'method'>): boolean =>
  !idempotent && method !== 'DELETE'

export const pathParameters = ({ path }: Pick<Facts, 'path'>): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

/** Returns the path of a request, and its fields that are not in it. `encode` writes a value as a segment. */
export function splitPath(facts: Pick<Facts, 'path'>, input: Fields, encode: (value: unknown) => string) {
  const inPath = new Set(pathParameters(facts))
  const path = facts.path.replace(/\{(\w+)\}/g, (_, name: string) => encode(input[name] ?? ''))
  return { path, rest: Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.has(name))) }
}

/** Returns the companies or people that a request needs `items` for. */
export const itemsOf = ({ accounts, leads }: Fields): unknown => accounts ?? leads

/** Returns each item with what the request says of all, as a request for that one alone. */
export function inputsOfItems({ accounts, leads, ...all }: Fields): readonly Fields[] {
  const items = itemsOf({ accounts, leads })
  return Array.isArray(items) ? items.filter(isObject).map((item) => ({ ...all, ...item })) : []
}

/** Returns fields as a query with its question mark; empty when there are none. */
export function queryOf(fields: Fields): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null) query.append(name, String(each))
  return query.size === 0 ? '' : `?${query}`
}

/** What help and documents say of an observed operation. */
export const observedNote = 'Observed, not specified.'

/** Whether a request starts one job for several contacts, which has a place for each of them. */
export const startsSeveral = ({ needs, starts }: Pick<Facts, 'needs' | 'starts'>): boolean =>
  starts !== undefined && needs === 'contacts'

/** Returns whether a call can use up credits or a quota. */
export const isMetered = (facts: Facts): boolean => isPriced(facts) || facts.quota !== undefined

/** Returns whether a call can ever spend credits. */
export const isPriced = (facts: Facts): boolean => Object.keys(facts.price).length > 0

/** Filters that only the engine applies: no server of this API knows them. */
export const engineFilters = ['max_per_company'] as const

/** Returns the first such filter that an input has. */
export const engineFilterIn = (input: Fields) => engineFilters.find((name) => !isBlank(input[name] ?? null))

/** What a data vendor can be asked for. */
export type VendorKind = 'email' | 'personal_email' | 'phone' | 'person' | 'company' | 'verify'
