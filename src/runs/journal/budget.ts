import type { AnsweredRow, BudgetShortage, WantedRow } from './journal.js'
import { isUnknown } from './journal.js'
import type { Run } from './runs.js'

/** Maximum credits to spend. */
export interface Budget {
  /** By a run, over all its parts. */
  readonly perRun?: number | undefined
  /** By a profile in a day (UTC, real time), over all processes of this machine. */
  readonly perDay?: number | undefined
  /** By several runs together, over all their parts. */
  readonly sharedBudget?: { readonly credits: number; readonly runs: readonly number[] } | undefined
}

export interface BudgetLeft {
  /** Without the credits that are set aside. Below 0 when those and the spent ones exceed a lowered budget. */
  readonly credits: number
  /** Set aside for rows of this run that are under way. */
  readonly reserved: number
  /** The part of `reserved` for rows whose recorded outcome is unknown. */
  readonly unknown: number
  readonly shortage: BudgetShortage
}

interface Grant {
  readonly credits: number
  /** Replaces the row's own `limit`. */
  readonly limit?: number
}

/**
 * Returns the grants for the first of the wanted rows, as many as the budgets permit. Rows of an earlier part have their
 * credits already; they are granted while those fit into the budget, which may have been lowered.
 */
export function grantCredits(
  wanted: readonly WantedRow[],
  { credits, reserved, unknown }: BudgetLeft,
  { underWay, of }: ReturnType<Holds['claims']>,
): Grant[] {
  const grants: Grant[] = []
  let left = Math.max(0, credits)
  let room = credits + reserved - unknown - underWay
  for (const row of wanted) {
    const { most, perRecord } = row
    const claimed = of(row)
    const needed = claimed === undefined ? most : 0
    const within = claimed === undefined ? most <= left : most === 0 || claimed <= room
    if (within) {
      grants.push({ credits: needed })
      left -= needed
      room -= claimed ?? most
      continue
    }
    // With another limit, the same key would belong to another request.
    if (claimed !== undefined) break
    // A lower limit loses records, so it is the last resort: rows under way may still release credits.
    const isLast = grants.length === 0 && reserved === 0 && perRecord !== undefined && left >= perRecord
    if (!isLast) break
    const limit = Math.floor(left / perRecord)
    return [{ credits: limit * perRecord, limit }]
  }
  return grants
}

/** How much of a quota a run may use, over all its parts: the profiles that its searches extract. */
export class QuotaBudget {
  /** By row, what it can use while its answer is under way. */
  readonly #held = new Map<number, number>()

  constructor(
    private readonly most: number,
    private used: number,
    private readonly countIn: (body: unknown) => number,
  ) {}

  /** Returns the first of some rows, as many as what is left certainly suffices for. */
  fitting(rows: readonly WantedRow[]): readonly WantedRow[] {
    let left = this.most - this.used
    for (const units of this.#held.values()) left -= units
    const end = rows.findIndex(({ units = 0 }) => {
      left -= units
      return left < 0
    })
    return end < 0 ? rows : rows.slice(0, end)
  }

  get shortage(): BudgetShortage {
    return { budget: 'profiles', credits: this.most }
  }

  hold({ ordinal, units = 0 }: WantedRow): void {
    this.#held.set(ordinal, units)
  }

  settle(rows: readonly AnsweredRow[]): void {
    for (const { ordinal, answer } of rows)
      if (this.#held.delete(ordinal)) this.used += this.countIn(answer.body)
  }
}

const none: ReadonlySet<number> = new Set()

/** The credits set aside for the rows of a run that are under way, by this part of the run and by earlier parts. */
export class Holds {
  readonly #held = new Map<number, number>()
  /** Rows under way for which an earlier part set credits aside. */
  readonly #inherited = new Set<number>()
  /** Rows with an unknown outcome that are sent again. */
  readonly retried = new Set<number>()
  /** Rows of the current range that an earlier part may have sent, and those of them with credits set aside. */
  sent = none
  covered = none

  /** The row that an earlier part sent with a lower `limit`, and that limit. */
  constructor(private readonly lowered: Pick<Run, 'loweredRow' | 'loweredLimit'>) {}

  /** Notes the rows of a range that may have been sent: those that `failed`, and those for which credits are set aside. */
  resume(covered = none, failed = none): void {
    this.covered = covered
    this.sent = failed.size > 0 ? new Set([...covered, ...failed]) : covered
  }

  /** Returns the limit that a row was sent with because of a budget. */
  loweredOf(ordinal: number): number | null {
    const { loweredRow, loweredLimit } = this.lowered
    return this.sent.has(ordinal) && ordinal === loweredRow ? loweredLimit : null
  }

  /** Returns the credits that an earlier part set aside for a row. */
  heldFor({ ordinal, most, perRecord = 0 }: WantedRow): number {
    const limit = this.loweredOf(ordinal)
    return limit === null ? most : limit * perRecord
  }

  /**
   * Returns the maximum cost of the rows under way, without those whose recorded outcome is unknown, and what sending a row
   * adds to it; `undefined` where nothing is set aside for the row. Only rows of earlier parts have to fit in beside it.
   */
  claims() {
    let underWay = 0
    if (this.covered.size > 0)
      for (const [ordinal, held] of this.#held) if (!this.retried.has(ordinal)) underWay += held
    const of = (row: WantedRow): number | undefined => {
      const { ordinal, most } = row
      if (!this.covered.has(ordinal)) return undefined
      return this.heldFor(row) - (this.retried.has(ordinal) ? most : (this.#held.get(ordinal) ?? 0))
    }
    return { underWay, of }
  }

  hold(ordinal: number, credits: number, isInherited: boolean): void {
    this.#held.set(ordinal, credits)
    if (isInherited) this.#inherited.add(ordinal)
  }

  /** Returns the credits that this part set aside for rows without an answer, except for some. */
  leftBut(isExcepted: (ordinal: number) => boolean): number {
    return this.freshOf([...this.#held.keys()].filter((ordinal) => !isExcepted(ordinal)))
  }

  freshOf(ordinals: readonly number[]): number {
    const own = ordinals.filter((ordinal) => !this.#inherited.has(ordinal))
    return own.reduce((credits, ordinal) => credits + (this.#held.get(ordinal) ?? 0), 0)
  }

  release(ordinals: readonly number[]): void {
    for (const ordinal of ordinals) if (!this.#inherited.has(ordinal)) this.#held.delete(ordinal)
  }

  /** Returns how answers change the counters of the run: `released` credits are free, `unknown` ones stay set aside. */
  changeBy(rows: readonly AnsweredRow[]) {
    const change = { credits: 0, calls: 0, released: 0, unknown: 0 }
    for (const { ordinal, answer, source, most } of rows) {
      const wasUnknown = this.retried.has(ordinal)
      if (source === 'live') {
        change.calls++
        change.credits += answer.credits
      }
      if (isUnknown(answer)) change.unknown += wasUnknown ? 0 : most
      else {
        change.released += this.#held.get(ordinal) ?? 0
        if (wasUnknown) change.unknown -= most
      }
    }
    return change
  }

  settle(rows: readonly AnsweredRow[]): void {
    for (const { ordinal } of rows) {
      this.#held.delete(ordinal)
      this.#inherited.delete(ordinal)
      this.retried.delete(ordinal)
    }
  }
}
