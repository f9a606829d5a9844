import type { EventKind } from '../../api/webhooks/events.js'
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
import type { Awaitable, Slice } from './state.js'

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

/** Reads of accepted work. */
export interface JobReads {
  job(workspaceId: string, id: string): Awaitable<AsyncJob | undefined>
  jobs(workspaceId: string, filter: JobFilter, slice: Slice): Awaitable<readonly AsyncJob[]>
  countJobs(workspaceId: string, filter: JobFilter): Awaitable<number>
  /** Number of jobs that have not ended, by state. */
  countUnfinished(workspaceId: string): Awaitable<{ readonly queued: number; readonly running: number }>
  /** Returns whether a job is queued, or running with an expired lease. */
  isJobDue(lease: Lease): Awaitable<boolean>
  /** Credits that a job held when it was accepted; `undefined` when it held none. */
  heldFor(workspaceId: string, jobId: string): Awaitable<number | undefined>
  /** Credits that a member's jobs hold. */
  heldBy(memberId: string): Awaitable<number>
  /** Records of a range in order, at most `limit`. */
  records(jobId: string, range: RecordRange, limit: number): Awaitable<readonly JobRecord[]>
  countRecords(jobId: string, status?: JobRecord['status']): Awaitable<number>
  enrichment(id: string): Awaitable<Enrichment | undefined>
  /** Enrichments of a job, in order. */
  enrichments(jobId: string): Awaitable<readonly Enrichment[]>
  list(workspaceId: string, id: string): Awaitable<CompanyList | undefined>
  /** A list by its `network_list_id`. */
  listByNumber(workspaceId: string, networkListId: number): Awaitable<CompanyList | undefined>
  lists(workspaceId: string, slice: Slice): Awaitable<readonly CompanyList[]>
  countLists(workspaceId: string): Awaitable<number>
  /** Companies of a list after an ordinal, without the first `skip`, at most `limit`. */
  listed(listId: string, after: number, limit: number, skip?: number): Awaitable<readonly ListedCompany[]>
  countListed(listId: string): Awaitable<number>
  /** The accounts that a list's companies were matched to. */
  listedAccounts(listId: string): Awaitable<readonly string[]>
  delivery(workspaceId: string, id: string): Awaitable<Delivery | undefined>
  deliveries(workspaceId: string, filter: DeliveryFilter, limit: number): Awaitable<readonly Delivery[]>
  /** The last sequence number of a job's deliveries, and whether a first attempt is due or in progress. */
  deliveryQueue(jobId: string): Awaitable<{ readonly last: number; readonly open: boolean }>
  countDeliveries(workspaceId: string): Awaitable<Readonly<Record<Delivery['state'], number>>>
  isDeliveryDue(due: DueDeliveries): Awaitable<boolean>
  /** The first deliveries of a job that wait for the first attempt of their predecessor, in order. */
  waitingDeliveries(jobId: string, limit: number): Awaitable<readonly Delivery[]>
  signingSecrets(workspaceId: string): Awaitable<readonly SigningSecret[]>
}

/** How many rows were deleted. */
export interface Dropped {
  readonly jobs: number
  readonly records: number
  readonly contacts: number
  readonly deliveries: number
}

/** Writes of accepted work. */
export interface JobWrites {
  /** Takes all jobs from the workers that run them, and drops distributed rows; returns how many jobs. */
  releaseJobs(): Awaitable<number>
  /**
   * Drops the oldest jobs that ended before a moment of engine time, at most `limit`, with their records, contacts and
   * deliveries. Those whose deliveries are not all made stay, and so do the imports of lists.
   */
  dropJobs(before: number, limit: number): Awaitable<Dropped>
  /** Drops a job with its records, contacts and deliveries. */
  dropJob(id: string): Awaitable<void>
  /** Drops all replies to the rows of a run, of every workspace; returns how many. */
  dropRepliesOfRun(run: string): Awaitable<number>
  addJob(job: AsyncJob): Awaitable<void>
  /**
   * Takes a job that is queued or whose lease expired: the given one, or the oldest of the first workspace whose id
   * follows `after`, and of all workspaces when none does; `undefined` when there is none.
   * No other process gets it while the lease lasts. A lease longer than any possible one is from before the clock went
   * back, and does not count. A lease does not keep out its own `owner`, the first word of the token.
   */
  claimJob(
    claim: Lease & {
      readonly token: string
      readonly id?: string
      readonly owner?: string
      readonly after?: string
    },
  ): Awaitable<AsyncJob | undefined>
  /** Locks and returns the job, if this token still has it. */
  lockJob(id: string, token: string): Awaitable<AsyncJob | undefined>
  /** Locks and returns a job of a workspace, whether or not a worker has it. */
  lockJobOf(workspaceId: string, id: string): Awaitable<AsyncJob | undefined>
  renewJob(id: string, token: string, leaseUntil: number): Awaitable<boolean>
  changeJob(id: string, change: JobChange): Awaitable<void>
  addRecords(jobId: string, records: readonly JobRecord[]): Awaitable<void>
  addEnrichments(enrichments: readonly Enrichment[]): Awaitable<void>
  addList(list: NewList): Awaitable<void>
  changeList(id: string, change: Partial<Pick<CompanyList, 'name' | 'status' | 'updatedAt'>>): Awaitable<void>
  setListed(listId: string, ordinal: number, accountId: string | null): Awaitable<void>
  addDeliveries(deliveries: readonly Delivery[]): Awaitable<void>
  /** Takes the delivery that has been due for longest. */
  claimDelivery(claim: DueDeliveries & { readonly token: string }): Awaitable<Delivery | undefined>
  /** Makes the next delivery of a job due, unless another first attempt is due or in progress. */
  releaseNext(jobId: string, dueAt: number): Awaitable<void>
  /** Ends the claim on a pending delivery. Returns whether this token had it, or none. */
  changeDelivery(id: string, token: string | null, change: DeliveryChange): Awaitable<boolean>
  /**
   * Makes ended deliveries due again, starting with their first attempt, those of a job one after the other. Returns
   * how many.
   */
  replayDeliveries(workspaceId: string, ids: readonly string[], dueAt: number): Awaitable<number>
  setSigningSecrets(workspaceId: string, secrets: readonly SigningSecret[]): Awaitable<void>
}
