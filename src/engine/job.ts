import type { EventKind, EventName } from '../api/events.js'
import type { OperationId } from '../api/table.js'
import type { Awaitable } from './awaitable.js'
import type { CompanyQuery, Contact, ContactType, Search } from './source.js'
import type { Slice } from './state.js'

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
  /** How often it was taken up. */
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

/** Which jobs are meant. */
export interface JobFilter {
  readonly kind?: EventKind
  readonly enriched?: boolean
}

/** Which deliveries are meant. */
export interface DeliveryFilter {
  readonly jobId?: string
  readonly state?: Delivery['state']
}

/** Secrets that sign what a workspace delivers, newest first: after a rotation the old one lives on for a day. */
export interface SigningSecret {
  readonly secret: string
  /** Engine time until which it signs; null for the current one. */
  readonly until: number | null
}

/** Records with an ordinal above `after` and up to `last`, of one status if it is named, without the first `skip`. */
export interface RecordRange {
  readonly after: number
  readonly last?: number
  readonly status?: JobRecord['status']
  readonly skip?: number
}

/** Questions about accepted work. */
export interface JobReads {
  job(workspaceId: string, id: string): Awaitable<AsyncJob | undefined>
  jobs(workspaceId: string, filter: JobFilter, slice: Slice): Awaitable<readonly AsyncJob[]>
  countJobs(workspaceId: string, filter: JobFilter): Awaitable<number>
  /** Jobs that are not final, by state. */
  countUnfinished(workspaceId: string): Awaitable<{ readonly queued: number; readonly running: number }>
  /** Whether a job is queued, or running without a sign of life at a moment of real time. */
  isJobDue(realNow: number): Awaitable<boolean>
  /** Credits that a member's jobs hold. */
  heldBy(memberId: string): Awaitable<number>
  /** Records of a range in order, at most `limit`. */
  records(jobId: string, range: RecordRange, limit: number): Awaitable<readonly JobRecord[]>
  countRecords(jobId: string, status?: JobRecord['status']): Awaitable<number>
  enrichment(id: string): Awaitable<Enrichment | undefined>
  /** Those of a job, in order. */
  enrichments(jobId: string): Awaitable<readonly Enrichment[]>
  list(workspaceId: string, id: string): Awaitable<CompanyList | undefined>
  /** A list by its `network_list_id`. */
  listByNumber(workspaceId: string, networkListId: number): Awaitable<CompanyList | undefined>
  lists(workspaceId: string, slice: Slice): Awaitable<readonly CompanyList[]>
  countLists(workspaceId: string): Awaitable<number>
  /** Companies of a list behind an ordinal, at most `limit`. */
  listed(listId: string, after: number, limit: number): Awaitable<readonly ListedCompany[]>
  /** The accounts that a list's companies were found to be. */
  listedAccounts(listId: string): Awaitable<readonly string[]>
  delivery(workspaceId: string, id: string): Awaitable<Delivery | undefined>
  deliveries(workspaceId: string, filter: DeliveryFilter, limit: number): Awaitable<readonly Delivery[]>
  /** The last number among a job's deliveries, and whether one of them still waits for its first attempt. */
  deliveryQueue(jobId: string): Awaitable<{ readonly last: number; readonly open: boolean }>
  countDeliveries(workspaceId: string): Awaitable<Readonly<Record<Delivery['state'], number>>>
  /** When the next delivery is due, engine time; nothing when none is pending. */
  nextDue(): Awaitable<number | undefined>
  signingSecrets(workspaceId: string): Awaitable<readonly SigningSecret[]>
}

/** Changes to accepted work. */
export interface JobWrites {
  addJob(job: AsyncJob): Awaitable<void>
  /**
   * Takes up the oldest job that is queued or whose lease has run out, or the one named; nothing when there is none.
   * Nobody else gets it while the lease lasts.
   */
  claimJob(claim: {
    readonly token: string
    readonly realNow: number
    readonly leaseUntil: number
    readonly id?: string
  }): Awaitable<AsyncJob | undefined>
  /** The job as it is now, if this token still has it. */
  lockJob(id: string, token: string): Awaitable<AsyncJob | undefined>
  renewJob(id: string, token: string, leaseUntil: number): Awaitable<boolean>
  changeJob(id: string, change: JobChange): Awaitable<void>
  addRecords(jobId: string, records: readonly JobRecord[]): Awaitable<void>
  addEnrichments(enrichments: readonly Enrichment[]): Awaitable<void>
  addList(list: NewList): Awaitable<void>
  changeList(id: string, change: Pick<CompanyList, 'status' | 'updatedAt'>): Awaitable<void>
  setListed(listId: string, ordinal: number, accountId: string | null): Awaitable<void>
  addDeliveries(deliveries: readonly Delivery[]): Awaitable<void>
  /** Takes up the delivery that has been due for longest, of no url that is busy, and of one job alone if it is named. */
  claimDelivery(claim: {
    readonly token: string
    readonly now: number
    readonly realNow: number
    readonly leaseUntil: number
    readonly busy: readonly string[]
    readonly jobId?: string
  }): Awaitable<Delivery | undefined>
  /** Lets the first attempt of a job's next delivery be made. */
  releaseNext(jobId: string, dueAt: number): Awaitable<void>
  /** Ends the claim; answers whether it was still held by this token. */
  changeDelivery(id: string, token: string, change: DeliveryChange): Awaitable<boolean>
  /** Makes deliveries due again, from their first attempt on; answers how many. */
  replayDeliveries(workspaceId: string, ids: readonly string[], dueAt: number): Awaitable<number>
  setSigningSecrets(workspaceId: string, secrets: readonly SigningSecret[]): Awaitable<void>
}
