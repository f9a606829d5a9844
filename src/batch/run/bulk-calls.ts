import { ConnectionLost, isOk, type Reply } from '../../api/calls/caller.js'
import type { Failure } from '../../api/calls/errors.js'
import { resolvesNothing } from '../../api/operations/not-found.js'
import { type Operation, operation } from '../../api/operations/table.js'
import { creditsCharged } from '../../api/operations/units.js'
import type { Fields } from '../../api/values/objects.js'
import { type Answer, isUnknown, judge, unknownAnswer } from '../journal/answer.js'
import type { Accepted, Bulk, BulkJournal } from '../journal/journal.js'
import type { Batch } from './batch.js'
import { acceptedIn, requestFor, resultsIn, standingIn, type Together } from './bulk.js'
import { resultsOf } from './bulk-results.js'
import { lostAnswer, lostCall } from './calls.js'
import type { Traffic } from './in-flight.js'
import type { Gate } from './rate-gate.js'
import type { Slot } from './row-batch.js'
import type { Ending } from './stop-reason.js'

/**
 * What became of a request: its rows are answered or on their way, or they go in smaller requests, or one by one, and
 * with them all others.
 */
export type Sent = 'taken' | 'smaller' | 'singly' | 'allSingly' | 'ended'

/** The same of one try; `open` where the run ends, and whether the request had an effect is not known. */
type Came = Accepted | Sent | 'open'

/** What requests for several rows are sent with. */
export interface BulkPorts {
  readonly batch: Batch
  readonly together: Together
  readonly journal: BulkJournal
  readonly ending: Ending
  readonly gate: Gate
  readonly traffic: Traffic
  readonly answered: (slot: Slot, answer: Answer) => void
}

/** Sends rows as one request, and settles them with its results. */
export class BulkCalls {
  readonly #ports: BulkPorts
  readonly #operation: Operation
  /** The operation of one row, whose answer a result is. */
  readonly #single: Operation

  constructor(ports: BulkPorts) {
    this.#ports = ports
    this.#operation = operation(ports.together.operation)
    this.#single = operation(ports.batch.operation)
  }

  /** Sends rows that are on record; resolves when the target has taken them, or will not. */
  async start(slots: readonly Slot[], bulk: Bulk): Promise<Sent> {
    const { traffic, journal } = this.#ports
    traffic.begin()
    let sent: Sent | undefined
    try {
      for (const slot of slots) slot.sent = true
      const came = bulk.accepted ?? (await this.#ask(slots, bulk))
      if (typeof came === 'object') {
        sent = 'taken'
        void this.#finish(slots, bulk, came)
        return sent
      }
      if (came !== 'taken' && came !== 'open') await journal.withdraw(bulk)
      sent = came === 'open' ? 'ended' : came
      traffic.end()
      return sent
    } catch (error) {
      traffic.end()
      throw error
    } finally {
      if (sent !== 'taken') for (const slot of slots) slot.sent = false
    }
  }

  /** Sends a row by itself; it is settled when its answer comes, or the run ends. */
  startAlone(slot: Slot, bulk: Bulk): void {
    void this.start([slot], bulk)
      .catch((error: unknown) => this.#ports.ending.fail(error))
      .then(() => slot.settle(undefined))
  }

  /** What the target knows the work by, or what else became of the request. */
  async #ask(slots: readonly Slot[], bulk: Bulk): Promise<Came> {
    const { batch, together, ending, gate } = this.#ports
    const [first] = slots
    const isAlone = slots.length === 1 && first !== undefined
    const row = isAlone ? this.#single : this.#operation
    const input = isAlone ? first.input : requestFor(slots, together)
    // Whether it may have been heard before.
    let isOpen = !bulk.row.fresh
    for (let again = false; ; again = true) {
      if (gate.opens) await gate.opens
      if (ending.signal.aborted) return isOpen ? 'open' : 'ended'
      const claim = again ? { ...bulk.row, fresh: false } : bulk.row
      const options = { ...batch.callOptions, idempotencyKey: bulk.key, row: claim }
      const reply = await batch.caller.call(row.id, input, options).catch(lostCall)
      if (reply instanceof ConnectionLost)
        return this.#settle(slots, isOpen ? unknownAnswer : lostAnswer(reply, row))
      if (isOk(reply) && !isAlone) return this.#accept(slots, bulk, reply)
      const verdict = judge(reply, row, batch.time.now())
      if (verdict.kind === 'wait') {
        isOpen ||= isConflict(reply)
        gate.close(verdict.ms)
      } else if (verdict.kind === 'stop') return this.#refused(slots, verdict.failure, isOpen)
      else if (leavesOpen(reply)) return this.#settle(slots, unknownAnswer)
      else if (isAlone) return this.#settle(slots, verdict.answer)
      else if (isUnknown(verdict.answer) || isConflict(reply)) return this.#settle(slots, unknownAnswer)
      else return unknownHere.includes(reply.status) ? 'allSingly' : 'singly'
    }
  }

  async #accept(slots: readonly Slot[], bulk: Bulk, { body }: Reply): Promise<Accepted | Sent> {
    const { together, journal } = this.#ports
    const accepted = acceptedIn(body, bulk.ordinals, together.into)
    // It was accepted, and nobody can tell under which id.
    if (!accepted) return this.#settle(slots, unknownAnswer)
    await journal.accept(bulk, accepted)
    return accepted
  }

