import type { OperationId } from '../operations/table.js'

/** The fields of a request: body, query and path parameters in one object, in the specification's names. */
export type Input = Readonly<Record<string, unknown>>

/** A row of a run on this machine, whose answers the run keeps by itself. */
export interface RunRow {
  /** Unguessable id of the run. */
  readonly run: string
  readonly ordinal: number
  /** Whether it surely was never sent before, so that there is no earlier reply to look for. */
  readonly fresh: boolean
}

/** What accompanies a request without being part of it. */
export interface CallOptions {
  /** The caller's API key. */
  readonly apiKey?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** In place of the key where the target is on this machine: its reply is kept until the run says `settled`. */
  readonly row?: RunRow | undefined
  readonly signal?: AbortSignal | undefined
  /** Origin the request came in on, for `top_up_url`. */
  readonly origin?: string | undefined
}

/** The answer to a call never came: refused, cut off or timed out. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  /** Whether the work may have been done, and charged, all the same; not where nothing was sent, or only asked. */
  readonly unknown: boolean

  constructor(message: string, unknown = true) {
    super(message)
    this.unknown = unknown
  }
}

/** An answer: refusals are answers too. Only `ConnectionLost` or a programming mistake is thrown. */
export interface Reply {
  readonly status: number
  readonly body: unknown
  /** Lower-case names, such as `ratelimit-limit`, `retry-after`, `idempotent-replayed`. */
  readonly headers: Readonly<Record<string, string>>
  /** Credits this call charged. */
  readonly credits: number
  /** Credits that the first call of the same row of a run charged, where this is its reply again. */
  readonly replayed?: number
  /** Whether the work may have been done all the same: a refusal that is none, but a fault on the way. */
  readonly unknown?: true
  /** Of a 429 that no server gave: how long to wait, more exactly than its headers say it in whole seconds. */
  readonly waitMs?: number
  /** The body byte for byte as another server sent it, for whoever passes it on. */
  readonly text?: string
}

/** The one way to call the API: the engine, a remote server, a proxy and an in-process server are all callers. */
export interface Caller {
  call(id: OperationId, input: Input, options?: CallOptions): Promise<Reply>
  /**
   * Answers a request of a server, and reads its input only after the key was accepted: the body of a stranger is never
   * parsed. Absent where keys are not checked.
   */
  answerRequest?(id: OperationId, readInput: () => Promise<Input>, options?: CallOptions): Promise<Reply>
  /** Whether the same call under the same idempotency key is known to have one effect; it is where this is absent. */
  supportsIdempotency?(): Promise<boolean>
  /** Told of a run whose rows below an ordinal are safe: their replies need not be kept. Of no use to servers. */
  discardReplies?(run: string, before: number, options?: CallOptions): Promise<void>
  close(): Promise<void>
}

/** Whether a reply is a success. */
export const isOk = (reply: Reply): boolean => reply.status >= 200 && reply.status < 300

/**
 * Milliseconds that a `Retry-After` header asks to wait, given in seconds or as an HTTP date; nothing where there is
 * none. `now` is real time.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  const seconds = Number(text)
  const ms = Number.isNaN(seconds) ? Date.parse(text) - now : seconds * 1_000
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
