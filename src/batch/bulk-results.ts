import { ConnectionLost, isOk, type Reply } from '../api/caller.js'
import { type Failure, failureOf } from '../api/errors.js'
import { retryAfterMs } from '../api/retry-after.js'
import type { Batch } from './batch.js'
import { standingIn, type Together } from './bulk.js'
import { lostCall } from './calls.js'
import type { Ending } from './ending.js'
import type { Accepted } from './journal.js'

/** The pauses between two questions, in milliseconds: each is half as long again as the one before. Who works here is near. */
const pause = { first: 250, factor: 1.5, longest: 15_000, longestHere: 1_000 } as const

/** A server that is being restarted answers again after that many questions, or is given up. */
const mostFailures = 20

/** A server that knows nothing of the whole so many times is asked for its parts. */
const mostUnknown = 3

/**
 * Asks for the results of accepted work until they are there; nothing where the run ends first. Asking is free, so that
 * whoever goes on with the run may ask again.
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
  let [failures, unknown] = [0, 0]
  for (let ms: number = pause.first; ; ms = Math.min(longest, ms * pause.factor)) {
    await together.work?.(accepted.id, ending.signal)
    const isApart = mayAskApart && unknown >= mostUnknown
    const reply = isApart ? await askedApart(accepted, together, ask) : await ask(accepted.id)
    const isAnswer = !(reply instanceof ConnectionLost)
    if (isAnswer && isOk(reply)) {
      failures = 0
      if (standingIn(reply.body, 0).isOver) return reply
    } else {
      if (isAnswer && reply.status === 404) unknown++
      if ((isAnswer && !passes(reply)) || ++failures > mostFailures) ending.refuseAll(failureIn(reply))
    }
    if (ending.signal.aborted) return undefined
    const asked = isAnswer ? (retryAfterMs(reply.headers['retry-after'], time.now()) ?? 0) : 0
    await time.sleep(Math.max(ms, asked), ending.signal)
  }
}

/** The results of the parts in place of those of the whole; the first answer that is no success where there is one. */
async function askedApart(
  { parts }: Accepted,
  { into }: Together,
  ask: (id: string) => Promise<Reply | ConnectionLost>,
): Promise<Reply | ConnectionLost> {
  const items: unknown[] = []
  let isOver = true
  for (const part of parts) {
    const reply = await ask(part ?? '')
    if (reply instanceof ConnectionLost || !isOk(reply)) return reply
    items.push(reply.body)
    isOver &&= standingIn(reply.body, 0).isOver
  }
  const body = { status: isOver ? 'finished' : 'pending', [into]: items }
  return { status: 200, body, headers: {}, credits: 0 }
}

const failureIn = (reply: Reply | ConnectionLost): Failure =>
  reply instanceof ConnectionLost
    ? { text: `No answer: ${reply.message}`, exit: 10, hint: '', stops: false }
    : failureOf(reply.status, reply.body)

/** Whether it can be answered later: it is too early, too often, or the server is not well. */
const passes = ({ status }: Reply): boolean => status === 404 || status === 429 || status >= 500
