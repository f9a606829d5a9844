import type { CsvRow } from '../../csv/parse.js'
import type { Table } from '../input/table.js'
import type { Journal, RecalledAnswer } from '../journal/journal.js'
import { type ReasonCount, ReasonCounter } from '../output/report.js'
import { type Lookup, prepare, RowBatch, type RowState } from './row-batch.js'

/** Counts of the rows of a file before anything is sent. */
export interface RowCounts {
  readonly rows: number
  /** Different lookups among the valid rows. */
  readonly unique: number
  /** Lookups whose answers come from the store of earlier runs. */
  readonly inStore: number
  /** Rows that an earlier part of the same run has answered. */
  readonly answered: number
  readonly invalid: number
  readonly invalidReasons: readonly ReasonCount[]
  /** Rows that are not to be looked up. */
  readonly skipped: number
  /** Lookups that would be sent. */
  readonly lookups: number
  /** Their maximum cost in credits. */
  readonly most: number
  /** Rows before the first one that may exceed the spendable credits. */
  readonly affordable: number
}

/** The cost of lookups with the same price so far. */
export interface Results {
  readonly credits: number
  readonly answers: number
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
  /** The cost of this machine's lookups on this target. */
  | { readonly kind: 'own'; readonly answers: number; readonly credits_per_lookup: number }
  /** No lookups recorded yet: this share of the maximum is assumed. */
  | { readonly kind: 'default'; readonly share: number }

/** Why a maximum is not covered. */
export type Shortage = 'credits' | 'weekly_limit' | 'quota'

/** The cost of a batch, before it starts. */
export interface BatchQuote {
  readonly rows: number
  readonly unique: number
  readonly in_store: number
  readonly invalid: number
  readonly credits: { readonly min: number; readonly expected: number; readonly max: number }
  readonly balance: number | null
  readonly weekly_allowance: number | null
  readonly quotas: Readonly<Record<string, unknown>>
  /** Minimum duration by the rate limits; null where they are not known. */
  readonly seconds: number | null
  readonly rows_affordable: number
  readonly answered: number
  readonly skipped: number
  readonly invalid_reasons: readonly ReasonCount[]
  readonly lookups: number
  readonly basis: Basis
  readonly budget: number | null
  /** null where the maximum is covered, or is not known to be short. */
  readonly shortage: Shortage | null
  /** Fields that are null because the target does not say. */
  readonly unknown: readonly string[]
}

/** Everything a quote is made of. */
export interface QuoteInput {
  readonly counted: RowCounts
  readonly results: Results
  /** Share of the maximum to assume without results. */
  readonly defaultShare: number
  readonly spendable: RunFunds
  /** null where the limits are not known. */
  readonly windows: readonly RateWindow[] | null
}

const unlimited = Number.POSITIVE_INFINITY

/** Returns the credits that a run can certainly spend; an unknown value is no limit. */
export const countSpendable = ({ balance, allowance, budget }: Omit<RunFunds, 'quotas'>): number =>
  Math.min(balance ?? unlimited, allowance ?? unlimited, budget ?? unlimited)

/** Makes the quote of a batch. A lookup that finds nothing costs nothing, so that the minimum is nothing. */
export function createQuote({ counted, results, defaultShare, spendable, windows }: QuoteInput): BatchQuote {
  const { rows, unique, inStore, invalid, answered, skipped, lookups, most, affordable } = counted
  const { invalidReasons: invalid_reasons } = counted
  const { balance, allowance, budget, quotas } = spendable
  const max = Math.min(most, budget ?? unlimited)
  const basis = basisOf(max, results, defaultShare)
  const seconds = secondsFor(lookups, windows)
  const missing = { balance, weekly_allowance: allowance, seconds }
  return {
    ...{ rows, unique, in_store: inStore, invalid },
    credits: { min: 0, expected: Math.min(max, expectedOf(basis, counted, results)), max },
    balance,
    weekly_allowance: allowance ?? null,
    quotas,
    seconds,
    rows_affordable: affordable,
    ...{ answered, skipped, invalid_reasons, lookups, basis },
    budget: budget ?? null,
    shortage: shortageOf(max, lookups, spendable),
    unknown: Object.entries(missing).flatMap(([name, value]) => (value === null ? [name] : [])),
  }
}

function basisOf(max: number, { credits, answers }: Results, share: number): Basis {
  if (max === 0) return { kind: 'certain' }
  if (answers === 0) return { kind: 'default', share }
  return { kind: 'own', answers, credits_per_lookup: Math.round((credits / answers) * 1_000) / 1_000 }
}

function expectedOf(basis: Basis, { most, lookups }: RowCounts, { credits, answers }: Results): number {
  if (basis.kind === 'certain') return 0
  return Math.round(basis.kind === 'own' ? (lookups * credits) / answers : most * basis.share)
}

/** The balance is looked at first, as the API does. */
function shortageOf(max: number, lookups: number, spendable: RunFunds): Shortage | null {
  if (max > (spendable.balance ?? unlimited)) return 'credits'
  if (max > (spendable.allowance ?? unlimited)) return 'weekly_limit'
  return lookups > (spendable.quotaLeft ?? unlimited) ? 'quota' : null
}

/** Returns the seconds until the last of these requests fits in all windows. */
function secondsFor(requests: number, windows: readonly RateWindow[] | null): number | null {
  if (requests === 0) return 0
  return windows && Math.max(0, ...windows.map((window) => secondsIn(window, requests)))
}

function secondsIn({ limit, seconds, left, resetsIn }: RateWindow, requests: number): number {
  if (requests <= left) return 0
  return resetsIn + (Math.ceil((requests - left) / limit) - 1) * seconds
}

/** A file to count, and the answers that its rows have already. */
export interface CountRequest extends Lookup {
  readonly table: Pick<Table, 'header' | 'rows'>
  /** Finds the answers that rows have already. It records nothing. */
  readonly journal: Pick<Journal, 'resume' | 'recall'>
  /** Adds an identity and returns whether it is new; called only for those that may repeat. */
  readonly isNew: (hash: number) => boolean
  /** Credits that can be spent. */
  readonly funds: number
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
  return { ...counter.counted, invalidReasons: counter.reasons.counts }
}

type MutableRowCounts = { -readonly [name in Exclude<keyof RowCounts, 'invalidReasons'>]: number }

class Counter {
  readonly #counting: CountRequest
  readonly reasons = new ReasonCounter()
  readonly counted: MutableRowCounts = {
    ...{ rows: 0, unique: 0, inStore: 0, answered: 0, invalid: 0, skipped: 0, lookups: 0, most: 0 },
    affordable: 0,
  }

