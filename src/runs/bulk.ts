import { ConnectionLost, type Input, isOk, lostCall, type Reply, type RunRow } from '../api/calls/caller.js'
import { type Failure, failureOf } from '../api/calls/errors.js'
import { isOutcomeUnknown } from '../api/calls/retry.js'
import { creditsCharged, type Operation, operation, resolvesNothing } from '../api/operations/table.js'
import { workStateOf } from '../api/schemas/enumerations.js'
import { type Fields, isObject, valueAt } from '../api/values/objects.js'
import {
  type Accepted,
  inProgressNote,
  isUnknown,
  judge,
  longestInProgressMs,
  lostAnswer,
  type RowAnswer,
  unknownAnswer,
} from '../lookups/answer.js'
import { type Ask as LookupAsk, type Lookups, rowOfKey } from '../lookups/store.js'
import type { StopReason } from './flow-control.js'
import type { RowState } from './plan/lookup.js'
import { type Polled, pollWork } from './poll.js'
import type { Batch, BulkRequests, CallPorts } from './ports.js'

/** Key of the row number among the custom values that a server returns with a result. */
const mark = 'prospect_row'

/** Returns the first rows with equal options, as many as fit into one request. */
function takeAlike(states: readonly RowState[], { shared, most }: BulkRequests): readonly RowState[] {
  const [first] = states
  if (!first) return []
  const asked = JSON.stringify(of(first.input, shared, true))
  const found: RowState[] = []
  for (const state of states) {
    if (found.length === most) break
    if (state === first || JSON.stringify(of(state.input, shared, true)) === asked) found.push(state)
  }
  return found
}

/** Returns the request for several rows; each carries its number, which comes back with its result. */
function requestFor(states: readonly RowState[], { shared, into }: BulkRequests): Input {
  const items = states.map(({ input, ordinal }) => {
    const item = of(input, shared, false)
    return { ...item, custom: { ...(isObject(item.custom) ? item.custom : {}), [mark]: String(ordinal + 1) } }
  })
  return { ...of(states[0]?.input ?? {}, shared, true), [into]: items }
}

