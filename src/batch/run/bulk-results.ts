import { ConnectionLost, isOk, type Reply, retryAfterMs } from '../../api/calls/caller.js'
import { type Failure, failureOf } from '../../api/calls/errors.js'
import type { Accepted } from '../journal/journal.js'
import type { Batch } from './batch.js'
import { standingIn, type Together } from './bulk.js'
import { lostCall } from './calls.js'
import type { Ending } from './stop-reason.js'

/** The pauses between two questions, in milliseconds: each is half as long again as the one before. Who works here is near. */
const pause = { first: 250, factor: 1.5, longest: 15_000, longestHere: 1_000 } as const

/** A server that is being restarted answers again after that many questions, or is given up. */
const mostFailures = 20

/** A server that knows nothing of the whole so many times is asked for its parts. */
const mostUnknown = 3

/** What it does not know so many times in a row it has forgotten. */
const mostForgotten = 10

/**
 * Asks for the results of accepted work until they are there; nothing where the run ends first. Asking is free, so that
 * whoever goes on with the run may ask again. What the target has forgotten is not among the results.
 */
export async function resultsOf(
  accepted: Accepted,
  batch: Batch,
  together: Together,
  ending: Ending,
): Promise<Reply | undefined> {
  const { caller, callOptions = {}, time } = batch
  const ask = (id: string) => caller.call(together.reader, { id }, callOptions).catch(lostCall)
  const mayAskApart = accepted.parts.every((part) => part !== null)
  const longest = together.work ? pause.longestHere : pause.longest
  let [failures, unknown, forgotten] = [0, 0, 0]
  for (let ms: number = pause.first; ; ms = Math.min(longest, ms * pause.factor)) {
    await together.work?.(accepted.id, ending.signal)
    const isApart = mayAskApart && unknown >= mostUnknown
    const { reply, lacks } = isApart
      ? await askedApart(accepted, together, ask)
      : await askedWhole(accepted, ask)
    const isAnswer = !(reply instanceof ConnectionLost)
    if (lacks) forgotten++
    if (isAnswer && isOk(reply)) {
      failures = 0
      if (!lacks) forgotten = 0
      else if (!isApart) unknown++
      if ((!lacks || forgotten >= mostForgotten) && standingIn(reply.body, 0).isOver) return reply
    } else {
      if ((isAnswer && !passes(reply)) || ++failures > mostFailures) ending.refuseAll(failureIn(reply))
    }
    if (ending.signal.aborted) return undefined
    const asked = isAnswer ? (retryAfterMs(reply.headers['retry-after'], time.now()) ?? 0) : 0
    await time.sleep(Math.max(ms, asked), ending.signal)
  }
}

/** What was answered, and whether the target knows nothing of some of it. */
interface Asked {
  readonly reply: Reply | ConnectionLost
  readonly lacks: boolean
}

type Ask = (id: string) => Promise<Reply | ConnectionLost>

const isMissing = (reply: Reply | ConnectionLost): boolean =>
  !(reply instanceof ConnectionLost) && reply.status === 404

/** Work that is not known has no results. */
async function askedWhole({ id }: Accepted, ask: Ask): Promise<Asked> {
  const reply = await ask(id)
  if (!isMissing(reply)) return { reply, lacks: false }
  return { reply: { status: 200, body: { status: 'finished' }, headers: {}, credits: 0 }, lacks: true }
}

/**
 * The results of those parts that are known in place of those of the whole; the first answer that is neither a success
 * nor a 404 where there is one.
 */
async function askedApart({ parts }: Accepted, { into }: Together, ask: Ask): Promise<Asked> {
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

/** Whether it can be answered later: it is too early, too often, or the server is not well. */
const passes = ({ status }: Reply): boolean => status === 429 || status >= 500
