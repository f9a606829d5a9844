import { ConnectionLost, isOk, type Reply, retryAfterMs } from '../../api/calls/caller.js'
import { type Failure, failureOf } from '../../api/calls/errors.js'
import { type Operation, operation } from '../../api/operations/table.js'
import { creditsCharged, resolvesNothing } from '../../api/operations/units.js'
import type { Fields } from '../../api/values/objects.js'
import { isUnknown, judge, lostAnswer, lostCall, type RowAnswer, unknownAnswer } from '../journal/answer.js'
import type { Accepted, Bulk, BulkJournal } from '../journal/journal.js'
import type { RowState } from '../plan/row-batch.js'
import { acceptedIn, requestFor, resultsIn, standingIn, type Together } from './bulk.js'
import type { StopReason } from './flow.js'
import type { Batch, CallPorts } from './ports.js'

/**
 * The result of a request: its rows are answered or under way (`taken`), or are sent in smaller requests, or singly, or
 * all rows are sent singly, or the run ends.
 */
export type Sent = 'taken' | 'smaller' | 'singly' | 'allSingly' | 'ended'

/** The result of one try; `open` where the run ends and the effect of the request is not known. */
type Came = Accepted | Sent | 'open'

/** What sending requests for several rows depends on. */
export interface BulkPorts extends CallPorts {
  readonly together: Together
  readonly journal: BulkJournal
}

/** Sends several rows as one request, and settles them with its results. */
export class BulkCalls {
  readonly #ports: BulkPorts
  readonly #operation: Operation
  /** The operation of a single row. */
  readonly #single: Operation

  constructor(ports: BulkPorts) {
    this.#ports = ports
    this.#operation = operation(ports.together.operation)
    this.#single = operation(ports.batch.operation)
  }

  /** Sends recorded rows. Resolves when the target has accepted or refused them. */
  async start(states: readonly RowState[], bulk: Bulk): Promise<Sent> {
    const { inFlight, journal } = this.#ports
    inFlight.begin()
    let sent: Sent | undefined
    try {
      for (const state of states) state.sent = true
      const came = bulk.accepted ?? (await this.#ask(states, bulk))
      if (typeof came === 'object') {
        sent = 'taken'
        void this.#finish(states, bulk, came)
        return sent
      }
      if (came !== 'taken' && came !== 'open') await journal.withdraw(bulk)
      sent = came === 'open' ? 'ended' : came
      inFlight.end()
      return sent
    } catch (error) {
      inFlight.end()
      throw error
    } finally {
      if (sent !== 'taken') for (const state of states) state.sent = false
    }
  }

  /** Sends a single row; it is settled when its answer comes or the run ends. */
  startAlone(state: RowState, bulk: Bulk): void {
    void this.start([state], bulk)
      .catch((error: unknown) => this.#ports.stopReason.fail(error))
      .then(() => state.settle(undefined))
  }

  /** Returns the accepted work, or another result of the request. */
  async #ask(states: readonly RowState[], bulk: Bulk): Promise<Came> {
    const { batch, together, stopReason, rateGate } = this.#ports
    const [first] = states
    const isAlone = states.length === 1 && first !== undefined
    const row = isAlone ? this.#single : this.#operation
    const input = isAlone ? first.input : requestFor(states, together)
    // Whether the target may have received it before.
    let isOpen = !bulk.row.fresh
    for (let again = false; ; again = true) {
      if (rateGate.opens) await rateGate.opens
      if (stopReason.signal.aborted) return isOpen ? 'open' : 'ended'
      const claim = again ? { ...bulk.row, fresh: false } : bulk.row
      const options = { ...batch.callOptions, idempotencyKey: bulk.key, row: claim }
      const reply = await batch.caller.call(row.id, input, options).catch(lostCall)
      if (reply instanceof ConnectionLost)
        return this.#settle(states, isOpen ? unknownAnswer : lostAnswer(reply, row))
      if (isOk(reply) && !isAlone) return this.#accept(states, bulk, reply)
      const verdict = judge(reply, row, batch.time.now())
      if (verdict.kind === 'wait') {
        isOpen ||= isConflict(reply)
        rateGate.close(verdict.ms)
      } else if (verdict.kind === 'stop') return this.#refused(states, verdict.failure, isOpen)
      else if (leavesOpen(reply)) return this.#settle(states, unknownAnswer)
      else if (isAlone) return this.#settle(states, verdict.answer)
      else if (isUnknown(verdict.answer) || isConflict(reply)) return this.#settle(states, unknownAnswer)
      else return unknownHere.includes(reply.status) ? 'allSingly' : 'singly'
    }
  }

  async #accept(states: readonly RowState[], bulk: Bulk, { body }: Reply): Promise<Accepted | Sent> {
    const { together, journal } = this.#ports
    const accepted = acceptedIn(body, bulk.ordinals, together.into)
    // The work was accepted under an unknown id.
    if (!accepted) return this.#settle(states, unknownAnswer)
    await journal.accept(bulk, accepted)
    return accepted
  }

