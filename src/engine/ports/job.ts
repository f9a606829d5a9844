import type { OperationId } from '../../api/operations/table.js'
import type { EventKind, EventName } from '../../api/webhooks/events.js'
import type { CompanyQuery, Contact, ContactType, Search } from './source.js'

/** `queued` → `running` → `finished` or `failed`; the last two are final. */
export type JobState = 'queued' | 'running' | 'finished' | 'failed'

/** What a waterfall looks for. */
export interface WaterfallAsk {
  readonly types: readonly ContactType[]
  readonly mobileOnly: boolean
  /** Only numbers of these countries; any when empty. */
  readonly phoneCountryCodes: readonly string[]
}

/** What a job does: plain data, so that any process can do it or go on with it. */
export type Plan =
  | { readonly does: 'search'; readonly search: Search; readonly scale: boolean }
  | { readonly does: 'waterfall'; readonly ask: WaterfallAsk; readonly contacts: readonly Contact[] }
  | { readonly does: 'list' }

/** Accepted work that goes on after its request. Its id is that of the search, import, list or enrichment. */
export interface AsyncJob {
  readonly id: string
  readonly workspaceId: string
  readonly memberId: string
  readonly operation: OperationId
  readonly kind: EventKind
  readonly name: string
  readonly plan: Plan
  readonly webhookUrl: string | null
  readonly streaming: boolean
  readonly custom: Readonly<Record<string, unknown>> | null
  /** Most records to keep; null for all. */
  readonly most: number | null
  /** Records that were expected when it was accepted. */
  readonly expected: number
  readonly state: JobState
  /** Records kept so far; they are numbered from 1. */
  readonly done: number
  /** Where the source goes on; null at the start. */
  readonly place: string | null
  /** Whether a quota or the credits ended it. */
  readonly truncated: boolean
  /** Ordinals with which the parts of its completed body begin, and how large the last one is by now, in bytes. */
  readonly parts: readonly number[]
  readonly partBytes: number
  /** Whether one of its leads carries an e-mail address or a phone. */
  readonly enriched: boolean
  /** Credits it still holds. */
  readonly held: number
  /** Credits it was charged. */
  readonly spent: number
  readonly error: string | null
  /** Engine time. */
  readonly createdAt: number
  readonly finishedAt: number | null
  /** Fencing token of whoever runs it. */
  readonly token: string | null
  /** Real time until which a running job is believed alive. */
  readonly leaseUntil: number
  /** How often it was taken up since it last got on. */
  readonly attempts: number
}

/** What progress changes in a job. */
export type JobChange = Partial<
  Pick<
    AsyncJob,
    | 'state'
    | 'done'
    | 'place'
    | 'truncated'
    | 'parts'
    | 'partBytes'
    | 'enriched'
    | 'held'
    | 'spent'
    | 'error'
    | 'finishedAt'
    | 'attempts'
  >
>

/** A record of a job, as JSON. */
export interface JobRecord {
  readonly ordinal: number
  readonly status: 'QUALIFIED' | 'DISQUALIFIED'
  readonly record: string
}

/** One contact of a waterfall, by the id it is asked for with. */
export interface Enrichment {
  readonly id: string
  readonly jobId: string
  /** Its record's. */
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
  readonly companies: readonly CompanyQuery[]
}

/** A company of a list, as given, and the account it was found to be. */
export interface ListedCompany {
  readonly ordinal: number
  readonly company: CompanyQuery
  /** `Account.id`; null while unknown. */
  readonly accountId: string | null
}

/** One body that is to reach a webhook: records `first` to `last` of a job. */
export interface Delivery {
  /** Sent as `webhook-id` with every attempt. */
  readonly id: string
  readonly workspaceId: string
  readonly jobId: string
  /** Place among the deliveries of its job: first attempts leave in this order. */
  readonly seq: number
  readonly event: EventName
  readonly url: string
  readonly first: number
  readonly last: number
  readonly part: number | null
  readonly parts: number | null
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  /** When it is due: engine time; null while the first attempt of the one before it has not been made. */
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

/** What an attempt changes in a delivery. */
export type DeliveryChange = Partial<
  Pick<Delivery, 'state' | 'attempts' | 'dueAt' | 'status' | 'error' | 'finishedAt'>
>
