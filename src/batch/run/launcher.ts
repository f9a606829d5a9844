import type { Planned } from '../journal/journal.js'
import type { Keeper } from '../journal/writer.js'
import type { Batch } from './batch.js'
import { BulkLauncher } from './bulk-launcher.js'
import type { CallPorts, Calls } from './calls.js'
import type { Traffic } from './in-flight.js'
import { prepare } from './prepare.js'
import type { Group, Slot } from './row-batch.js'
import type { Ending } from './stop-reason.js'

/** Finds out what each row of a group needs, and sends those that need a call. */
export class Launcher {
  readonly #batch: Batch
  readonly #ending: Ending
  readonly #keeper: Keeper
  readonly #calls: Calls
  readonly #traffic: Traffic
  /** Absent where each row goes by itself. */
  readonly #bulks: BulkLauncher | undefined
  /** By identity, the rows of open groups that equal rows wait for. */
  readonly #leaders = new Map<string, Slot>()

  constructor(ports: CallPorts, keeper: Keeper, calls: Calls) {
    const { batch, ending, traffic } = ports
    this.#batch = batch
    this.#ending = ending
    this.#traffic = traffic
    this.#keeper = keeper
    this.#calls = calls
    const { together, journal } = batch
    if (together && journal.bulks)
      this.#bulks = new BulkLauncher({ ...ports, together, journal: journal.bulks }, () => keeper.kept())
  }

  /** Resolves when the rows of a group are under way, or settled. */
  async launch(group: Group): Promise<void> {
    try {
      const valid = await this.#resumed(group)
      const sent = this.#bulks?.sentBefore(group) ?? []
      const rows = await this.#unknown(valid, new Set(sent.flatMap(([slots]) => slots)))
      if (!this.#bulks) await this.#send(rows)
      else await this.#bulks.send([...(await this.#bulks.resume(sent)), ...rows])
    } catch (error) {
      this.#ending.fail(error)
    }
    // After an early end the rest of the group stays without answers.
    if (this.#ending.signal.aborted)
      for (const slot of group.slots) if (!slot.underWay) slot.settle(undefined)
  }

  /** Ends the time in which equal rows wait for those of a group: from now on they find the kept answers. */
  retire(group: Group): void {
    for (const slot of group.slots)
      if (slot.repeats && slot.identity !== undefined && this.#leaders.get(slot.identity) === slot)
        this.#leaders.delete(slot.identity)
  }

  /** The rows that make sense; those that an earlier part answered are settled. */
  async #resumed({ slots }: Group): Promise<Slot[]> {
    const valid = slots.filter((slot) => this.#isValid(slot))
    const from = slots[0]?.ordinal ?? 0
    const resumed = await this.#batch.journal.resume(from, from + slots.length)
    for (const slot of valid) {
      const own = resumed.get(slot.ordinal)
      if (own) slot.settle(own)
    }
    return valid
  }

  /**
   * The rows that have no answer yet, one for each identity; all others are settled, or follow one of them, or of those
   * that were `sent` together before.
   */
  async #unknown(valid: readonly Slot[], sent: ReadonlySet<Slot>): Promise<Slot[]> {
    const { journal } = this.#batch
    const leaders = valid.filter((slot) => {
      if (slot.isSettled) return false
      if (!sent.has(slot)) return this.#leads(slot)
      if (slot.identity !== undefined && slot.repeats && !this.#leaders.has(slot.identity))
        this.#leaders.set(slot.identity, slot)
      return false
    })
    const recalled = await journal.recall(leaders)
    return leaders.filter((slot, at) => {
      const answer = recalled[at]
      if (!answer) return true
      slot.settle(answer)
      // What another run answered, or nobody knows, is put on record for this row too.
      const { source } = answer
      if (source !== null && source !== 'duplicate') this.#keeper.add(slot, { ...answer, source })
      return false
    })
  }

  /** Settles a row that makes no sense or needs nothing; any other gets its input and identity. */
  #isValid(slot: Slot): boolean {
    const isSkipped = this.#batch.skip?.(slot.row.cells) === true
    const problem = isSkipped ? null : prepare(this.#batch, slot)
    if (problem === undefined) return true
    const status = isSkipped ? 'skipped' : 'invalid'
    const answer = { status, error: problem, body: undefined, credits: 0 } as const
    slot.settle({ answer, source: null, credits: 0 })
    return false
  }

  /** Whether a row is the first of its identity; another one follows it. */
  #leads(slot: Slot): boolean {
    if (slot.identity === undefined || !slot.repeats) return true
    const leader = this.#leaders.get(slot.identity)
    if (leader) slot.follow(leader)
    else this.#leaders.set(slot.identity, slot)
    return !leader
  }

  /** Sends rows as the budget permits, in their order. */
  async #send(slots: readonly Slot[]): Promise<void> {
    const { journal, perRecord } = this.#batch
    let settled = false
    for (let left = slots; left.length > 0 && !this.#ending.signal.aborted; ) {
      const wanted = perRecord === undefined ? left : left.map((slot) => slot.wanted(perRecord))
      const { planned, shortage } = await journal.plan(wanted)
      if (!(await this.#start(left, planned))) return
      left = left.slice(planned.length)
      if (!shortage) continue
      if (settled && planned.length === 0) return this.#ending.exhaust(shortage, left[0]?.ordinal ?? 0)
      // What is under way may cost less than was set aside for it.
      settled = this.#traffic.isIdle
      if (!settled) await this.#traffic.progress()
      await this.#keeper.kept()
    }
  }

  async #start(slots: readonly Slot[], planned: readonly Planned[]): Promise<boolean> {
    for (const [at, plan] of planned.entries()) {
      await this.#calls.room()
      if (this.#ending.signal.aborted) return false
      this.#calls.start(slots[at] as Slot, plan)
    }
    return true
  }
}