  /** Smaller requests may fit into the remaining credits. Any other refusal ends the run. */
  #refused(states: readonly RowState[], failure: Failure, isOpen: boolean): Sent | 'open' {
    if (states.length > 1 && (failure.exit === 4 || failure.exit === 5)) return 'smaller'
    this.#ports.stopReason.refuse(failure, states[0]?.ordinal ?? 0)
    // The target may have received it before, or now: the refusal does not say.
    return isOpen || failure.exit === 10 ? 'open' : 'ended'
  }

  #settle(states: readonly RowState[], answer: RowAnswer): Sent {
    for (const state of states) this.#answer(state, answer)
    return 'taken'
  }

  #answer(state: RowState, answer: RowAnswer): void {
    if (state.isSettled) return
    this.#ports.answered(state, answer)
    state.settle({ answer, source: 'live', credits: answer.credits })
  }

  /** Waits for the results. Where the run ends first, its next part reads them. */
  async #finish(states: readonly RowState[], bulk: Bulk, accepted: Accepted): Promise<void> {
    const { together, stopReason, inFlight, batch } = this.#ports
    try {
      const reply = await resultsOf(accepted, batch, together, stopReason)
      if (reply) {
        const results = resultsIn(reply.body, bulk.ordinals, accepted, together.into)
        const { done } = standingIn(reply.body, states.length)
        for (const [at, state] of states.entries())
          this.#answer(state, this.#answerOf(results[at], at < done))
      }
    } catch (error) {
      stopReason.fail(error)
    }
    for (const state of states) state.settle(undefined)
    inFlight.end()
  }

  #answerOf(result: Fields | undefined, isDone: boolean): RowAnswer {
    // The result may have been found and charged.
    if (!result) return unknownAnswer
    if ((!isDone || standingIn(result, 0).hasFailed) && resolvesNothing(this.#single, result))
      return { status: 'failed', error: 'The work failed before this row', body: undefined, credits: 0 }
    const credits = creditsCharged(this.#single, result)
    const reply = { status: this.#single.ok, body: result, headers: {}, credits }
    const verdict = judge(reply, this.#single, this.#ports.batch.time.now())
    return verdict.kind === 'answer' ? verdict.answer : unknownAnswer
  }
}

/** Whether a refusal leaves open if anything was done: the request must be repeated under the same key, or not at all. */
const leavesOpen = ({ status }: Reply): boolean => status >= 500 && !unknownHere.includes(status)

/** Statuses of a server that does not accept several rows at once. */
const unknownHere: readonly number[] = [404, 405, 501]

/** The key belongs to another request, whose results and cost are unknown here. */
const isConflict = ({ status }: Reply): boolean => status === 409

/** Pauses between polls in milliseconds, each longer than the last. Work in this process is polled more often. */
const pause = { first: 250, factor: 1.5, longest: 15_000, longestHere: 1_000 } as const

/** After this many failed polls in a row, a server is given up. */
const mostFailures = 20

/** After this many replies that do not know the whole, its parts are polled. */
const mostUnknown = 3

/** After this many replies in a row that do not know it, it counts as forgotten. */
const mostForgotten = 10

/**
 * Polls for the results of accepted work; returns `undefined` where the run ends first. Polling is free, so the next part of
 * the run may poll again. Results that the target has forgotten are missing.
 */
async function resultsOf(
  accepted: Accepted,
  batch: Batch,
  together: Together,
  stopReason: StopReason,
): Promise<Reply | undefined> {
  const { caller, callOptions = {}, time } = batch
  const ask = (id: string) => caller.call(together.reader, { id }, callOptions).catch(lostCall)
  const mayAskApart = accepted.parts.every((part) => part !== null)
  const longest = together.work ? pause.longestHere : pause.longest
  let [failures, unknown, forgotten] = [0, 0, 0]
  for (let ms: number = pause.first; ; ms = Math.min(longest, ms * pause.factor)) {
    await together.work?.(accepted.id, stopReason.signal)
    const isApart = mayAskApart && unknown >= mostUnknown
    const { reply, lacks } = isApart ? await askParts(accepted, together, ask) : await askWhole(accepted, ask)
    const isAnswer = !(reply instanceof ConnectionLost)
    if (lacks) forgotten++
    if (isAnswer && isOk(reply)) {
      failures = 0
      if (!lacks) forgotten = 0
      else if (!isApart) unknown++
      if ((!lacks || forgotten >= mostForgotten) && standingIn(reply.body, 0).isOver) return reply
    } else {
      if ((isAnswer && !passes(reply)) || ++failures > mostFailures) stopReason.refuseAll(failureIn(reply))
    }
    if (stopReason.signal.aborted) return undefined
    const asked = isAnswer ? (retryAfterMs(reply.headers['retry-after'], time.now()) ?? 0) : 0
    await time.sleep(Math.max(ms, asked), stopReason.signal)
  }
}

/** The reply to a poll, and whether the target does not know some of the work. */
interface Asked {
  readonly reply: Reply | ConnectionLost
  readonly lacks: boolean
}

type Ask = (id: string) => Promise<Reply | ConnectionLost>

const isMissing = (reply: Reply | ConnectionLost): boolean =>
  !(reply instanceof ConnectionLost) && reply.status === 404

/** Polls the whole work. Unknown work has no results. */
async function askWhole({ id }: Accepted, ask: Ask): Promise<Asked> {
  const reply = await ask(id)
  if (!isMissing(reply)) return { reply, lacks: false }
  return { reply: { status: 200, body: { status: 'finished' }, headers: {}, credits: 0 }, lacks: true }
}

/** Polls the parts. Returns the results of the known ones; a reply that is neither a success nor a 404 comes first. */
async function askParts({ parts }: Accepted, { into }: Together, ask: Ask): Promise<Asked> {
  const items: unknown[] = []
  let isOver = true
  for (const part of parts) {
    const reply = await ask(part ?? '')
    if (isMissing(reply)) continue
    if (reply instanceof ConnectionLost || !isOk(reply)) return { reply, lacks: false }
    items.push(reply.body)
    isOver &&= standingIn(reply.body, 0).isOver
  }
  const body = { status: isOver ? 'finished' : 'pending', [into]: items }
  const lacks = items.length < parts.length
  return { reply: { status: 200, body, headers: {}, credits: 0 }, lacks }
}

const failureIn = (reply: Reply | ConnectionLost): Failure =>
  reply instanceof ConnectionLost
    ? { text: `No answer: ${reply.message}`, exit: 10, hint: '', stops: false }
    : failureOf(reply.status, reply.body)

/** Whether polling may succeed later. */
const passes = ({ status }: Reply): boolean => status === 429 || status >= 500