function of(input: Input, names: readonly string[], isIn: boolean): Record<string, unknown> {
  const found = Object.entries(input).filter(([name]) => names.includes(name) === isIn)
  return Object.fromEntries(found.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Returns the ids of accepted work; `undefined` where the reply has none. */
export function acceptedIn(body: unknown, ordinals: readonly number[], into: string): Accepted | undefined {
  const id = isObject(body) ? body.enrichment_id : undefined
  if (typeof id !== 'string') return undefined
  const items = itemsIn(body, into)
  const isMarked = items.some((item) => markOf(item) !== undefined)
  // With fewer items it is unknown which rows they belong to, so no row gets any.
  const isWhole = items.length === ordinals.length
  const parts = ordinals.map((ordinal, at) => {
    const item = isMarked ? items.find((one) => markOf(one) === ordinal) : isWhole ? items[at] : undefined
    return typeof item?.enrichment_id === 'string' ? item.enrichment_id : null
  })
  return { id, parts }
}

function resultsIn(
  body: unknown,
  ordinals: readonly number[],
  { parts, isTaken }: Accepted,
  into: string,
): (Fields | undefined)[] {
  // That of a single lookup, which a command has started, is the body itself.
  const items = isObject(body) && body[into] === undefined ? [body] : itemsIn(body, into)
  return ordinals.map((ordinal, at) => {
    const part = parts[at]
    // The numbers of rows that another run sent are those of that run.
    const ofPart = typeof part === 'string' ? items.find(({ enrichment_id: id }) => id === part) : undefined
    const item = ofPart ?? (isTaken ? undefined : items.find((one) => markOf(one) === ordinal))
    return item && unmarked(item)
  })
}

/** Returns the progress of work from the body that its reader returned; `done` rows are done, in their order. */
function jobStatusIn(body: unknown, rows: number) {
  const { status, finished } = body as Fields
  const state = workStateOf(status)
  const hasFailed = state === 'failed'
  return {
    isOver: state !== undefined,
    hasFailed,
    done: typeof finished === 'number' ? finished : hasFailed ? 0 : rows,
  }
}

function itemsIn(body: unknown, into: string): readonly Fields[] {
  const items = isObject(body) ? body[into] : undefined
  return Array.isArray(items) ? items.filter(isObject) : []
}

function markOf({ custom }: Fields): number | undefined {
  const row = isObject(custom) ? Number(custom[mark]) : Number.NaN
  return Number.isSafeInteger(row) ? row - 1 : undefined
}

function unmarked({ custom, ...item }: Fields): Fields {
  if (!isObject(custom)) return custom === undefined ? item : { ...item, custom }
  const { [mark]: _, ...rest } = custom
  return Object.keys(rest).length === 0 ? item : { ...item, custom: rest }
}

/** Rows of a request are answered or under way (`taken`), or are sent in smaller requests, or singly, or the run ends. */
type SendResult = 'taken' | 'smaller' | 'singly' | 'ended'

/** The result of one try; `open` where the run ends and the effect of the request is not known. */
type SubmitResult = Accepted | SendResult | 'open'

interface BulkPorts extends CallPorts {
  readonly bulkRequests: BulkRequests
  readonly lookups: Pick<Lookups, 'accept' | 'together' | 'alone' | 'apart'>
}

/** A request for several rows, or for a single one. */
interface Bulk {
  /** The same every time the request is sent. */
  readonly key: string
  readonly row: RunRow | undefined
  /** What the target has accepted. */
  readonly accepted?: Accepted | undefined
}

class BulkCalls {
  readonly #operation: Operation
  readonly #single: Operation
  #isLossReported = false

  constructor(private readonly ports: BulkPorts) {
    this.#operation = operation(ports.bulkRequests.operation)
    this.#single = operation(ports.batch.operation)
  }

  async start(states: readonly RowState[], bulk: Bulk): Promise<SendResult> {
    const { inFlight, sending } = this.ports
    inFlight.begin()
    let sent: SendResult | undefined
    try {
      for (const state of states) {
        state.sent = true
        sending(state, true)
      }
      const came = bulk.accepted ?? (await this.#ask(states, bulk))
      if (typeof came === 'object') {
        sent = 'taken'
        void this.#finish(states, came)
        return sent
      }
      // What certainly had no effect is still recorded; it is sent under another key, or taken back at the end.
      if (came !== 'taken' && came !== 'open')
        for (const state of states) sending(state, true === state.isSettled)
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
      .catch((error: unknown) => this.ports.stopReason.fail(error))
      .then(() => state.settle(undefined))
  }

  async #ask(states: readonly RowState[], bulk: Bulk): Promise<SubmitResult> {
    const { batch, bulkRequests, stopReason, rateGate, suspect } = this.ports
    const ordinals = states.map(({ ordinal }) => ordinal)
    const [first] = states
    const isAlone = states.length === 1 && first !== undefined
    const row = isAlone ? this.#single : this.#operation
    const { direct } = bulkRequests
    const inputs = states.map(({ input }) => input)
    const input = isAlone ? first.input : (direct?.request(inputs) ?? requestFor(states, bulkRequests))
    // Whether the target may have received it before.
    let isOpen = bulk.row?.fresh !== true
    let inProgressMs = 0
    for (let again = false; ; again = true) {
      if (rateGate.opens) await rateGate.opens
      if (stopReason.signal.aborted) return isOpen ? 'open' : 'ended'
      const claim = again && bulk.row ? { ...bulk.row, fresh: false } : bulk.row
      const onSuspect = suspect.onSuspect(ordinals)
      const options = { ...batch.callOptions, idempotencyKey: bulk.key, row: claim, onSuspect }
      const reply = await batch.caller.call(row.id, input, options).catch(lostCall)
      if (!(reply instanceof ConnectionLost) && reply.isSuspect) suspect.add(ordinals, 'discarded')
      if (reply instanceof ConnectionLost)
        return this.#settle(states, isOpen ? unknownAnswer : lostAnswer(reply, row))
      if (isOk(reply) && direct) return this.#settleEach(states, direct.replies(reply.body))
      if (isOk(reply) && !isAlone) return this.#accept(states, reply)
      const verdict = judge(reply, row, batch.time.now())
      if (verdict.kind === 'wait' && isConflict(reply)) {
        isOpen = true
        inProgressMs += verdict.ms
        if (inProgressMs > longestInProgressMs) {
          batch.notify?.(inProgressNote)
          return this.#settle(states, unknownAnswer)
        }
        await batch.time.sleep(verdict.ms, stopReason.signal)
      } else if (verdict.kind === 'wait') rateGate.close(verdict.ms)
      else if (verdict.kind === 'stop') return this.#refused(states, verdict.failure, isOpen)
      else if (isOutcomeUnknown(reply)) return this.#settle(states, unknownAnswer)
      else if (isAlone) return this.#settle(states, verdict.answer)
      else if (isUnknown(verdict.answer) || isConflict(reply)) return this.#settle(states, unknownAnswer)
      else return 'singly'
    }
  }

  async #accept(states: readonly RowState[], { body }: Reply): Promise<Accepted | SendResult> {
    const { bulkRequests, lookups } = this.ports
    const accepted = acceptedIn(
      body,
      states.map(({ ordinal }) => ordinal),
      bulkRequests.into,
    )
    // The work was accepted under an unknown id.
    if (!accepted) return this.#settle(states, unknownAnswer)
    const { id, parts } = accepted
    await lookups.accept(states.map(({ ordinal }, at) => [ordinal, { id, part: parts[at] ?? null, at }]))
    return accepted
  }

  /** Smaller requests may fit into the remaining credits. Any other refusal ends the run. */
  #refused(states: readonly RowState[], failure: Failure, isOpen: boolean): SendResult | 'open' {
    if (states.length > 1 && (failure.exit === 4 || failure.exit === 5)) return 'smaller'
    this.ports.stopReason.refuse(failure, states[0]?.ordinal ?? 0)
    // The target may have received it before, or now: the refusal does not say.
    return isOpen || failure.exit === 10 ? 'open' : 'ended'
  }

  #settle(states: readonly RowState[], answer: RowAnswer): SendResult {
    for (const state of states) this.#answer(state, answer)
    return 'taken'
  }

  /** Settles rows by the replies to each of them, in their order. */
  #settleEach(states: readonly RowState[], replies: readonly Reply[]): SendResult {
    const { batch, suspect } = this.ports
    for (const [at, state] of states.entries()) {
      const reply = replies[at]
      const verdict = reply && judge(reply, this.#single, batch.time.now())
      if (reply?.isSuspect) suspect.add([state.ordinal], 'discarded')
      this.#answer(state, verdict?.kind === 'answer' ? verdict.answer : unknownAnswer)
    }
    return 'taken'
  }

  #answer(state: RowState, answer: RowAnswer): void {
    if (state.isSettled) return
    this.ports.answered(state, answer)
    state.settle({ answer, source: 'live', credits: answer.credits })
  }

  /** Waits for the results. Where the run ends first, its next execution reads them. */
  async #finish(states: readonly RowState[], accepted: Accepted): Promise<void> {
    const { bulkRequests, stopReason, inFlight, batch, suspect } = this.ports
    try {
      const callOptions = {
        ...batch.callOptions,
        onSuspect: suspect.onSuspect(states.map(({ ordinal }) => ordinal)),
      }
      const reply = await resultsOf(accepted, { ...batch, callOptions }, bulkRequests, stopReason, () =>
        this.#reportLoss(),
      )
      if (reply) {
        const rows = states.map(({ ordinal, ask }, at) => ({ ordinal, at: ask?.work?.at ?? at }))
        const of = { into: bulkRequests.into, operation: this.#single, now: batch.time.now() }
        const answers = answersIn(reply.body, rows, accepted, of)
        for (const [at, state] of states.entries()) this.#answer(state, answers[at] ?? unknownAnswer)
      }
    } catch (error) {
      stopReason.fail(error)
    }
    for (const state of states) state.settle(undefined)
    inFlight.end()
  }

  #reportLoss(): void {
    if (this.#isLossReported) return
    this.#isLossReported = true
    this.ports.batch.notify?.({ code: 'run.results_lost', details: {} })
  }
}

