import { ConnectionLost } from '../api/caller.js'
import { type Operation, operation } from '../api/table.js'
import type { Answer } from './answer.js'
import { judge } from './answer.js'
import type { Batch } from './batch.js'
import type { Ending } from './ending.js'
import { Gate } from './gate.js'
import type { Slot } from './group.js'

/** Sends rows, at most so many at once, and settles them with their answers. */
export class Calls {
  readonly #batch: Batch
  readonly #ending: Ending
  readonly #gate: Gate
  readonly #answered: (slot: Slot, answer: Answer) => void
  readonly #operation: Operation
  #atOnce: number
  #underWay = 0
  #wake: () => void = () => {}

  constructor(batch: Batch, atOnce: number, ending: Ending, answered: (slot: Slot, answer: Answer) => void) {
    this.#batch = batch
    this.#atOnce = atOnce
    this.#ending = ending
    this.#answered = answered
    this.#gate = new Gate(batch.time, ending.signal)
    this.#operation = operation(batch.operation)
    ending.signal.addEventListener('abort', () => this.#wake(), { once: true })
  }

  /** Resolves when another row may be sent, or when none will be any more. */
  async room(): Promise<void> {
    while (this.#underWay >= this.#atOnce && !this.#ending.signal.aborted)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
  }

  /** Sends a row; it is settled when its answer comes. */
  start(slot: Slot, idempotencyKey: string | undefined): void {
    this.#underWay++
    slot.sent = true
    void this.#finish(slot, idempotencyKey)
  }

  async #finish(slot: Slot, key: string | undefined): Promise<void> {
    try {
      const answer = await this.#ask(slot, key)
      if (answer) this.#answered(slot, answer)
      slot.settle(answer && { answer, source: 'live', credits: answer.credits })
    } catch (error) {
      this.#ending.fail(error)
      slot.settle(undefined)
    }
    this.#underWay--
    this.#wake()
  }

  /** The answer to a row, or nothing when the run ends before there is one. */
  async #ask(slot: Slot, key: string | undefined): Promise<Answer | undefined> {
    const { caller, callOptions, time } = this.#batch
    const options = key === undefined ? callOptions : { ...callOptions, idempotencyKey: key }
    for (;;) {
      if (this.#gate.opens) await this.#gate.opens
      if (this.#ending.signal.aborted) return undefined
      const reply = await caller.call(this.#operation.id, slot.input, options).catch(lostCall)
      if (reply instanceof LostCall) return callOptions?.signal?.aborted ? undefined : reply.answer
      const verdict = judge(reply, this.#operation, time.now())
      if (verdict.kind === 'answer') return verdict.answer
      if (verdict.kind === 'stop') {
        this.#ending.refuse(verdict.failure, slot.ordinal)
        return undefined
      }
      // More calls at once than a window admits would only be refused again.
      if (verdict.atOnce !== undefined) this.#atOnce = Math.min(this.#atOnce, verdict.atOnce)
      this.#gate.close(verdict.ms)
    }
  }
}

/** A call that brought no reply. */
class LostCall {
  readonly answer: Answer

  constructor({ message }: ConnectionLost) {
    this.answer = { status: 'failed', error: `No answer: ${message}`, body: undefined, credits: 0 }
  }
}

function lostCall(error: unknown): LostCall {
  if (error instanceof ConnectionLost) return new LostCall(error)
  throw error
}
