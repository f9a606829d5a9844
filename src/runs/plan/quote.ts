import type { Operation } from '../../api/operations/table.js'
import { LeftOutCounter, type LeftOutValues } from '../../csv/names.js'
import type { CsvRow } from '../../csv/parse.js'
import type { RowOutcome } from '../../lookups/answer.js'
import type { Lookups } from '../../lookups/store.js'
import type { Table } from '../input/table.js'
import type { RunResults } from '../journal/spending.js'
import { type ReasonCount, ReasonCounter } from '../output/report.js'
import { type Lookup, prepare, RowBatch, type RowState } from './lookup.js'

const noCounts = {
  rows: 0,
  /** Different lookups among the valid rows. */
  unique: 0,
  /** Lookups whose answers come from the store of earlier runs. */
  in_store: 0,
  /** Rows that an earlier execution of the same run has answered. */
  done: 0,
  invalid: 0,
  /** Rows without a profile URL that are looked up for the email address only. */
  email_only: 0,
  /** Those of the lookups with a stored answer, which the run does not take: without `--refresh`, or with `--max-age 90d`. */
  paid_again: 0,
  /** Rows that are not to be looked up. */
  skipped: 0,
  /** Rows that a list of known rows has. */
  known: 0,
  /** Rows about people and companies that are suppressed. */
  suppressed: 0,
  /** Lookups that would be sent. */
  lookups: 0,
  /** Their maximum cost in credits. */
  most: 0,
  /** The lowest maximum of one of them: with less, none is sent. */
  least: 0,
  /** The most that they can use of a quota. */
  units: 0,
  /** Rows before the first one that may exceed the spendable credits. */
  rows_affordable: 0,
}

/** Counts of the rows of a file before anything is sent. */
export type RowCounts = Readonly<typeof noCounts> & {
  /** Real time at which the oldest of the stored answers was given. */
  readonly oldestStored?: number | undefined
  readonly invalid_reasons: readonly ReasonCount[]
  /** Values that valid rows are looked up without. */
  readonly not_understood: readonly LeftOutValues[]
}

export const noRowCounts: RowCounts = { ...noCounts, invalid_reasons: [], not_understood: [] }

/** The cost of lookups with the same price so far. */
export interface Results extends Omit<RunResults, 'request'> {
  /** How many runs they are of. */
  readonly runs: number
  /** Credits per lookup in each of the newest files like this one, which may be more than those runs. */
  readonly rates: readonly number[]
}

/** The credits that a run can spend, with quotas. */
export interface RunFunds {
  /** null where the target does not say. */
  readonly balance: number | null
  /** Rest of the weekly allowance; `undefined` without a limit, null where the target does not say. */
  readonly allowance: number | null | undefined
  /** Rest of the run's budgets; `undefined` without a budget. */
  readonly budget: number | undefined
  /** Quotas as the target reports them. */
  readonly quotas: Readonly<Record<string, unknown>>
  /** Units left of the operation's quota; `undefined` where it has none. */
  readonly quotaLeft?: number | null | undefined
}

/** A window of requests as it is now. */
export interface RateWindow {
  readonly limit: number
  readonly seconds: number
  readonly left: number
  /** Seconds until it is empty again. */
  readonly resetsIn: number
}

/** What the expected credits are based on. */
export type Basis =
  /** Nothing can be charged. */
  | { readonly kind: 'certain' }
  /** The cost of this machine's lookups on this target, in the newest files like this one. */
  | {
      readonly kind: 'own'
      readonly answers: number
      readonly files: number
      readonly credits_per_lookup: number
    }
  /** Fewer lookups recorded than count: mostly, this share of the maximum is assumed. */
  | { readonly kind: 'default'; readonly share: number; readonly answers: number; readonly files: number }

/** Why a maximum is not covered. */
export type Shortage = 'credits' | 'weekly_limit' | 'quota'

/** The cost of a batch, before it starts. */
export type BatchQuote = ReturnType<typeof createQuote>

/** Returns the share of the maximum to expect without results: few companies have as many jobs as are asked for. */
export const defaultShareOf = ({ price }: Operation): number => (price.job === undefined ? 0.5 : 0.1)

export interface QuoteInput {
  readonly counted: RowCounts
  readonly results: Results
  /** Share of the maximum to assume without results. */
  readonly defaultShare: number
  readonly spendable: RunFunds
  /** null where the limits are not known. */
  readonly windows: readonly RateWindow[] | null
  /** Rest of the run's budget of a quota. */
  readonly quotaBudget?: number | undefined
  /** What the run of these rows has spent, or may have. */
  readonly spentBefore?: number
  /** Most credits of all rows of the file, where only some of them are counted; null where those are all that is known. */
  readonly ofFile?: number | null | undefined
}

const unlimited = Number.POSITIVE_INFINITY

/** Returns the credits that a run can certainly spend; an unknown value is no limit. */
export const countSpendable = ({ balance, allowance, budget }: Omit<RunFunds, 'quotas'>): number =>
  Math.min(balance ?? unlimited, allowance ?? unlimited, budget ?? unlimited)