  constructor(counting: CountRequest) {
    this.#counting = counting
  }

  async count(rows: readonly CsvRow[]): Promise<void> {
    const { counted } = this
    const { journal, skip } = this.#counting
    const first = counted.rows
    const { states } = new RowBatch(rows, first)
    const meant = states.filter(({ row }) => skip?.(row.cells) !== true)
    const valid = meant.filter((state) => {
      const problem = prepare(this.#counting, this.#counting.table.header, state)
      if (problem !== undefined) this.reasons.add(problem)
      return problem === undefined
    })
    counted.skipped += states.length - meant.length
    counted.invalid += meant.length - valid.length
    const resumed = await journal.resume(first, first + states.length)
    const originals = valid.filter((state) => this.#isOpen(state, resumed.get(state.ordinal)))
    const recalled = await journal.recall(originals)
    const sent = new Set(originals.filter((_, at) => recalled[at] === undefined))
    counted.lookups += sent.size
    counted.inStore += recalled.filter((one) => one?.source === 'store').length
    for (const state of states) this.#pay(sent.has(state) ? state.most : 0)
  }

  /** Whether a row has to be looked up: it has no answer, and no equal row comes before it. */
  #isOpen(state: RowState, own: RecalledAnswer | undefined): boolean {
    // An answer that serves no equal row leaves the next of them to be looked up.
    const serves = own === undefined || ['found', 'not_found'].includes(own.answer.status)
    const { isNew } = this.#counting
    const isFirst = !state.repeats || state.hash === undefined || !serves || isNew(state.hash)
    if (isFirst) this.counted.unique++
    if (own) this.counted.answered++
    return isFirst && !own
  }

  /** Counts a row with what it can cost. */
  #pay(credits: number): void {
    const { counted } = this
    counted.most += credits
    if (counted.affordable === counted.rows && counted.most <= this.#counting.funds) counted.affordable++
    counted.rows++
  }
}