/** Returns the answers to rows, each at its position in work that is over. */
export function answersIn(
  body: unknown,
  rows: readonly { readonly ordinal: number; readonly at: number }[],
  accepted: Accepted,
  of: { readonly into: string; readonly operation: Operation; readonly now: number },
): readonly RowAnswer[] {
  const ordinals = rows.map(({ ordinal }) => ordinal)
  const results = resultsIn(body, ordinals, accepted, of.into)
  const { done } = jobStatusIn(body, Number.MAX_SAFE_INTEGER)
  return rows.map(({ at }, index) => answerOf(results[index], at < done, of))
}

export const isWorkOver = (body: unknown): boolean => isObject(body) && jobStatusIn(body, 0).isOver

function answerOf(
  result: Fields | undefined,
  isDone: boolean,
  { operation: row, now }: Pick<Parameters<typeof answersIn>[3], 'operation' | 'now'>,
): RowAnswer {
  // The result may have been found and charged.
  if (!result) return unknownAnswer
  if ((!isDone || jobStatusIn(result, 0).hasFailed) && resolvesNothing(row, result))
    return { status: 'failed', error: 'The work failed before this row', body: undefined, credits: 0 }
  const credits = creditsCharged(row, result)
  const verdict = judge({ status: row.ok, body: result, headers: {}, credits }, row, now)
  return verdict.kind === 'answer' ? verdict.answer : unknownAnswer
}

