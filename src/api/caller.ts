import type { OperationId } from './table.js'

/** The fields of a request: body, query and path parameters in one object, in the specification's names. */
export type Input = Readonly<Record<string, unknown>>

/** What accompanies a request without being part of it. */
export interface CallOptions {
  /** The caller's API key. */
  readonly apiKey?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Origin the request came in on, for `top_up_url`. */
  readonly origin?: string | undefined
}

/** The answer to a call never came: refused, cut off or timed out. Whether the work was done is not known. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/** An answer: refusals are answers too. Only `ConnectionLost` or a programming mistake is thrown. */
export interface Reply {
  readonly status: number
  readonly body: unknown
  /** Lower-case names, such as `ratelimit-limit`, `retry-after`, `idempotent-replayed`. */
  readonly headers: Readonly<Record<string, string>>
  /** Credits this call charged. */
  readonly credits: number
}

/**
 * The one way anything is asked of the API: the engine, a remote server, a proxy and an in-process server all
 * are callers. `input` may be a function: it is read only once the key has been accepted, so that a server
 * never parses the body of a stranger.
 */
export interface Caller {
  call(id: OperationId, input: Input | (() => Promise<Input>), options?: CallOptions): Promise<Reply>
  close(): Promise<void>
}

/** Whether a reply is a success. */
export const isOk = (reply: Reply): boolean => reply.status >= 200 && reply.status < 300
