import { isOk } from '../../api/calls/caller.js'
import { lostCall } from '../journal/answer.js'
import type { Bulk } from '../journal/journal.js'
import type { RowBatch, RowState } from '../plan/row-batch.js'
import { takeAlike } from './bulk.js'
import { BulkCalls, type BulkPorts, type Sent } from './bulk-calls.js'
import type { Batch } from './ports.js'

/** Rows, and the request that an earlier part sent for them. */
type ResumableRequest = readonly [states: readonly RowState[], bulk: Bulk]

/** Requests whose results are awaited at once. */
const togetherAtOnce = 16
/** The same where no request takes several rows. */
const aloneAtOnce = 64

/**
 * Sends several rows in one request, never more than balance, weekly allowance and budget can pay. Other rows, and those
 * that a target does not accept together, are sent one by one.
 */
export class BulkLauncher {
  readonly #ports: BulkPorts
  readonly #calls: BulkCalls
  readonly #spendable: CreditBalance
  /** Rows to send one by one. */
  readonly #alone = new Set<RowState>()
  /** Resolves when all answers so far are recorded. */
  readonly #kept: () => Promise<void>
  #most: number

  constructor(ports: BulkPorts, kept: () => Promise<void>) {
    this.#ports = ports
    this.#calls = new BulkCalls(ports)
    this.#spendable = new CreditBalance(ports.batch)
    this.#kept = kept
    this.#most = ports.together.most
  }