/** The key belongs to another request, whose results and cost are unknown here. */
const isConflict = ({ status }: Reply): boolean => status === 409

/** After this many replies that do not know the whole, its parts are polled. */
const maxUnknown = 3

/** After this many replies in a row that do not know it, it counts as forgotten. */
const maxForgotten = 10

/** Polls for the results of accepted work. Results that the target has forgotten are missing, which `onLoss` is called for. */
async function resultsOf(
  accepted: Accepted,
  { caller, callOptions = {}, time }: Batch,
  bulkRequests: BulkRequests,
  stopReason: StopReason,
  onLoss: () => void,
): Promise<Reply | undefined> {
  const askFor = (id: string) => caller.call(bulkRequests.reader, { id }, callOptions).catch(lostCall)
  const mayAskApart = accepted.parts.every((part) => part !== null)
  let [unknown, forgotten, lacks] = [0, 0, false]
  const ask = async () => {
    await bulkRequests.work?.(accepted.id, stopReason.signal)
    const isApart = mayAskApart && unknown >= maxUnknown
    const asked = isApart ? await askParts(accepted, bulkRequests, askFor) : await askWhole(accepted, askFor)
    lacks = asked.lacks
    if (lacks && !isApart) unknown++
    return asked.reply
  }
  const read = (reply: Reply) => {
    forgotten = lacks ? forgotten + 1 : 0
    if ((lacks && forgotten < maxForgotten) || !jobStatusIn(reply.body, 0).isOver) return undefined
    if (lacks) onLoss()
    return reply
  }
  const fail = (polled: Polled) => stopReason.refuseAll(failureIn(polled))
  return pollWork(time, stopReason.signal, bulkRequests.work !== undefined, ask, read, fail)
}

/** The reply to a poll, and whether the target does not know some of the work. */
interface Asked {
  readonly reply: Polled
  readonly lacks: boolean
}

type Ask = (id: string) => Promise<Polled>

const isMissing = (reply: Polled): boolean => !(reply instanceof ConnectionLost) && reply.status === 404

/** Polls the whole work. Unknown work has no results. */
async function askWhole({ id }: Accepted, ask: Ask): Promise<Asked> {
  const reply = await ask(id)
  if (!isMissing(reply)) return { reply, lacks: false }
  return { reply: { status: 200, body: { status: 'finished' }, headers: {}, credits: 0 }, lacks: true }
}

/** Polls the parts. Returns the results of the known ones; a reply that is neither a success nor a 404 comes first. */
async function askParts({ parts }: Accepted, { into }: BulkRequests, ask: Ask): Promise<Asked> {
  const items: unknown[] = []
  let isOver = true
  for (const part of parts) {
    const reply = await ask(part ?? '')
    if (isMissing(reply)) continue
    if (reply instanceof ConnectionLost || !isOk(reply)) return { reply, lacks: false }
    items.push(reply.body)
    isOver &&= jobStatusIn(reply.body, 0).isOver
  }
  const body = { status: isOver ? 'finished' : 'pending', [into]: items }
  const lacks = items.length < parts.length
  return { reply: { status: 200, body, headers: {}, credits: 0 }, lacks }
}

const failureIn = (reply: Polled): Failure =>
  reply instanceof ConnectionLost
    ? { text: `No answer: ${reply.message}`, exit: 10, means: undefined, stops: false }
    : failureOf(reply.status, reply.body)

const bulkRequestsAtOnce = 16
/** The same where no request takes several rows. */
const aloneAtOnce = 64

/**
 * Sends several rows in one request, never more than balance, weekly allowance and budget can pay. Other rows, and those
 * that a target does not accept together, are sent one by one.
 */
export class RequestLauncher {
  readonly #calls: BulkCalls
  readonly #alone = new Set<RowState>()
  #most: number
  /** The credits of the target that are left as far as they are known; asking for them is free. */
  #spendable = 0

  constructor(
    private readonly ports: BulkPorts,
    /** Resolves when all answers so far are recorded. */
    private readonly kept: () => Promise<void>,
  ) {
    this.#calls = new BulkCalls(ports)
    this.#most = ports.bulkRequests.most
  }

