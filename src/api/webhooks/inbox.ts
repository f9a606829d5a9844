/** A webhook delivery as it arrived. */
export interface ReceivedDelivery {
  /**
   * The sender's `webhook-id`, the same for all its attempts; without one `sha256:` and the hash of the body.
   */
  readonly id: string
  /** The unguessable part of the path. */
  readonly path: string
  /** Real time in milliseconds since 1970. */
  readonly receivedAt: number
  /** Its `event`. Without one, `completed` when it carries results, else `record`. */
  readonly event: string
  /** Id of the search, import, list or enrichment, when the body has an `id`. */
  readonly search: string | null
  readonly verified: boolean
  /** The headers that a forwarded copy needs, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** The exact bytes that arrived. */
  readonly body: string
}

/** Stores received deliveries. */
export interface Inbox {
  /** Stores a delivery unless it is a duplicate. The result, whether it was new, is durable. */
  keep(delivery: ReceivedDelivery): Promise<boolean>
}

export interface Forward {
  /** Its number in the order of arrival. */
  readonly seq: number
  readonly attempts: number
  readonly delivery: Pick<ReceivedDelivery, 'headers' | 'body'>
}

/** The result of forwarding a delivery. */
export interface Passed {
  readonly ok: boolean
  /** The status of the answer, or why there was none, such as `503` or `connection refused`. */
  readonly answer: string
  /** Whether the receiver wants no more deliveries, so that it is not tried again. */
  readonly isFinal?: boolean
}

/** The deliveries to forward to one address. The first attempts of one search wait for each other. */
export interface Outbox {
  /** Takes at most `limit` due deliveries, and keeps them from other processes for `leaseMs`. */
  take(now: number, limit: number, leaseMs: number): Promise<readonly Forward[]>
  /** Records an attempt. Without `retryAt` it was the last. */
  settle(forward: Forward, passed: Passed, now: number, retryAt?: number): Promise<void>
  /** Releases a delivery that was taken and not finished. */
  release(forward: Forward, now: number): Promise<void>
}