  /** Returns requests of earlier parts for rows of a row batch, of which some have no answer. */
  resumable({ states }: RowBatch): ResumableRequest[] {
    const from = states[0]?.ordinal ?? 0
    const sent = this.#ports.journal.open().map((bulk): ResumableRequest => {
      const own = bulk.ordinals.map((ordinal) => states[ordinal - from])
      if (own.includes(undefined)) throw new Error(`request ${bulk.number} is not of one row batch`)
      return [own as RowState[], bulk]
    })
    return sent.filter(([own]) => own.some(({ isSettled }) => !isSettled))
  }

  /** Resumes requests of earlier parts. Returns the rows that have to be sent again. */
  async resume(requests: readonly ResumableRequest[]): Promise<RowState[]> {
    const { stopReason, journal } = this.#ports
    const anew: RowState[] = []
    for (const [states, bulk] of requests) {
      await this.#room()
      if (stopReason.signal.aborted) return anew
      const open = states.filter(({ isSettled }) => !isSettled)
      if (bulk.isGivenUp) {
        await journal.withdraw(bulk)
        anew.push(...open)
        continue
      }
      if (!(await this.#reopen(bulk, open))) return anew
      const [first] = states
      if (states.length === 1 && first) this.#calls.startAlone(first, bulk)
      else if (isRefused(await this.#calls.start(states, bulk)))
        anew.push(...states.filter(({ isSettled }) => !isSettled))
    }
    return anew
  }

  /** Whether the budget permits resuming a request. */
  async #reopen(bulk: Bulk, open: readonly RowState[]): Promise<boolean> {
    const { stopReason, journal, inFlight } = this.#ports
    for (let isLast = false; !stopReason.signal.aborted; ) {
      const shortage = await journal.reopen(bulk, open)
      if (!shortage) return true
      if (isLast) stopReason.exhaust(shortage, open[0]?.ordinal ?? 0)
      // Calls under way may cost less than was set aside for them.
      isLast = inFlight.isIdle
      if (!isLast) await inFlight.progress()
      await this.#kept()
    }
    return false
  }

  /** Sends rows that are not under way, in their order. */
  async send(states: readonly RowState[]): Promise<void> {
    const { stopReason, inFlight } = this.#ports
    for (let left = states; left.length > 0 && !stopReason.signal.aborted; ) {
      await this.#room()
      if (stopReason.signal.aborted) return
      const gone = await this.#sendSome(this.#next(left))
      if (gone.length > 0) left = left.filter((state) => !gone.includes(state))
      // Calls under way may cost less than was set aside for them.
      else if (!inFlight.isIdle) {
        await inFlight.progress()
        await this.#kept()
      }
    }
  }

  /** Returns the first rows, as many as may be sent together. */
  #next(states: readonly RowState[]): readonly RowState[] {
    const [first] = states
    if (first && this.#alone.delete(first)) return [first]
    return takeAlike(
      states.filter((state) => !this.#alone.has(state)),
      this.#ports.together,
    )
  }

  /** Sends as many as possible of rows with the same options. Returns those that were sent. */
  async #sendSome(states: readonly RowState[]): Promise<readonly RowState[]> {
    const { together, journal, inFlight } = this.#ports
    const { least } = together
    if (states.length < least || this.#most < least) return this.#sendAlone(states)
    const size = await this.#size(states)
    const isShort = size < Math.min(states.length, this.#most)
    if (isShort && !inFlight.isIdle) return []
    const { bulk } = size < least ? {} : await journal.plan(states.slice(0, size), least)
    if (bulk) return this.#sendTogether(states.slice(0, bulk.ordinals.length), bulk)
    return inFlight.isIdle ? this.#sendAlone(states) : []
  }

  async #sendTogether(states: readonly RowState[], bulk: Bulk): Promise<readonly RowState[]> {
    const isLast = this.#ports.inFlight.isIdle
    const sent = await this.#calls.start(states, bulk)
    this.#spendable.take(mostOf(states))
    if (!isRefused(sent)) return states
    this.#spendable.forget()
    if (sent === 'singly') for (const state of states) this.#alone.add(state)
    if (sent === 'allSingly') this.#most = 1
    // With nothing else under way, no credits will be released either.
    if (sent === 'smaller' && isLast) this.#most = Math.floor(states.length / 2)
    return []
  }

  async #sendAlone([state]: readonly RowState[]): Promise<readonly RowState[]> {
    const { journal, inFlight, stopReason } = this.#ports
    if (!state) return []
    const isLast = inFlight.isIdle
    if (isLast) await this.#kept()
    const { bulk, shortage } = await journal.plan([state], 1)
    if (bulk) {
      this.#spendable.take(state.most)
      this.#calls.startAlone(state, bulk)
      return [state]
    }
    if (isLast) stopReason.exhaust(shortage, state.ordinal)
    else this.#alone.add(state)
    return []
  }

  /** Returns how many of the rows can certainly be paid. */
  async #size(states: readonly RowState[]): Promise<number> {
    const wanted = states.slice(0, this.#most)
    let left = await this.#spendable.reaching(mostOf(wanted))
    let size = 0
    for (const { most } of wanted) {
      left -= most
      if (left < 0) break
      size++
    }
    return size
  }

  async #room(): Promise<void> {
    const { inFlight, stopReason, together } = this.#ports
    const atOnce = this.#most < together.least ? aloneAtOnce : togetherAtOnce
    while (inFlight.underWay >= atOnce && !stopReason.signal.aborted) await inFlight.progress()
  }
}

/** Whether a target refused rows together, and may accept them otherwise. */
const isRefused = (sent: Sent): boolean => sent !== 'taken' && sent !== 'ended'

const mostOf = (states: readonly RowState[]): number =>
  states.reduce((credits, { most }) => credits + most, 0)

/** The balance of a target as far as it is known; asking for it is free. */
class CreditBalance {
  readonly #batch: Batch
  #left: number | undefined

  constructor(batch: Batch) {
    this.#batch = batch
  }

  /** Returns the credits left; asks the target when the known ones are too few. */
  async reaching(credits: number): Promise<number> {
    if (this.#left === undefined || this.#left < credits) this.#left = await this.#ask()
    return this.#left
  }

  /** Subtracts the maximum cost of accepted work. */
  take(credits: number): void {
    if (this.#left !== undefined) this.#left -= credits
  }

  /** Forgets the known balance, which was wrong. */
  forget(): void {
    this.#left = undefined
  }

  /** Returns no limit for a target that does not report its balance; it refuses what it cannot pay. */
  async #ask(): Promise<number> {
    const { caller, callOptions = {} } = this.#batch
    const reply = await caller.call('credits.show', {}, callOptions).catch(lostCall)
    const body = 'status' in reply && isOk(reply) ? (reply.body as { credits?: Balance } | null) : null
    const credits = body?.credits?.enrichment
    return typeof credits === 'number' ? credits : Number.POSITIVE_INFINITY
  }
}

interface Balance {
  readonly enrichment?: unknown
}