  /** Smaller requests may fit into what is left of the credits; for anything else there is no remedy. */
  #refused(slots: readonly Slot[], failure: Failure, isOpen: boolean): Sent | 'open' {
    if (slots.length > 1 && (failure.exit === 4 || failure.exit === 5)) return 'smaller'
    this.#ports.ending.refuse(failure, slots[0]?.ordinal ?? 0)
    // It may have been heard before, or now, which a refusal of whoever asks does not tell.
    return isOpen || failure.exit === 10 ? 'open' : 'ended'
  }

  #settle(slots: readonly Slot[], answer: Answer): Sent {
    for (const slot of slots) this.#answer(slot, answer)
    return 'taken'
  }

  #answer(slot: Slot, answer: Answer): void {
    if (slot.isSettled) return
    this.#ports.answered(slot, answer)
    slot.settle({ answer, source: 'live', credits: answer.credits })
  }

  /** Waits for the results; a run that ends first leaves them to its next part. */
  async #finish(slots: readonly Slot[], bulk: Bulk, accepted: Accepted): Promise<void> {
    const { together, ending, traffic, batch } = this.#ports
    try {
      const reply = await resultsOf(accepted, batch, together, ending)
      if (reply) {
        const results = resultsIn(reply.body, bulk.ordinals, accepted, together.into)
        const { done } = standingIn(reply.body, slots.length)
        for (const [at, slot] of slots.entries()) this.#answer(slot, this.#answerOf(results[at], at < done))
      }
    } catch (error) {
      ending.fail(error)
    }
    for (const slot of slots) slot.settle(undefined)
    traffic.end()
  }

  #answerOf(result: Fields | undefined, isDone: boolean): Answer {
    // It may have been found, and charged.
    if (!result) return unknownAnswer
    if ((!isDone || standingIn(result, 0).hasFailed) && resolvesNothing(this.#single, result))
      return { status: 'failed', error: 'The work failed before this row', body: undefined, credits: 0 }
    const credits = creditsCharged(this.#single, result)
    const reply = { status: this.#single.ok, body: result, headers: {}, credits }
    const verdict = judge(reply, this.#single, this.#ports.batch.time.now())
    return verdict.kind === 'answer' ? verdict.answer : unknownAnswer
  }
}

/** Whether a refusal is no proof that nothing was done: it must go out again under the same key, or not at all. */
const leavesOpen = ({ status }: Reply): boolean => status >= 500 && !unknownHere.includes(status)

/** Statuses of a server that takes no rows together. */
const unknownHere: readonly number[] = [404, 405, 501]

/** The key stands for another request: what that one found, and cost, is not known by these rows. */
const isConflict = ({ status }: Reply): boolean => status === 409
