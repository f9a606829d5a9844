/** Where deliveries may go besides public addresses over https. */
export interface Targets {
  /** Networks (CIDR) that are permitted over http and https; link-local addresses are refused even so. */
  readonly allow: readonly string[]
  /** Whether this machine's loopback addresses are permitted, over http too. */
  readonly loopback: boolean
}

/** One delivery attempt: what is posted, and where it may go. */
export interface Attempt extends Targets {
  readonly url: string
  /** The same on every attempt of a delivery; sent as `webhook-id`. */
  readonly id: string
  /** Real time in milliseconds; sent as `webhook-timestamp`. */
  readonly timestamp: number
  readonly body: string
  /** Signing secrets (`whsec_…`), newest first: two while a rotation lasts. */
  readonly secrets: readonly string[]
}

/** What came of an attempt. */
export interface AttemptResult {
  /** Status of the answer; null where none came. */
  readonly status: number | null
  /** One sentence; null where the status is 2xx, which alone is a success. */
  readonly error: string | null
  /** What the answer's `Retry-After` asks for on 429 and 503, a day at most. */
  readonly retryAfterMs?: number
  /** True where the target is not permitted, so that nothing was sent. */
  readonly refused?: boolean
  /** How long it took. */
  readonly ms: number
}

/** Posts events to webhooks. */
export interface Sender {
  /** One signed POST of at most 15 s. It never rejects: what goes wrong is part of the answer. */
  send(attempt: Attempt): Promise<AttemptResult>
  /** Why nothing may be sent to a url, as a sentence; nothing where it is permitted, or its name has no address yet. */
  check(url: string, targets: Targets): Promise<string | undefined>
  /** Ends what is under way, and every connection. */
  close(): Promise<void>
}
