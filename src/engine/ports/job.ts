import type { OperationId } from '../../api/operations/table.js'
import type { EventKind, EventName } from '../../api/webhooks/events.js'
import type { CompanyQuery, Contact, ContactType, Search } from './source.js'

/** `queued` → `running` → `finished` or `failed`; the last two are final. */
export type JobState = 'queued' | 'running' | 'finished' | 'failed'

/** What a waterfall looks for. */
export interface WaterfallAsk {
  readonly types: readonly ContactType[]
  readonly mobileOnly: boolean
  /** Only numbers of these countries; all when empty. */
  readonly phoneCountryCodes: readonly string[]
}

/** What a job does: plain data, so that any process can do or resume it. */
export type JobPlan =
  | { readonly does: 'search'; readonly search: Search; readonly scale: boolean }
  | { readonly does: 'waterfall'; readonly ask: WaterfallAsk; readonly contacts: readonly Contact[] }
  | { readonly does: 'list' }

/** What changes as a job makes progress. */
export interface JobProgress {
  readonly state: JobState
  /** Records stored so far, numbered from 1. */
  readonly done: number
  /** Where the source continues; null at the start. */
  readonly place: string | null
  /** Whether a quota or the credits cut it short. */
  readonly truncated: boolean
  /** First ordinals of the parts of its completed body, and the size of the last part in bytes. */
  readonly parts: readonly number[]
  readonly partBytes: number
  /** Whether one of its leads has an e-mail address or a phone. */
  readonly enriched: boolean
  /** Credits it still holds. */
  readonly held: number
  /** Credits it has been charged. */
  readonly spent: number
  readonly error: string | null
  /** Engine time. */
  readonly finishedAt: number | null
  /** How many times it was taken since it last made progress. */
  readonly attempts: number
}

/** The fields of a job that progress changes. */
export type JobChange = Partial<JobProgress>

/** Accepted work that continues after its request. Its id is that of the search, import, list or enrichment. */
export interface AsyncJob extends JobProgress {
  readonly id: string
  readonly workspaceId: string
  readonly memberId: string
  readonly operation: OperationId
  readonly kind: EventKind
  readonly name: string
  readonly plan: JobPlan
  readonly webhookUrl: string | null
  readonly streaming: boolean
  readonly custom: Readonly<Record<string, unknown>> | null
  /** Most records to store; null for all. */
  readonly most: number | null
  /** Records expected when it was accepted. */
  readonly expected: number
  /** Engine time. */
  readonly createdAt: number
  /** Fencing token of its worker. */
  readonly token: string | null
  /** Real time until which a running job counts as alive. */
  readonly leaseUntil: number
}

/** A record of a job, as JSON. */
export interface JobRecord {
  readonly ordinal: number
  readonly status: 'QUALIFIED' | 'DISQUALIFIED'
  readonly record: string
}

/** One contact of a waterfall, with the id it is read by. */
export interface Enrichment {
  readonly id: string
  readonly jobId: string
  /** Ordinal of its record. */
  readonly ordinal: number
  readonly firstName: string | null
  readonly lastName: string | null
  readonly custom: Readonly<Record<string, unknown>> | null
}

/** A list of companies; its import is the job with its id. */
export interface CompanyList {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly networkListId: number
  readonly status: 'pending' | 'completed' | 'failed'
  /** Engine time. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** A list with its first companies as they were given. */
export interface NewList extends CompanyList {
  readonly companies: Iterable<CompanyQuery>
}

/** A company of a list as given, and the account it was matched to. */
export interface ListedCompany {
  readonly ordinal: number
  readonly company: CompanyQuery
  /** `Account.id`; null while unknown. */
  readonly accountId: string | null
}

/** One body for a webhook: records `first` to `last` of a job. */
export interface Delivery {
  /** Sent as `webhook-id` with every attempt. */
  readonly id: string
  readonly workspaceId: string
  readonly jobId: string
  /** Sequence number among the deliveries of its job: first attempts are made in this order. */
  readonly seq: number
  readonly event: EventName
  readonly url: string
  readonly first: number
  readonly last: number
  readonly part: number | null
  readonly parts: number | null
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  /** Due time (engine time); null until the first attempt of its predecessor has been made. */
  readonly dueAt: number | null
  readonly status: number | null
  readonly error: string | null
  /** Engine time. */
  readonly createdAt: number
  readonly finishedAt: number | null
  readonly token: string | null
  /** Real time. */
  readonly leaseUntil: number
}

/** The fields of a delivery that an attempt changes. */
export type DeliveryChange = Partial<
  Pick<Delivery, 'state' | 'attempts' | 'dueAt' | 'status' | 'error' | 'finishedAt'>
>
