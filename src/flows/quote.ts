import type { Shape } from '../api/areas/shapes.js'
import { mostCredits, unitPrice } from '../engine/credits/cost.js'
import {
  type BatchQuote,
  createQuote,
  noRowCounts,
  type Results,
  type RowCounts,
} from '../runs/plan/quote.js'
import type { Remaining } from '../runs/ports.js'
import type { StepCount } from './chain.js'
import { isRowStep, type LookupStep, type Step } from './read.js'

/** A number that is not certain: the least, the one to expect, and the most. */
export type Range = Readonly<Record<'min' | 'expected' | 'max', number>>

/** Shares of rows that go on, where no run of the flow says more: the least, the one to expect, and the most. */
const usualShares = {
  keep: [0.05, 0.5, 1],
  distinct: [0.1, 0.8, 1],
  only_if: [0, 0.5, 1],
  // What was not found goes on; duplicates do not.
  lookup: [0.8, 1, 1],
  people: [0.1, 0.6, 1],
} as const

/** Rows from which on the shares of earlier runs count. */
const enoughRows = 20

const times = ({ min, expected, max }: Range, shares: readonly [number, number, number]): Range => ({
  min: Math.floor(min * shares[0]),
  expected: Math.round(expected * shares[1]),
  max: Math.ceil(max * shares[2]),
})

/** Returns the rows that a search brings, which are the input of a flow. */
function rowsOfSearch({ constants }: LookupStep, before: StepCount | undefined): Range {
  const max = Number(constants.limit)
  return { min: 0, expected: before ? Math.min(max, before.out) : max, max }
}

/** Returns the rows that came to a step and were new to the flow: what it knew from earlier runs it did not ask about. */
const newRows = (before: StepCount | undefined): number => (before ? before.in - (before.left_out ?? 0) : 0)

function sharesOf(
  step: Step,
  before: StepCount | undefined,
): { shares: readonly [number, number, number]; fromHistory: boolean } {
  // What a limit lets through is not a share.
  if (step.kind === 'set' || step.kind === 'limit' || step.kind === 'sort')
    return { shares: [1, 1, 1], fromHistory: before !== undefined }
  const isOfPeople = step.kind === 'lookup' && step.place === 'people'
  const each = isOfPeople ? Number(step.constants.limit) : 1
  const came = newRows(before)
  if (before && came >= enoughRows) {
    const share = before.out / came
    return { shares: [share * 0.8, share, Math.min(each, share * 1.2)], fromHistory: true }
  }
  const [min, expected, max] = usualShares[isRowStep(step) ? step.kind : isOfPeople ? 'people' : 'lookup']
  return { shares: [min * each, expected * each, max * each], fromHistory: false }
}

/** Returns the rows that a limit lets through. */
const limited = ({ min, expected, max }: Range, step: Step): Range =>
  step.kind === 'limit'
    ? {
        min: Math.min(min, step.limit),
        expected: Math.min(expected, step.limit),
        max: Math.min(max, step.limit),
      }
    : { min, expected, max }

/** Returns the rows that a step asks about: those that its condition does not let pass by. */
function askedOf(coming: Range, step: Step, before: StepCount | undefined): Range {
  if (!('only_if' in step) || step.only_if === undefined) return coming
  const came = newRows(before)
  if (!before || came < enoughRows) return times(coming, usualShares.only_if)
  const share = 1 - (before.passed_by ?? 0) / came
  return times(coming, [share * 0.8, share, Math.min(1, share * 1.2)])
}

/** What data vendors may cost for so many lookups; `expected` is null while too little is known. */
interface VendorQuote {
  readonly provider: string
  readonly kind: string
  readonly expected: number | null
  readonly max: number
}

interface StepFacts {
  /** Absent where no data vendor is asked. */
  readonly providers?: ((lookups: number) => Promise<readonly VendorQuote[] | undefined>) | undefined
  readonly results: Results
  readonly remaining: Remaining
  /** Share of the maximum to assume without results. */
  readonly defaultShare: number
}

/**
 * Quotes the steps of a flow, whose input has so many rows. `factsOf` asks free questions only. `counted` is what the rows need in
 * the first step, where that is known; who comes to the others is not, so that they are quoted as if nothing were stored.
 */
export async function quoteFlow(
  steps: readonly Step[],
  rows: Range,
  before: readonly (StepCount | undefined)[],
  factsOf: (step: Step & { readonly kind: 'lookup' }) => Promise<StepFacts>,
  counted?: RowCounts,
) {
  const quotes = []
  let coming = rows
  for (const [at, step] of steps.entries()) {
    const isSource = step.kind === 'lookup' && step.place === 'records'
    const { shares, fromHistory } = sharesOf(step, before[at])
    const out = isSource ? rowsOfSearch(step, before[at]) : limited(times(coming, shares), step)
    const known = at === 0 ? counted : undefined
    const asked = known
      ? { min: known.lookups, expected: known.lookups, max: known.lookups }
      : askedOf(coming, step, before[at])
    const own = step.kind === 'lookup' ? await factsOf({ ...step, kind: 'lookup' }) : undefined
    const ask = (count: number) =>
      own && step.kind === 'lookup' ? quoteStep(known ?? countsOf(step, count), own) : undefined
    const [max, expected] = [ask(asked.max), ask(asked.expected)]
    const likely =
      isSource && max
        ? Math.min(max.credits.max, out.expected * unitPrice(step.operation))
        : expected?.credits.expected
    quotes.push({
      step: step.name,
      ...(isSource ? { is_source: true as const } : {}),
      rows: coming,
      /** Rows that still have to be asked about, and lookups that are answered already; absent where that is not known. */
      ...(known && { lookups: known.lookups, answered: known.in_store + known.done }),
      /** Rows that it leaves in the flow. */
      out,
      /** Whether earlier runs of the flow say so. */
      from_history: isSource ? before[at] !== undefined : fromHistory,
      credits: { min: 0, expected: likely ?? 0, max: max?.credits.max ?? 0 },
      /** Least time by the rate limits, for the rows to expect; null where they are not known. */
      seconds: expected ? expected.seconds : 0,
      ...(own?.providers ? { providers: await providersFor(own.providers, asked) } : {}),
    })
    coming = out
  }
  return quotes
}

/** Returns what data vendors cost at most for the most rows, and about for those to expect. */
async function providersFor(quote: NonNullable<StepFacts['providers']>, { expected, max }: Range) {
  const likely = await quote(expected)
  return (await quote(max))?.map((one, at) => ({ ...one, expected: likely?.[at]?.expected ?? null }))
}

/** Returns what so many rows of a step need where nothing is known of them. */
function countsOf({ operation, shape, constants }: LookupStep, rows: number): RowCounts {
  const limit: unknown = (shape.input.shape as Shape['input']['shape']).limit?.safeParse(undefined).data
  const max = rows * (mostCredits(operation, { limit, ...constants }) ?? 0)
  const units = operation.quota === undefined ? 0 : rows * Number(constants.limit ?? 0)
  return { ...noRowCounts, rows, unique: rows, lookups: rows, most: max, units, rows_affordable: rows }
}

function quoteStep(counted: RowCounts, { results, remaining, defaultShare }: StepFacts): BatchQuote {
  return createQuote({
    counted,
    results,
    defaultShare,
    windows: remaining.windows,
    spendable: { ...remaining.spendable, budget: undefined },
  })
}
