import { ConnectionLost, type Reply } from '../../api/calls/caller.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, operation } from '../../api/operations/table.js'
import { type Answer, cutAt, judge, unknownAnswer } from '../journal/answer.js'
import type { Planned } from '../journal/journal.js'
import type { Batch } from './batch.js'
import type { Traffic } from './in-flight.js'
import type { Gate } from './rate-gate.js'
import type { Slot } from './row-batch.js'
import type { Ending } from './stop-reason.js'

/** What rows are sent with. */
export interface CallPorts {
  readonly batch: Batch
  readonly ending: Ending
  readonly gate: Gate
  readonly traffic: Traffic
  readonly answered: (slot: Slot, answer: Answer) => void
}

/** Sends rows, at most so many at once, and settles them with their answers. */
export class Calls {
  readonly #batch: Batch
  readonly #ending: Ending
  readonly #gate: Gate
  readonly #traffic: Traffic
  readonly #answered: (slot: Slot, answer: Answer) => void
  readonly #operation: Operation
  #atOnce: number
  #calling = 0
  /** Those who wait until another call has ended. */
  readonly #line: (() => void)[] = []
  #isCertain = true

  constructor({ batch, ending, gate, traffic, answered }: CallPorts, atOnce: number) {
    this.#batch = batch
    this.#atOnce = atOnce
    this.#ending = ending
    this.#answered = answered
    this.#gate = gate
    this.#traffic = traffic
    this.#operation = operation(batch.operation)
    ending.signal.addEventListener('abort', () => this.#line.splice(0).forEach((go) => void go()), {
      once: true,
    })
  }

  /** Whether each call was answered, or surely was not made. */
  get isCertain(): boolean {
    return this.#isCertain
  }

  /** Resolves when another row may be sent, or when none will be any more. */
  async room(): Promise<void> {
    while (this.#traffic.underWay >= this.#atOnce && !this.#ending.signal.aborted)
      await this.#traffic.progress()
  }

  /** Sends a row; it is settled when its answer comes. */
  start(slot: Slot, planned: Planned): void {
    this.#traffic.begin()
    slot.sent = true
    if (planned.limit !== undefined) slot.lower(planned.limit)
    void this.#finish(slot, planned)
  }

  async #finish(slot: Slot, planned: Planned): Promise<void> {
    try {
      const answer = await this.#ask(slot, planned)
      if (answer) this.#answered(slot, answer)
      slot.settle(answer && { answer, source: 'live', credits: answer.credits })
    } catch (error) {
      this.#isCertain = false
      this.#ending.fail(error)
      slot.settle(undefined)
    }
    this.#traffic.end()
  }

  /** Resolves when a call may be made: not while all wait, and no more of them at once than a window admits. */
  async #turn(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      if (this.#gate.opens) await this.#gate.opens
      if (this.#calling < this.#atOnce) return
      await new Promise<void>((resolve) => this.#line.push(resolve))
    }
  }

  async #counted(call: () => Promise<Reply>): Promise<Reply | ConnectionLost> {
    this.#calling++
    try {
      return await call().catch(lostCall)
    } finally {
      this.#calling--
      this.#line.shift()?.()
    }
  }

  /** The answer to a row, or nothing when the run ends before there is one. */
  async #ask(slot: Slot, { key, row, limit }: Planned): Promise<Answer | undefined> {
    const { caller, time, callOptions: { apiKey, origin, signal } = {} } = this.#batch
    for (let again = false; ; again = true) {
      await this.#turn()
      if (this.#ending.signal.aborted) return undefined
      const own = again ? { ...row, fresh: false } : row
      const options = { apiKey, idempotencyKey: key, row: own, signal, origin }
      const reply = await this.#counted(() => caller.call(this.#operation.id, slot.input, options))
      if (reply instanceof ConnectionLost) return lostAnswer(reply, this.#operation)
      const verdict = judge(reply, this.#operation, time.now())
      if (verdict.kind === 'answer')
        return limit === undefined ? verdict.answer : cutAt(limit, verdict.answer, this.#operation)
      if (verdict.kind === 'stop') {
        // What was asked of a database that went away may have been done.
        if (verdict.failure.code === 'outcome_unknown') this.#isCertain = false
        this.#ending.refuse(verdict.failure, slot.ordinal)
        return undefined
      }
      // More calls at once than a window admits would only be refused again.
      if (verdict.atOnce !== undefined) this.#atOnce = Math.min(this.#atOnce, verdict.atOnce)
      this.#gate.close(verdict.ms)
    }
  }
}

/** What is told of a call that brought no reply. */
export function lostAnswer({ message, unknown }: ConnectionLost, operation: Operation): Answer {
  if (unknown && isPriced(operation)) return unknownAnswer
  return { status: 'failed', error: `No answer: ${message}`, body: undefined, credits: 0 }
}

/** A call that brought no reply, in place of one; anything else that is thrown is a bug. */
export function lostCall(error: unknown): ConnectionLost {
  if (error instanceof ConnectionLost) return error
  throw error
}