  /** Sends rows: those of requests of earlier executions as they were sent, the others as many together as may be. */
  async send(states: readonly RowState[]): Promise<void> {
    const { stopReason, inFlight } = this.ports
    const sent = Map.groupBy(states, ({ ask }) => (ask?.sentAs || ask?.work ? ask.key : ''))
    const anew: RowState[] = sent.get('') ?? []
    for (const [key, some] of sent) {
      if (key === '') continue
      await this.#room()
      if (stopReason.signal.aborted) return
      const [first] = some
      const [work] = some.flatMap(({ ask }) => (ask?.work ? [ask.work] : []))
      if (first?.ask?.sentAs === 'alone' && !work) {
        await this.#sendAlone(first)
        continue
      }
      const parts = some.map(({ ask }) => ask?.work?.part ?? null)
      const accepted = work && { id: work.id, parts, isTaken: work.isTaken }
      if (isRefused(await this.#calls.start(some, { key, row: rowOfKey(key, false), accepted })))
        anew.push(...some.filter(({ isSettled }) => !isSettled))
    }
    for (let left = anew; left.length > 0 && !stopReason.signal.aborted; ) {
      await this.#room()
      if (stopReason.signal.aborted) return
      const gone = await this.#sendSome(this.#next(left))
      if (gone.length > 0) left = left.filter((state) => !gone.includes(state))
      // Calls under way may cost less than was held for them.
      else if (!inFlight.isIdle) {
        await inFlight.progress()
        await this.kept()
      }
    }
  }

  /** Returns the first rows, as many as may be sent together. */
  #next(states: readonly RowState[]): readonly RowState[] {
    const [first] = states
    if (first && this.#alone.delete(first)) return [first]
    return takeAlike(
      states.filter((state) => !this.#alone.has(state)),
      this.ports.bulkRequests,
    )
  }

  /** Sends as many as possible of rows with the same options. Returns those that were sent. */
  async #sendSome(states: readonly RowState[]): Promise<readonly RowState[]> {
    const { bulkRequests, lookups, inFlight } = this.ports
    const { least } = bulkRequests
    const [first] = states
    if (!first) return []
    if (states.length < least || this.#most < least) return this.#sendAlone(first)
    const size = await this.#size(states)
    const isShort = size < Math.min(states.length, this.#most)
    if (isShort && !inFlight.isIdle) return []
    if (size < least) return inFlight.isIdle ? this.#sendAlone(first) : []
    const some = states.slice(0, size)
    const { key, row } = await lookups.together(some)
    return this.#sendTogether(some, { key, row })
  }

  async #sendTogether(states: readonly RowState[], bulk: Bulk): Promise<readonly RowState[]> {
    const isLast = this.ports.inFlight.isIdle
    const sent = await this.#calls.start(states, bulk)
    this.#spendable = isRefused(sent) ? 0 : this.#spendable - maxCreditsOf(states)
    if (!isRefused(sent)) return states
    await this.ports.lookups.apart(states.map(({ ordinal }) => ordinal))
    if (sent === 'singly') for (const state of states) this.#alone.add(state)
    // With nothing else under way, no credits will be released either.
    if (sent === 'smaller' && isLast) this.#most = Math.floor(states.length / 2)
    return []
  }

  async #sendAlone(state: RowState): Promise<readonly RowState[]> {
    const sent = await this.ports.lookups.alone(state.ask as LookupAsk, state.input)
    this.#spendable -= state.most
    this.#calls.startAlone(state, sent)
    return [state]
  }

  /** Returns how many of the rows can certainly be paid. */
  async #size(states: readonly RowState[]): Promise<number> {
    const wanted = states.slice(0, this.#most)
    if (this.#spendable < maxCreditsOf(wanted)) this.#spendable = await this.#readCredits()
    let left = this.#spendable
    let size = 0
    for (const { most } of wanted) {
      left -= most
      if (left < 0) break
      size++
    }
    return size
  }

  /** Returns no limit for a target that does not report its balance; it refuses what it cannot pay. */
  async #readCredits(): Promise<number> {
    const { caller, callOptions = {} } = this.ports.batch
    const reply = await caller.call('credits.show', {}, callOptions).catch(lostCall)
    const isKnown = 'status' in reply && isOk(reply)
    const credits = isKnown ? valueAt(reply.body, ['credits', 'enrichment']) : undefined
    return typeof credits === 'number' ? credits : Number.POSITIVE_INFINITY
  }

  async #room(): Promise<void> {
    const { inFlight, stopReason, bulkRequests } = this.ports
    const atOnce = this.#most < bulkRequests.least ? aloneAtOnce : bulkRequestsAtOnce
    while (inFlight.underWay >= atOnce && !stopReason.signal.aborted) await inFlight.progress()
  }
}

/** Whether a target refused rows together, and may accept them otherwise. */
const isRefused = (sent: SendResult): boolean => sent !== 'taken' && sent !== 'ended'

const maxCreditsOf = (states: readonly RowState[]): number =>
  states.reduce((credits, { most }) => credits + most, 0)
