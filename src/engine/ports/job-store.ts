import type { EventKind } from '../../api/webhooks/events.js'
import type { Awaitable } from './awaitable.js'
import type {
  AsyncJob,
  CompanyList,
  Delivery,
  DeliveryChange,
  Enrichment,
  JobChange,
  JobRecord,
  JobState,
  ListedCompany,
  NewList,
} from './job.js'
import type { Slice } from './state.js'

/** Which jobs are meant. */
export interface JobFilter {
  readonly kind?: EventKind
  readonly state?: JobState
  readonly enriched?: boolean
}

/** Which deliveries are meant. */
export interface DeliveryFilter {
  readonly jobId?: string
  readonly state?: Delivery['state']
}

/** Until when work belongs to whoever takes it up now, unless a sign of life comes; real time. */
export interface Lease {
  readonly realNow: number
  readonly leaseUntil: number
}

/** Which deliveries may be attempted. */
export interface DueDeliveries extends Lease {
  /** Engine time. First attempts that were allowed are due whatever it says. */
  readonly now: number
  /** Engine time that no pause reaches: what is due behind it was noted before the clock went back, and is due now. */
  readonly farthest: number
  /** Urls that take no more attempts for now. */
  readonly busy: readonly string[]
  /** Only first attempts of this job. */
  readonly jobId?: string
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
  /** Whether a job is queued, or running without a sign of life. */
  isJobDue(lease: Lease): Awaitable<boolean>
  /** Credits that a job held when it was accepted; nothing when it held none. */
  heldFor(workspaceId: string, jobId: string): Awaitable<number | undefined>
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
  /** The last number among a job's deliveries, and whether the first attempt of one of them is due or being made. */
  deliveryQueue(jobId: string): Awaitable<{ readonly last: number; readonly open: boolean }>
  countDeliveries(workspaceId: string): Awaitable<Readonly<Record<Delivery['state'], number>>>
  isDeliveryDue(due: DueDeliveries): Awaitable<boolean>
  /** The first deliveries of a job that wait for the first attempt of the one before, in order. */
  waitingDeliveries(jobId: string, limit: number): Awaitable<readonly Delivery[]>
  signingSecrets(workspaceId: string): Awaitable<readonly SigningSecret[]>
}

/** Changes to accepted work. */
export interface JobWrites {
  addJob(job: AsyncJob): Awaitable<void>
  /**
   * Takes up the oldest job that is queued or whose lease has run out, or the one named; nothing when there is none.
   * Nobody else gets it while the lease lasts; one that lasts longer than any is from before the clock went back. Nor
   * does a lease keep out its own `owner`, whose tokens begin with that word.
   */
  claimJob(
    claim: Lease & { readonly token: string; readonly id?: string; readonly owner?: string },
  ): Awaitable<AsyncJob | undefined>
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
  /** Takes up the delivery that has been due for longest. */
  claimDelivery(claim: DueDeliveries & { readonly token: string }): Awaitable<Delivery | undefined>
  /** Lets the first attempt of a job's next delivery be made, unless that of another one is due or being made. */
  releaseNext(jobId: string, dueAt: number): Awaitable<void>
  /** Ends the claim to a pending delivery; answers whether it was still held by this token, or by nobody. */
  changeDelivery(id: string, token: string | null, change: DeliveryChange): Awaitable<boolean>
  /**
   * Makes deliveries that ended due again, from their first attempt on, those of a job one after the other; answers how
   * many.
   */
  replayDeliveries(workspaceId: string, ids: readonly string[], dueAt: number): Awaitable<number>
  setSigningSecrets(workspaceId: string, secrets: readonly SigningSecret[]): Awaitable<void>
}
