import { ConnectionLost, isOk, type Reply } from '../api/caller.js'
import { failureOf } from '../api/errors.js'
import { retryAfterMs } from '../api/retry-after.js'
import type { Batch } from './batch.js'
import { standingIn, type Together } from './bulk.js'
import { lostCall } from './calls.js'
import type { Ending } from './ending.js'

/** The pauses between two questions, in milliseconds: each is half as long again as the one before. */
const pause = { first: 250, factor: 1.5, longest: 15_000 } as const

/** A server that is being restarted answers again after that many questions, or is given up. */
const mostFailures = 20

/**
 * Asks for the results of accepted work until they are there; nothing where the run ends first. Asking is free, so that
 * whoever goes on with the run may ask again.
 */
export async function resultsOf(
  id: string,
  { caller, callOptions = {}, time }: Batch,
  { reader, work }: Together,
  ending: Ending,
): Promise<Reply | undefined> {
  let failures = 0
  for (let ms: number = pause.first; ; ms = Math.min(pause.longest, ms * pause.factor)) {
    await work?.(id, ending.signal)
    const reply = await caller.call(reader, { id }, callOptions).catch(lostCall)
    const isAnswer = !(reply instanceof ConnectionLost)
    if (isAnswer && isOk(reply)) {
      failures = 0
      if (standingIn(reply.body, 0).isOver) return reply
    } else {
      const failure = isAnswer
        ? failureOf(reply.status, reply.body)
        : { text: `No answer: ${reply.message}`, exit: 10, hint: '', stops: false }
      if ((isAnswer && !passes(reply)) || ++failures > mostFailures) ending.refuseAll(failure)
    }
    if (ending.signal.aborted) return undefined
    const asked = isAnswer ? (retryAfterMs(reply.headers['retry-after'], time.now()) ?? 0) : 0
    await time.sleep(Math.max(ms, asked), ending.signal)
  }
}

/** Whether it can be answered later: it is too early, too often, or the server is not well. */
const passes = ({ status }: Reply): boolean => status === 404 || status === 429 || status >= 500
