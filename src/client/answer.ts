import type { Dispatcher } from 'undici'
import { retryAfterMs } from '../api/calls/caller.js'
import type { AttemptResult } from '../engine/ports/ports.js'

/** What came of an attempt, but for the time it took. */
export type Outcome = Omit<AttemptResult, 'ms'>

type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

const longestWaitMs = 86_400_000

/** What an answer means: its status alone decides. `now` is real time. */
export function outcomeOf({ statusCode: status, headers }: Answer, now: number): Outcome {
  if (status >= 200 && status < 300) return { status, error: null }
  const redirected = status >= 300 && status < 400
  const error = `The receiver answered ${status}${redirected ? '; redirects are not followed' : ''}`
  const waitMs = status === 429 || status === 503 ? waitOf(headers['retry-after'], now) : undefined
  return waitMs === undefined ? { status, error } : { status, error, retryAfterMs: waitMs }
}

function waitOf(header: string | string[] | undefined, now: number): number | undefined {
  const waitMs = retryAfterMs(Array.isArray(header) ? header[0] : header, now)
  return waitMs === undefined ? undefined : Math.min(waitMs, longestWaitMs)
}

/**
 * Reads a body to its end where that is near, so that the connection can be used again, and otherwise closes the
 * connection. What the body says is of no interest.
 */
export async function drain(
  { body }: Dispatcher.ResponseData,
  limits: { readonly bytes: number; readonly ms: number },
): Promise<void> {
  const late = setTimeout(() => body.destroy(), limits.ms)
  try {
    await body.dump({ limit: limits.bytes })
  } finally {
    clearTimeout(late)
  }
}
