import { isOk } from '../../api/calls/caller.js'
import type { Batch } from './batch.js'
import { lostCall } from './calls.js'

/** What the balance of a target can pay, as far as it is known; asking for it is free. */
export class Means {
  readonly #batch: Batch
  #left: number | undefined

  constructor(batch: Batch) {
    this.#batch = batch
  }

  /** Credits that are left; asked for where they are not known to reach. */
  async reaching(credits: number): Promise<number> {
    if (this.#left === undefined || this.#left < credits) this.#left = await this.#ask()
    return this.#left
  }

  /** Something was accepted that can cost so much. */
  take(credits: number): void {
    if (this.#left !== undefined) this.#left -= credits
  }

  /** They are not what they were thought to be. */
  forget(): void {
    this.#left = undefined
  }

  /** Who does not tell is found out by its refusals. */
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