/** Makes the quote of a batch. A lookup that finds nothing costs nothing, so that the minimum is nothing. */
export function createQuote({
  counted,
  results,
  defaultShare,
  spendable,
  windows,
  quotaBudget = unlimited,
  spentBefore = 0,
  ofFile = counted.most,
}: QuoteInput) {
  const { rows, unique, in_store, invalid, rows_affordable, oldestStored, most, least, units, ...others } =
    counted
  const { balance, allowance, budget, quotas } = spendable
  const isTooLittle = budget !== undefined && budget < least
  const max = isTooLittle ? 0 : Math.min(most, budget ?? unlimited)
  const basis = basisOf(max, results, defaultShare)
  const { expected, range } = expectedCredits(basis, counted, results, max, defaultShare)
  const seconds = secondsFor(others.lookups, windows)
  const missing = { balance, weekly_allowance: allowance, seconds }
  const profiles = units === 0 ? null : Math.max(0, Math.min(units, quotaBudget))
  return {
    rows,
    unique,
    in_store,
    invalid,
    credits: { min: 0, expected, max },
    balance,
    weekly_allowance: allowance ?? null,
    quotas,
    /** Minimum duration by the rate limits; null where they are not known. */
    seconds,
    rows_affordable,
    ...others,
    /** Where the credits are in four of five cases, as far as files like this one say; null where nothing can be charged. */
    expected_range: range,
    basis,
    budget: budget ?? null,
    /** What one row can cost where the budget does not suffice for any; null where it does. */
    least_needed: isTooLittle ? least : null,
    /** What the run of these rows has spent, which counts in its budget where it goes on. */
    spent_before: spentBefore,
    /** Most credits of the whole file: with more rows than these, and without a budget. null where it is not counted. */
    file_max: ofFile,
    /** null where the maximum is covered, or is not known to be short. */
    shortage: shortageOf(max, profiles ?? others.lookups, spendable),
    /** Most profiles of the daily quota that it uses; null where it uses none. */
    profiles_max: profiles,
    /** When the oldest of the stored answers was given, in ISO 8601; null without any. */
    oldest_in_store: oldestStored === undefined ? null : new Date(oldestStored).toISOString(),
    /** Fields that are null because the target does not say. */
    unknown: Object.entries(missing).flatMap(([name, value]) => (value === null ? [name] : [])),
  }
}

function basisOf(max: number, { credits, answers, runs: files }: Results, share: number): Basis {
  if (max === 0) return { kind: 'certain' }
  if (answers < enoughAnswers) return { kind: 'default', share, answers, files }
  return { kind: 'own', answers, files, credits_per_lookup: Math.round((credits / answers) * 1_000) / 1_000 }
}

type CreditRange = readonly [low: number, high: number]

/** Own lookups from which on only they count. The default counts as many before. */
export const enoughAnswers = 50

/** Files from which on what they cost bounds what the next one costs in four of five cases. */
export const enoughFiles = 9

/** With fewer files, anything up to the maximum is expected. */
const someFiles = 5

/** Returns the credits to expect, and their range. */
function expectedCredits(
  basis: Basis,
  { most, lookups }: RowCounts,
  { credits, answers, rates }: Results,
  max: number,
  defaultShare: number,
): { readonly expected: number; readonly range: CreditRange | null } {
  const bounded = (value: number) => Math.max(0, Math.min(max, Math.round(value)))
  if (basis.kind === 'certain') return { expected: 0, range: null }
  const files = rates.length
  // Files differ more than rows do: the next one may be as good or bad as any when there was one, and of n files it is outside
  // of what they cost with a chance of 2 in n + 1.
  const outside = 2 / (files + 1)
  const [lowest, highest] = [Math.min(...rates) * lookups, Math.max(...rates) * lookups]
  const range: CreditRange = [
    bounded(lowest * (1 - outside)),
    // A few files that found little say nothing of how much the next one may find.
    files < someFiles ? max : bounded(Math.max(highest, highest + (most - highest) * outside)),
  ]
  if (basis.kind === 'own') {
    const likely = bounded((lookups * credits) / answers)
    const usual = bounded(most * defaultShare)
    // One file that found little says little of the next.
    return { expected: files > 1 || likely >= usual ? likely : bounded((likely + usual) / 2), range }
  }
  const own = most === 0 ? 0 : (lookups * credits) / most
  const share = Math.min(1, (own + enoughAnswers * basis.share) / (answers + enoughAnswers))
  const expected = bounded(most * share)
  if (files > 0) return { expected, range: [Math.min(range[0], expected), Math.max(range[1], expected)] }
  // Four of five normally distributed values are less than 1.28 standard deviations away.
  const off = 1.28 * Math.sqrt((share * (1 - share)) / 4)
  return { expected, range: [bounded(most * (share - off)), bounded(most * (share + off))] }
}

/** The balance is looked at first, as the API does. */
function shortageOf(max: number, units: number, spendable: RunFunds): Shortage | null {
  if (max > (spendable.balance ?? unlimited)) return 'credits'
  if (max > (spendable.allowance ?? unlimited)) return 'weekly_limit'
  return units > (spendable.quotaLeft ?? unlimited) ? 'quota' : null
}

