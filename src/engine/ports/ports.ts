// Adapters import every port from here.

export type * from './source.js'

/** Real time in milliseconds since 1970; the engine adds its own adjustable clock. */
export interface Clock {
  now(): number
}

/** Source of ids and secrets. */
export interface Ids {
  uuid(): string
  /** Random bytes. */
  bytes(size: number): Uint8Array
}

/** Where deliveries may go, besides public https addresses. */
export interface Targets {
  /** Networks (CIDR) that are allowed over http and https; link-local addresses are refused even then. */
  readonly allow: readonly string[]
  /** Whether this machine's loopback addresses are allowed, over http too. */
  readonly loopback: boolean
  /** What is sent there, in a sentence that says it is blocked; webhooks by default. */
  readonly what?: string
  /** Returns a sentence that says how to allow networks, for the person or program that is refused. */
  readonly adviceToAllow?: (networks: readonly string[]) => string
}

/** One delivery attempt: what is posted, and where it may go. */
export interface DeliveryAttempt extends Targets {
  readonly url: string
  /** Whose delivery it is: name lookups of one workspace do not wait for those of another. */
  readonly workspaceId?: string
  /** The same on every attempt of a delivery; sent as `webhook-id`. */
  readonly id: string
  /** Real time in milliseconds; sent as `webhook-timestamp`. */
  readonly timestamp: number
  readonly body: string
  /** Signing secrets (`whsec_…`), newest first: two while a rotation lasts. */
  readonly secrets: readonly string[]
}

export interface DeliveryResult {
  /** Status of the answer; null when there was none. */
  readonly status: number | null
  /** One sentence; null when the status is 2xx, the only success. */
  readonly error: string | null
  /** What the answer's `Retry-After` asks for on 429 and 503, at most a day. */
  readonly retryAfterMs?: number
  /** Whether the target is not allowed, so that nothing was sent. */
  readonly refused?: boolean
  /** Whether no connection was free, so that nothing was sent; it says nothing about the receiver. */
  readonly postponed?: boolean
  /** Duration in milliseconds. */
  readonly ms: number
}

/** Posts events to webhooks. */
export interface Sender {
  /** Sends one signed POST of at most 15 s, after a wait of at most 5 s for a connection. It never rejects: errors are part of the result. */
  send(attempt: DeliveryAttempt): Promise<DeliveryResult>
  /**
   * Returns why nothing may be sent to a URL, as a sentence; `undefined` when it is allowed, or its name does not
   * resolve yet.
   */
  check(url: string, targets: Targets, workspaceId?: string): Promise<string | undefined>
  /** Aborts what is in flight, and closes every connection. */
  close(): Promise<void>
}
