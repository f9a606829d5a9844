import type { Input } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import { type Fields, isObject } from '../../api/values/objects.js'
import type { Accepted } from '../journal/journal.js'
import type { RowState } from '../plan/row-batch.js'

/** How several rows are sent in one request. */
export interface Together {
  /** The operation that accepts several rows, and answers later. */
  readonly operation: OperationId
  /** The operation that reads accepted work by its id. */
  readonly reader: OperationId
  /** The array of the request for the rows; their other options are the same. */
  readonly into: string
  /** Fields of the request beside that array. */
  readonly shared: readonly string[]
  /** Fewest and most rows of a request. */
  readonly least: number
  readonly most: number
  /** Finishes accepted work in this process, unless another one works on it; called before each poll for its results. */
  readonly work?: (id: string, signal: AbortSignal) => Promise<void>
}

/** Key of the row number among the custom values that a server returns with a result. */
const mark = 'prospect_row'

/** Returns the first rows with equal options, as many as fit into one request. */
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

/** Returns the request for several rows; each carries its number, which comes back with its result. */
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

/** Returns the ids of accepted work; `undefined` where the reply has none. */
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

/** Returns the results of rows in the order of their ordinals; `undefined` where there is none. */
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
interface Standing {
  readonly isOver: boolean
  readonly hasFailed: boolean
  /** Number of rows that were done, in their order. */
  readonly done: number
}

/** Final statuses of work, as servers call them. */
const successes = /^(finished|completed?|done|success|succeeded)$/i
const failures = /^(failed|failure|error|errored|cancell?ed|aborted|expired|stopped|rejected|timed?_?out)$/i

/** Returns the progress of work from the body that its reader returned. */
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
