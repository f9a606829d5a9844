/** A delivery of a webhook as it arrived. */
export interface Delivery {
  /** The sender's `webhook-id`, the same on each of its attempts; `sha256:` and the hash of the body where it gives none. */
  readonly id: string
  /** The unguessable part of the path it was sent to. */
  readonly path: string
  /** Real time in milliseconds since 1970. */
  readonly receivedAt: number
  /** Its `event`; for a body without one, `completed` when it carries results, else `record`. */
  readonly event: string
  /** Id of the search, import, list or enrichment, where the body has an `id`. */
  readonly search: string | null
  /** Whether its signature was checked and is right. */
  readonly verified: boolean
  /** Those that a forwarded copy needs, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** Byte for byte what arrived. */
  readonly body: string
}

/** Where a receiver keeps what it takes. */
export interface Inbox {
  /** Keeps a delivery unless it was taken before; what it answers (whether it was new) is durable. */
  keep(delivery: Delivery): Promise<boolean>
}

/** A delivery that is to be sent on. */
export interface Forward {
  /** Its number in the order of arrival. */
  readonly seq: number
  /** Attempts so far. */
  readonly attempts: number
  readonly delivery: Pick<Delivery, 'headers' | 'body'>
}

/** What came of sending a delivery on. */
export interface Passed {
  readonly ok: boolean
  /** The answer's status, or why there was none, such as `503` or `connection refused`. */
  readonly answer: string
  /** That nothing is wanted there any more, so that it is not tried again. */
  readonly isFinal?: boolean
}

/** The deliveries that wait to be sent on to one address; the first attempts of one search wait for each other. */
export interface Outbox {
  /** At most `limit` whose time has come, kept from other processes for `leaseMs`. */
  take(now: number, limit: number, leaseMs: number): Promise<readonly Forward[]>
  /** Notes an attempt; without `retryAt` one that failed was the last. */
  settle(forward: Forward, passed: Passed, now: number, retryAt?: number): Promise<void>
  /** Gives back one that was taken and not tried to the end. */
  release(forward: Forward, now: number): Promise<void>
}