function secondsFor(requests: number, windows: readonly RateWindow[] | null): number | null {
  if (requests === 0) return 0
  const secondsIn = ({ limit, seconds, left, resetsIn }: RateWindow) =>
    requests <= left ? 0 : resetsIn + (Math.ceil((requests - left) / limit) - 1) * seconds
  return windows && Math.max(0, ...windows.map(secondsIn))
}

/** A file to count, and the answers that its rows have already. */
export interface CountRequest extends Lookup {
  readonly table: Pick<Table, 'header' | 'rows'>
  /** Finds the answers that rows have already. It records nothing. */
  readonly lookups: Pick<Lookups, 'peek'>
  /** Adds an identity and returns whether it is new; called only for those that may repeat. */
  readonly isNew: (hash: number) => boolean
  readonly funds: number
  /** Whether stored answers are only counted, and not taken. */
  readonly onlyCountsStored?: boolean
  /** Called with the number of rows counted so far. */
  readonly onCounted?: (rows: number) => void
}

const batchSize = 256

/** Counts what the rows of a file would need, in constant memory. It sends nothing. */
export async function countRows(counting: CountRequest): Promise<RowCounts> {
  const counter = new Counter(counting)
  for await (const rows of counting.table.rows()) {
    for (let at = 0; at < rows.length; at += batchSize) await counter.count(rows.slice(at, at + batchSize))
    counting.onCounted?.(counter.counted.rows)
  }
  const { counted, reasons, leftOut } = counter
  return { ...counted, invalid_reasons: reasons.counts, not_understood: leftOut.counts }
}

class Counter {
  readonly reasons = new ReasonCounter()
  readonly leftOut = new LeftOutCounter()
  readonly counted: typeof noCounts & { oldestStored?: number } = { ...noCounts }
  #least = unlimited

  constructor(private readonly counting: CountRequest) {}

  async count(rows: readonly CsvRow[]): Promise<void> {
    const { counted } = this
    const { lookups, skip, isKnown, isEmailOnly, onlyCountsStored, suppressor, about } = this.counting
    const first = counted.rows
    const { states } = new RowBatch(rows, first)
    const unskipped = states.filter(({ row }) => skip?.(row) !== true)
    const meant = unskipped.filter(({ row }) => isKnown?.(row.cells) !== true)
    const prepared = meant.filter((state) => {
      const problem = prepare(this.counting, this.counting.table.header, state)
      if (problem !== undefined) this.reasons.add(problem, state.ordinal + 1)
      else this.leftOut.addRow(state.leftOut)
      if (problem === undefined && isEmailOnly?.(state.input)) counted.email_only++
      return problem === undefined
    })
    counted.skipped += states.length - unskipped.length
    counted.known += unskipped.length - meant.length
    counted.invalid += meant.length - prepared.length
    const suppressed = await suppressor?.areAskedAbout(
      prepared.map(({ input, row }) => about?.(row.cells, input) ?? input),
    )
    const valid = suppressed ? prepared.filter((_, at) => !suppressed[at]) : prepared
    counted.suppressed += prepared.length - valid.length
    const peeked = await lookups.peek(valid)
    const outcomes = new Map(valid.map((state, at) => [state, peeked[at]]))
    const ownOf = (state: RowState) => {
      const own = outcomes.get(state)
      return own?.kept && own.source !== 'duplicate' ? own : undefined
    }
    const originals = valid.filter((state) => this.#isOpen(state, ownOf(state)))
    const recalled = originals.map((state) => outcomes.get(state))
    const isStored = (one: RowOutcome | undefined) => one?.source === 'store' && one.sampled !== true
    const isSent = (one: RowOutcome | undefined) =>
      one === undefined || (onlyCountsStored === true && isStored(one))
    const sent = new Set(originals.filter((_, at) => isSent(recalled[at])))
    counted.lookups += sent.size
    for (const one of recalled) {
      if (one?.source !== 'store' || isSent(one)) continue
      counted.in_store++
      counted.oldestStored = Math.min(counted.oldestStored ?? unlimited, one.storedAt ?? unlimited)
    }
    if (onlyCountsStored) counted.paid_again += recalled.filter(isStored).length
    for (const state of states) {
      if (sent.has(state)) {
        counted.most += state.most
        // Fewer records than are asked for may be sent, too.
        this.#least = Math.min(this.#least, state.most, state.perRecord ?? state.most)
        counted.least = this.#least
        counted.units += state.units
      }
      const isAffordable = counted.rows_affordable === counted.rows && counted.most <= this.counting.funds
      if (isAffordable) counted.rows_affordable++
      counted.rows++
    }
  }

  /** Whether a row has to be looked up: it has no answer, and no equal row comes before it. */
  #isOpen(state: RowState, own: RowOutcome | undefined): boolean {
    // An answer that serves no equal row leaves the next of them to be looked up.
    const serves = own === undefined || ['found', 'not_found'].includes(own.answer.status)
    const { isNew } = this.counting
    const isFirst = !state.repeats || state.hash === undefined || !serves || isNew(state.hash)
    if (isFirst) this.counted.unique++
    if (own) this.counted.done++
    return isFirst && !own
  }
}
