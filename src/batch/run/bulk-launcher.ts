import type { Bulk } from '../journal/journal.js'
import { alike } from './bulk.js'
import { BulkCalls, type BulkPorts, type Sent } from './bulk-calls.js'
import type { Group, Slot } from './row-batch.js'
import { Means } from './spendable-credits.js'

/** Rows, and the request that an earlier part sent for them. */
type SentBefore = readonly [slots: readonly Slot[], bulk: Bulk]

/** Requests whose results are awaited at once. */
const togetherAtOnce = 16
/** The same where no request takes several rows. */
const aloneAtOnce = 64

/**
 * Sends rows in requests for several of them, never more than balance, weekly allowance and budget can pay at most. The
 * rest, and whatever a target does not take together, goes one by one.
 */
export class BulkLauncher {
  readonly #ports: BulkPorts
  readonly #calls: BulkCalls
  readonly #means: Means
  /** Rows that go by themselves. */
  readonly #alone = new Set<Slot>()
  /** Resolves when what was answered is on record. */
  readonly #kept: () => Promise<void>
  #most: number

  constructor(ports: BulkPorts, kept: () => Promise<void>) {
    this.#ports = ports
    this.#calls = new BulkCalls(ports)
    this.#means = new Means(ports.batch)
    this.#kept = kept
    this.#most = ports.together.most
  }

  /** Requests of an earlier part for rows of a group, of which some are not answered. */
  sentBefore({ slots }: Group): SentBefore[] {
    const from = slots[0]?.ordinal ?? 0
    const sent = this.#ports.journal.open().map((bulk): SentBefore => {
      const own = bulk.ordinals.map((ordinal) => slots[ordinal - from])
      if (own.includes(undefined)) throw new Error(`request ${bulk.number} is not of one group`)
      return [own as Slot[], bulk]
    })
    return sent.filter(([own]) => own.some(({ isSettled }) => !isSettled))
  }

  /** Goes on with requests of an earlier part; answers the rows that have to be sent anew. */
  async resume(requests: readonly SentBefore[]): Promise<Slot[]> {
    const { ending, journal } = this.#ports
    const anew: Slot[] = []
    for (const [slots, bulk] of requests) {
      await this.#room()
      if (ending.signal.aborted) return anew
      const open = slots.filter(({ isSettled }) => !isSettled)
      if (bulk.isGivenUp) {
        await journal.withdraw(bulk)
        anew.push(...open)
        continue
      }
      if (!(await this.#reopen(bulk, open))) return anew
      const [first] = slots
      if (slots.length === 1 && first) this.#calls.startAlone(first, bulk)
      else if (isRefused(await this.#calls.start(slots, bulk)))
        anew.push(...slots.filter(({ isSettled }) => !isSettled))
    }
    return anew
  }

  /** Whether the budget permits to go on with a request. */
  async #reopen(bulk: Bulk, open: readonly Slot[]): Promise<boolean> {
    const { ending, journal, traffic } = this.#ports
    for (let isLast = false; !ending.signal.aborted; ) {
      const shortage = await journal.reopen(bulk, open)
      if (!shortage) return true
      if (isLast) ending.exhaust(shortage, open[0]?.ordinal ?? 0)
      // What is under way may cost less than was set aside for it.
      isLast = traffic.isIdle
      if (!isLast) await traffic.progress()
      await this.#kept()
    }
    return false
  }

  /** Sends rows that are not on their way, in their order. */
  async send(slots: readonly Slot[]): Promise<void> {
    const { ending, traffic } = this.#ports
    for (let left = slots; left.length > 0 && !ending.signal.aborted; ) {
      await this.#room()
      if (ending.signal.aborted) return
      const gone = await this.#sendSome(this.#next(left))
      if (gone.length > 0) left = left.filter((slot) => !gone.includes(slot))
      // What is under way may cost less than was set aside for it.
      else if (!traffic.isIdle) {
        await traffic.progress()
        await this.#kept()
      }
    }
  }

  /** The first rows, as many as may go together. */
  #next(slots: readonly Slot[]): readonly Slot[] {
    const [first] = slots
    if (first && this.#alone.delete(first)) return [first]
    return alike(
      slots.filter((slot) => !this.#alone.has(slot)),
      this.#ports.together,
    )
  }

  /** Sends as many as possible of rows that ask for the same; answers those that are gone. */
  async #sendSome(slots: readonly Slot[]): Promise<readonly Slot[]> {
    const { together, journal, traffic } = this.#ports
    const { least } = together
    if (slots.length < least || this.#most < least) return this.#sendAlone(slots)
    const size = await this.#size(slots)
    const isShort = size < Math.min(slots.length, this.#most)
    if (isShort && !traffic.isIdle) return []
    const { bulk } = size < least ? {} : await journal.plan(slots.slice(0, size), least)
    if (bulk) return this.#sendTogether(slots.slice(0, bulk.ordinals.length), bulk)
    return traffic.isIdle ? this.#sendAlone(slots) : []
  }

  async #sendTogether(slots: readonly Slot[], bulk: Bulk): Promise<readonly Slot[]> {
    const isLast = this.#ports.traffic.isIdle
    const sent = await this.#calls.start(slots, bulk)
    this.#means.take(mostOf(slots))
    if (!isRefused(sent)) return slots
    this.#means.forget()
    if (sent === 'singly') for (const slot of slots) this.#alone.add(slot)
    if (sent === 'allSingly') this.#most = 1
    // With nothing else under way, nothing will be given back either.
    if (sent === 'smaller' && isLast) this.#most = Math.floor(slots.length / 2)
    return []
  }

  async #sendAlone([slot]: readonly Slot[]): Promise<readonly Slot[]> {
    const { journal, traffic, ending } = this.#ports
    if (!slot) return []
    const isLast = traffic.isIdle
    if (isLast) await this.#kept()
    const { bulk, shortage } = await journal.plan([slot], 1)
    if (bulk) {
      this.#means.take(slot.most)
      this.#calls.startAlone(slot, bulk)
      return [slot]
    }
    if (isLast) ending.exhaust(shortage, slot.ordinal)
    else this.#alone.add(slot)
    return []
  }

  /** How many of the rows can surely be paid. */
  async #size(slots: readonly Slot[]): Promise<number> {
    const wanted = slots.slice(0, this.#most)
    let left = await this.#means.reaching(mostOf(wanted))
    let size = 0
    for (const { most } of wanted) {
      left -= most
      if (left < 0) break
      size++
    }
    return size
  }

  async #room(): Promise<void> {
    const { traffic, ending, together } = this.#ports
    const atOnce = this.#most < together.least ? aloneAtOnce : togetherAtOnce
    while (traffic.underWay >= atOnce && !ending.signal.aborted) await traffic.progress()
  }
}

/** Whether a target did not take rows together, and may take them otherwise. */
const isRefused = (sent: Sent): boolean => sent !== 'taken' && sent !== 'ended'

const mostOf = (slots: readonly Slot[]): number => slots.reduce((credits, { most }) => credits + most, 0)
