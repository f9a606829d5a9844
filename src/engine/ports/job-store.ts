import type { EventKind } from '../../api/webhooks/events.js'
import type { Delivery, JobRecord, JobState } from './job.js'

/** Selects jobs. */
export interface JobFilter {
  readonly kind?: EventKind
  readonly state?: JobState
  readonly enriched?: boolean
  /** A search of people or companies: no enrichment of contacts, and no list. */
  readonly isSearch?: true
  /** The beginning of its id. */
  readonly prefix?: string
}

/** Selects deliveries. */
export interface DeliveryFilter {
  readonly jobId?: string
  readonly state?: Delivery['state']
  /** The beginning of its id. */
  readonly prefix?: string
}

/** How long work is leased to the process that takes it now, without a heartbeat; real time. */
export interface Lease {
  readonly realNow: number
  readonly leaseUntil: number
}

/** Selects the deliveries that may be attempted. */
export interface DueDeliveries extends Lease {
  /** Engine time. First attempts that are allowed are due regardless of it. */
  readonly now: number
  /** Latest possible due time (engine time). A later one was stored before the clock went back, and is due now. */
  readonly farthest: number
  /** URLs that take no more attempts for now. */
  readonly busy: readonly string[]
  /** Workspaces that take no more attempts for now. */
  readonly busyWorkspaces?: readonly string[]
  /** Only first attempts of this job. */
  readonly jobId?: string
}

/** Secrets that sign a workspace's deliveries, newest first: after a rotation the old one stays valid for a day. */
export interface SigningSecret {
  readonly secret: string
  /** Engine time until which it signs; null for the current secret. */
  readonly until: number | null
}

/** Records with an ordinal above `after` up to `last`, of one status if given, without the first `skip`. */
export interface RecordRange {
  readonly after: number
  readonly last?: number
  readonly status?: JobRecord['status']
  readonly skip?: number
}

/** How many rows were deleted. */
export interface Dropped {
  readonly jobs: number
  readonly records: number
  readonly contacts: number
  readonly deliveries: number
}
