import type { Reply } from './caller.js'
import { ApiError, failureOf } from './errors.js'

/**
 * What a reply means for another attempt, in one table for lookups, runs, jobs, deliveries and polling. A reply or a fault of
 * the network that leaves the outcome open is only repeated under the same key.
 */
type Answer = Pick<Reply, 'status' | 'body'>

export const isLimited = ({ status }: Pick<Reply, 'status'>): boolean => status === 429

export const fails = ({ status }: Pick<Reply, 'status'>): boolean => status >= 500

/** Whether the work may have been done all the same. A 501 says that it was not. */
export const isOutcomeUnknown = (answer: Pick<Reply, 'status'>) => fails(answer) && answer.status !== 501

/** Whether the same request can be answered later. */
export const passes = (answer: Pick<Reply, 'status'>): boolean => isLimited(answer) || fails(answer)

/** Whether an earlier attempt under the same key is still in progress. */
export const isInProgress = ({ status, body }: Answer): boolean =>
  status === 409 &&
  ['idempotency_in_progress', 'lookup_in_progress'].includes(
    String((body as { readonly code?: unknown } | null)?.code),
  )

/** Whether only waiting is asked for. The caller does so, because it knows how much time there is. */
export const asksToWait = (answer: Answer): boolean => isLimited(answer) || isInProgress(answer)

/** Whether a limit ends soon: one of the service does, one of the network behind it lasts for hours. */
export const isShortLimit = ({ status, body, unknown }: Reply): boolean =>
  isLimited({ status }) && !unknown && !failureOf(status, body).stops

/** Refusals that come before the server looks at the key of a request. */
const undecided: readonly number[] = [401, 403, 408, 413, 429]

/** Whether a reply settles the outcome of earlier attempts under the same key. */
export const concludesEarlier = (answer: Answer): boolean =>
  !fails(answer) && !undecided.includes(answer.status) && !isInProgress(answer)

/** Codes of failures before anything was sent. Of these, a wrong name or certificate does not pass. */
const unreached: readonly string[] = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_PRX_CONN',
  'UND_ERR_HEADERS_TIMEOUT',
  'STRAY_ANSWER',
]

/** Whether a request that brought no answer can be answered later, by the code of the failure. */
export const isRetryableLoss = ({
  sent,
  code,
}: {
  readonly sent: boolean
  readonly code: string
}): boolean => (sent ? code !== 'aborted' : unreached.includes(code))

/** Whether a store or source cannot be reached for now. */
export const isUnavailable = ({ status }: Pick<Reply, 'status'>): boolean => status === 503

/** Whether an error says so of one of this machine. */
export const isUnreachable = (error: unknown): boolean => error instanceof ApiError && isUnavailable(error)
