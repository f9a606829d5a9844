import type { Input } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import { type Fields, isObject } from '../../api/values/objects.js'
import type { Accepted } from '../journal/journal.js'
import type { RowState } from '../plan/row-batch.js'

/** How rows go out together. */
export interface Together {
  /** The operation that takes them at once, and answers later. */
  readonly operation: OperationId
  /** The operation that tells of accepted work by its id. */
  readonly reader: OperationId
  /** The array of the request that takes the rows; what else they ask for is the same in all of them. */
  readonly into: string
  /** Fields of the request beside that array. */
  readonly shared: readonly string[]
  /** Fewest and most rows of a request. */
  readonly least: number
  readonly most: number
  /**
   * Takes accepted work to its end where that is done in this process, unless another one is at it; called before each
   * time that its results are asked for.
   */
  readonly work?: (id: string, signal: AbortSignal) => Promise<void>
}

/** What the row of a result is known by, in the values that a server gives back with it. */
const mark = 'prospect_row'

/** The first rows, as many as fit into one request: what the request asks for is the same in all of them. */
export function takeAlike(states: readonly RowState[], { shared, most }: Together): readonly RowState[] {
  const [first] = states
  if (!first) return []
  const asked = JSON.stringify(of(first.input, shared, true))
  const found: RowState[] = []
  for (const state of states) {
    if (found.length === most) break
    if (state === first || JSON.stringify(of(state.input, shared, true)) === asked) found.push(state)
  }
  return found
}

/** The request for several rows; each carries its number, which comes back with its result. */
export function requestFor(states: readonly RowState[], { shared, into }: Together): Input {
  const items = states.map(({ input, ordinal }) => {
    const item = of(input, shared, false)
    return { ...item, custom: { ...(isObject(item.custom) ? item.custom : {}), [mark]: String(ordinal + 1) } }
  })
  return { ...of(states[0]?.input ?? {}, shared, true), [into]: items }
}

function of(input: Input, names: readonly string[], isIn: boolean): Record<string, unknown> {
  const found = Object.entries(input).filter(([name]) => names.includes(name) === isIn)
  return Object.fromEntries(found.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** What the target knows accepted work by; nothing where the reply does not say. */
export function acceptedIn(body: unknown, ordinals: readonly number[], into: string): Accepted | undefined {
  const id = isObject(body) ? body.enrichment_id : undefined
  if (typeof id !== 'string') return undefined
  const items = itemsIn(body, into)
  const isMarked = items.some((item) => markOf(item) !== undefined)
  // With fewer items it is unknown which rows they belong to, so no row gets any.
  const isWhole = items.length === ordinals.length
  const parts = ordinals.map((ordinal, at) => {
    const item = isMarked ? items.find((one) => markOf(one) === ordinal) : isWhole ? items[at] : undefined
    return typeof item?.enrichment_id === 'string' ? item.enrichment_id : null
  })
  return { id, parts }
}

/** The results of rows in the order of their ordinals; undefined where there is none. */
export function resultsIn(
  body: unknown,
  ordinals: readonly number[],
  { parts }: Accepted,
  into: string,
): (Fields | undefined)[] {
  const items = itemsIn(body, into)
  return ordinals.map((ordinal, at) => {
    const part = parts[at]
    const isOf = (item: Fields) =>
      markOf(item) === ordinal || (part !== null && part !== undefined && item.enrichment_id === part)
    const item = items.find(isOf)
    return item && unmarked(item)
  })
}

/** The progress of work that reports its status with its results. */
export interface Standing {
  readonly isOver: boolean
  readonly hasFailed: boolean
  /** Rows that were done, in their order; the others were not got to. */
  readonly done: number
}

/** Statuses of work that will not change any more, as servers call them. */
const successes = /^(finished|completed?|done|success|succeeded)$/i
const failures = /^(failed|failure|error|errored|cancell?ed|aborted|expired|stopped|rejected|timed?_?out)$/i

/** How work stands by what its reader answers. */
export function standingIn(body: unknown, rows: number): Standing {
  const { status, finished } = isObject(body) ? body : {}
  const hasFailed = typeof status === 'string' && failures.test(status)
  const isOver = hasFailed || (typeof status === 'string' && successes.test(status))
  return { isOver, hasFailed, done: typeof finished === 'number' ? finished : hasFailed ? 0 : rows }
}

function itemsIn(body: unknown, into: string): readonly Fields[] {
  const items = isObject(body) ? body[into] : undefined
  return Array.isArray(items) ? items.filter(isObject) : []
}

function markOf({ custom }: Fields): number | undefined {
  const row = isObject(custom) ? Number(custom[mark]) : Number.NaN
  return Number.isSafeInteger(row) ? row - 1 : undefined
}

function unmarked({ custom, ...item }: Fields): Fields {
  if (!isObject(custom)) return custom === undefined ? item : { ...item, custom }
  const { [mark]: _, ...rest } = custom
  return Object.keys(rest).length === 0 ? item : { ...item, custom: rest }
}
