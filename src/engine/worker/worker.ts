import { ApiError } from '../../api/calls/errors.js'
import { isUnreachable } from '../../api/calls/retry.js'
import { isPriced } from '../../api/operations/facts.js'
import type { FoundLead, Lead } from '../../api/ports/ports.js'
import { networkOrigin } from '../../api/values/url.js'
import { type Connection, dueWork } from '../../storage/driver/connection.js'
import { leaseMsOf, readEngineTime, startHeartbeat } from '../clock.js'
import type { Used } from '../credits/cost.js'
import { outsideOf, runWaterfall, toContactRecord } from '../handlers/waterfall.js'
import { WorkerPool, type WorkKind } from '../jobs/pool.js'
import {
  fail,
  type JobStep,
  keepStep,
  LeaseLost,
  operationOfJob,
  type WorkerPorts,
} from '../jobs/progress.js'
import {
  claimDelivery,
  type Delivery,
  type DueDeliveries,
  isDeliveryDue,
  listWaitingDeliveries,
  maxPauseMs,
} from '../tables/deliveries.js'
import {
  type AsyncJob,
  claimJob,
  hasJob,
  isJobDue,
  type JobPlan,
  listEnrichments,
  renewJob,
  updateJob,
} from '../tables/jobs.js'
import { listCompanies, setMatchedAccount, updateList } from '../tables/lists.js'
import { openSuppressor } from '../tables/members.js'
import { attemptDeliveries, maxInARow } from './attempt-delivery.js'

const jobsAtOnce = 4
/** How long a job is worked on before those of other workspaces have their turn, in milliseconds. */
const turnMs = 1_000
const usualDeliveries = 512
/** When a URL counts as slow, in milliseconds. */
const slowUrlMs = 2_000
/** An attempt may take longer than the caller of `stop` will wait. */
const stopMs = 10_000

/** Creates a worker; it does nothing until it is asked to. */
export const createWorker = (ports: WorkerPorts): Worker => new Worker(ports)

type Deliveries = readonly [Delivery, ...Delivery[]]

/** Does accepted work: some jobs and many deliveries at once. Any number of workers share a store. */
export class Worker {
  readonly #stopping = new AbortController()
  readonly #deliveriesAtOnce: number
  readonly #inProgress: InProgress
  readonly #pools = new Set<{ wake(): void }>()
  readonly #under = new Set<Promise<unknown>>()
  /** Id of the workspace whose job was taken last. The next job is one of another workspace, if there is any. */
  #lastWorkspace = ''
  #started = false
  #stopped: Promise<void> | undefined
  /** Set when `stop` gave up waiting: what still runs fails without a report, and other workers take it again. */
  #isGone = false
  #stopListening = () => {}

  constructor(private readonly ports: WorkerPorts) {
    this.#deliveriesAtOnce = ports.deliveriesAtOnce ?? usualDeliveries
    this.#inProgress = new InProgress(this.#deliveriesAtOnce)
  }

  /**
   * Runs one job to its end unless another process has it, and makes the first attempt of its deliveries: during the
   * work when it streams, otherwise afterwards. Returns the job at its end, or as it stood when the worker was
   * stopped. An `owner` (a word) does not wait for its own earlier lease; the caller guarantees that no other owner
   * of the name is alive.
   */
  finish(jobId: string, onStep?: (job: AsyncJob) => void, owner?: string): Promise<AsyncJob | undefined> {
    return this.#track(this.#finish(jobId, onStep, owner))
  }

  /** Does everything that is due now. Returns how much that was. */
  drain(): Promise<{ jobs: number; deliveries: number }> {
    return this.#track(this.#drain())
  }

  /** Polls for work until it is stopped. */
  start(): void {
    if (this.#started) return
    this.#started = true
    this.#stopListening = this.ports.store.onWork(() => this.wake())
    const never = () => false
    void this.#track(this.#run(this.#jobs(), never))
    void this.#track(this.#run(this.#deliveries(), never))
  }

  /** Signals that something may be due now. */
  wake(): void {
    for (const pool of this.#pools) pool.wake()
  }

  /** Lets running steps end, for 10 s by default, and takes no new work. */
  stop(timeoutMs = stopMs): Promise<void> {
    this.#stopped ??= this.#stop(timeoutMs)
    return this.#stopped
  }

  async #stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort()
    this.#stopListening()
    this.wake()
    const { promise: patience, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    await Promise.race([Promise.allSettled([...this.#under]), patience])
    clearTimeout(timer)
    this.#isGone = true
  }

  async #finish(jobId: string, onStep?: (job: AsyncJob) => void, owner?: string) {
    const job = await this.#takeJob(jobId, owner)
    if (!job) return undefined
    let isOver = false
    const pool = this.#deliveries(jobId)
    const deliver = () => this.#run(pool, () => isOver)
    const delivering = job.streaming ? deliver() : undefined
    try {
      return await runJob(this.ports, job, this.#stopping.signal, (step) => {
        onStep?.(step)
        pool.wake()
      })
    } finally {
      isOver = true
      pool.wake()
      await (delivering ?? deliver())
    }
  }

  async #drain(): Promise<{ jobs: number; deliveries: number }> {
    const troubles: unknown[] = []
    const pools = [this.#jobs(troubles), this.#deliveries(undefined, troubles)] as const
    const jobs = await this.#run(pools[0], () => true)
    const deliveries = await this.#run(pools[1], () => true)
    if (troubles.length > 0) throw troubles[0]
    return { jobs, deliveries }
  }

  async #run<T>(pool: WorkerPool<T>, isOver: () => boolean): Promise<number> {
    this.#pools.add(pool)
    try {
      return await pool.run(isOver)
    } finally {
      this.#pools.delete(pool)
    }
  }

  /** Registers work that `stop` has to wait for. */
  #track<T>(work: Promise<T>): Promise<T> {
    this.#under.add(work)
    const done = () => void this.#under.delete(work)
    work.then(done, done)
    return work
  }

  #jobs(troubles?: unknown[]): WorkerPool<AsyncJob> {
    const onStep = ({ streaming, state }: AsyncJob) => {
      if (streaming || state !== 'running') this.wake()
    }
    return this.#poolOf(troubles, {
      take: () => this.#takeJob(),
      work: async (job) => {
        await runJob(this.ports, job, this.#stopping.signal, onStep, troubles ? undefined : turnMs)
        return undefined
      },
      atOnce: jobsAtOnce,
    })
  }

  #deliveries(jobId?: string, troubles?: unknown[]): WorkerPool<Deliveries> {
    return this.#poolOf(troubles, {
      take: () => this.#takeDeliveries(jobId),
      work: (row) =>
        this.#inProgress.during(row[0], () => attemptDeliveries(this.ports, row, this.#stopping.signal)),
      atOnce: this.#deliveriesAtOnce,
    })
  }

  #poolOf<T>(troubles: unknown[] | undefined, kind: Omit<WorkKind<T>, 'onTrouble'>): WorkerPool<T> {
    const onTrouble = (error: unknown) => this.#trouble(error, troubles)
    return new WorkerPool({ ...kind, onTrouble }, this.#stopping.signal)
  }

  #trouble(error: unknown, troubles: unknown[] | undefined): void {
    troubles?.push(error)
    if (!this.#isGone) this.ports.onTrouble?.(error)
  }

  async #takeJob(id?: string, owner?: string): Promise<AsyncJob | undefined> {
    const { store, ids } = this.ports
    if (owner === undefined && !(await store.read((tx) => isJobDue(tx, leaseMsOf(this.ports)))))
      return undefined
    const fresh = ids.uuid()
    const claim = {
      ...(owner === undefined ? { token: fresh } : { token: `${owner} ${fresh}`, owner }),
      ...(id === undefined ? { after: this.#lastWorkspace } : { id }),
    }
    const job = await store.transaction(
      (tx) => claimJob(tx, { ...claim, leaseMs: leaseMsOf(this.ports) }),
      dueWork,
    )
    if (job && id === undefined) this.#lastWorkspace = job.workspaceId
    return job
  }

  /** Takes a due delivery, with those that may follow once its first attempt was made. */
  async #takeDeliveries(jobId?: string): Promise<Deliveries | undefined> {
    const { store, clock, ids, sender } = this.ports
    if (!sender) return undefined
    const busy = this.#inProgress.busy()
    const token = ids.uuid()
    const dueAt = (engineNow: number): DueDeliveries => ({
      leaseMs: leaseMsOf(this.ports),
      now: engineNow,
      farthest: engineNow + maxPauseMs,
      ...busy,
      ...(jobId === undefined ? {} : { jobId }),
    })
    const isDue = await store.read(async (tx) => isDeliveryDue(tx, dueAt(await readEngineTime(tx, clock))))
    if (!isDue) return undefined
    return await store.transaction(async (tx): Promise<Deliveries | undefined> => {
      const now = await readEngineTime(tx, clock)
      const head = await claimDelivery(tx, { ...dueAt(now), token })
      if (!head) return undefined
      return head.attempts > 0
        ? [head]
        : [head, ...(await listWaitingDeliveries(tx, head.jobId, maxInARow - 1))]
    }, dueWork)
  }
}

/** Series of attempts at one URL at a time, so that a slow receiver does not take all slots. */
const rowsPerUrl = 4

/** Tracks deliveries in progress: a slow URL takes one series at a time, and a workspace no more than it leaves free. */
class InProgress {
  readonly #running = new Set<Delivery>()
  readonly #slowUrls = new Set<string>()

  constructor(private readonly atOnce: number) {}

  /** Returns what takes nothing more for now. */
  busy(): Required<Pick<DueDeliveries, 'busy' | 'busyWorkspaces'>> {
    const urls = Map.groupBy(this.#running, ({ url }) => url)
    const workspaces = Map.groupBy(this.#running, ({ workspaceId }) => workspaceId)
    const free = this.atOnce - this.#running.size
    return {
      busy: namesWith(urls, (url) => (this.#slowUrls.has(url) ? 1 : rowsPerUrl)),
      busyWorkspaces: namesWith(workspaces, () => free),
    }
  }

  /** Runs a series of attempts, and measures it. */
  async during<T>(first: Delivery, send: () => Promise<T>): Promise<T> {
    const { url } = first
    const began = performance.now()
    this.#running.add(first)
    const slow = setTimeout(() => this.#slowUrls.add(url), slowUrlMs)
    try {
      return await send()
    } finally {
      clearTimeout(slow)
      if (performance.now() - began < slowUrlMs) this.#slowUrls.delete(url)
      this.#running.delete(first)
    }
  }
}

/** Returns the names of groups that have as many members as they may. */
const namesWith = (groups: ReadonlyMap<string, readonly unknown[]>, most: (name: string) => number) =>
  [...groups].filter(([name, { length }]) => length >= most(name)).map(([name]) => name)

/** A job that this many processes died with before it made progress is not taken again; it may not be to blame. */
const maxAttempts = 10

/**
 * Runs a claimed job to its end, one transaction a step. Returns the job at its end, or as it stood when `signal` aborted or
 * its turn of so many milliseconds was over; `undefined` when another process took it over. Rejects when store or source
 * cannot be reached: the job is taken again when its lease has expired.
 */
export async function runJob(
  ports: WorkerPorts,
  claimed: AsyncJob,
  signal?: AbortSignal,
  onStep: (job: AsyncJob) => void = () => {},
  turnMs = Number.POSITIVE_INFINITY,
): Promise<AsyncJob | undefined> {
  const turnEnds = performance.now() + turnMs
  const isOver = () => signal?.aborted || performance.now() >= turnEnds
  const { id, token, workspaceId } = claimed
  const heartbeat = startHeartbeat(leaseMsOf(ports) / 3, () =>
    ports.store.transaction((tx) => renewJob(tx, id, token ?? '', leaseMsOf(ports)), workspaceId),
  )
  const report = (job: AsyncJob): AsyncJob => {
    try {
      onStep(job)
    } catch (error) {
      // An error of the observer must not fail the job.
      ports.onTrouble?.(error)
    }
    return job
  }
  try {
    const job = signal?.aborted ? claimed : await runSteps(ports, claimed, isOver, report)
    if (job.state === 'running') await returnJob(ports, job, 0)
    return job
  } catch (error) {
    if (error instanceof LeaseLost) return undefined
    // The job is not at fault.
    await returnJob(ports, claimed, leaseMsOf(ports)).catch(() => undefined)
    throw error
  } finally {
    clearInterval(heartbeat)
  }
}

async function runSteps(
  ports: WorkerPorts,
  claimed: AsyncJob,
  isOver: () => boolean | undefined,
  report: (job: AsyncJob) => AsyncJob,
): Promise<AsyncJob> {
  const end = async (error: string) => report(await fail(ports, claimed, error))
  if (claimed.attempts > maxAttempts) return await end('It stopped its process repeatedly')
  let job = claimed
  try {
    do {
      job = report(await keepStep(ports, job, await doStep(ports, job)))
    } while (job.state === 'running' && !isOver())
    return job
  } catch (error) {
    if (error instanceof LeaseLost || isUnreachable(error)) throw error
    if (!(error instanceof ApiError)) ports.onTrouble?.(error)
    return await end(error instanceof ApiError ? error.message : 'Internal error')
  }
}

/** Returns the job to the queue, after a while; the attempt does not count. */
const returnJob = ({ store }: WorkerPorts, { id, token, workspaceId }: AsyncJob, ms: number): Promise<void> =>
  store.transaction(async (tx) => {
    if (await renewJob(tx, id, token ?? '', ms)) await updateJob(tx, id, { attempts: 0 })
  }, workspaceId)

async function doStep(given: WorkerPorts, job: AsyncJob): Promise<JobStep> {
  const { plan } = job
  const suppressor = await openSuppressor(given.store, job.workspaceId)
  const { source, vendors } = given
  const others = vendors && suppressor?.vendors(vendors, source)
  const ports = suppressor ? { ...given, source: suppressor.source(source), vendors: others } : given
  if (plan.does === 'search') return searchStep(ports, job, plan)
  return plan.does === 'waterfall' ? waterfallStep(ports, job, plan) : listStep(ports, job)
}

/**
 * Reads what a job is about. A standby that stands in while there is no primary may lag behind: if it has not seen who took the
 * job, it may lack a part of it, and a step that finds nothing there would end the job.
 */
const readFor = <T>(
  store: WorkerPorts['store'],
  { id, token }: AsyncJob,
  read: (tx: Connection) => Promise<T>,
): Promise<T> =>
  store.read(async (tx) => {
    if (!(await hasJob(tx, id, token ?? ''))) throw new LeaseLost()
    return read(tx)
  })

const recordsPerStep = 100

async function searchStep(
  { source }: WorkerPorts,
  job: AsyncJob,
  { search, scale }: Extract<JobPlan, { does: 'search' }>,
): Promise<JobStep> {
  if (search === null) return { records: [], place: null, ended: true }
  const left = (job.most ?? Number.POSITIVE_INFINITY) - job.done
  const limit = Math.min(recordsPerStep, left)
  const span = { limit, after: job.place ?? undefined, now: job.createdAt }
  const { records, next } = await source.find(search, span)
  const isPaid = isPriced(operationOfJob(job))
  return {
    records: records.map((record) => ('lead' in record ? toLead(record, scale) : record)),
    ...(isPaid ? { used: records.map((): Used => ({ company: 1 })) } : {}),
    place: next ?? null,
    ended: next === undefined || records.length >= left,
  }
}

/** Returns a lead as delivered. With `scale` it has fewer fields, and the user id in its profile URL. */
function toLead({ lead, company, network_id }: FoundLead, scale: boolean): Lead {
  if (!scale) return { lead, company }
  const { connections_count: _, headline: __, ...rest } = lead
  const url = network_id === null ? rest.network_profile_url : `${networkOrigin}/in/${network_id}`
  return { lead: { ...rest, network_profile_url: url }, company }
}

const contactsPerStep = 20

async function waterfallStep(
  { source, store, vendors }: WorkerPorts,
  job: AsyncJob,
  { ask, contacts }: Extract<JobPlan, { does: 'waterfall' }>,
): Promise<JobStep> {
  const enrichments = await readFor(store, job, (tx) => listEnrichments(tx, job.id))
  const providers = await source.providers()
  const { workspaceId, memberId } = job
  const outside = await outsideOf(
    vendors,
    { ...(ask.vendors ?? { run: job.id }), workspaceId, memberId },
    source,
  )
  // Vendors are asked about many at once, and their answers are kept as they come.
  const next = contacts.slice(job.done, job.done + (outside ? contacts.length : contactsPerStep))
  const found = await Promise.all(next.map((contact) => runWaterfall(providers, contact, ask, outside)))
  return {
    records: found.flatMap((result, at) => {
      const enrichment = enrichments[job.done + at]
      return enrichment ? [toContactRecord(operationOfJob(job), result, enrichment)] : []
    }),
    used: found.map(({ used }) => used),
    place: null,
    ended: job.done + next.length >= contacts.length,
  }
}

const companiesPerStep = 500
/** Companies that are looked for in one turn of the event loop. */
const companiesAtOnce = 50

async function listStep({ source, store }: WorkerPorts, job: AsyncJob): Promise<JobStep> {
  const listed = await readFor(store, job, (tx) => listCompanies(tx, job.id, job.done, companiesPerStep))
  const accounts: Awaited<ReturnType<WorkerPorts['source']['company']>>[] = []
  for (let from = 0; from < listed.length; from += companiesAtOnce) {
    const some = listed.slice(from, from + companiesAtOnce)
    accounts.push(...(await Promise.all(some.map(({ company }) => source.company(company)))))
  }
  const ended = listed.length < companiesPerStep
  return {
    records: [],
    done: job.done + listed.length,
    place: null,
    ended,
    also: async (tx, now) => {
      for (const [at, { ordinal }] of listed.entries())
        await setMatchedAccount(tx, job.id, ordinal, accounts[at]?.id ?? null)
      if (ended) await updateList(tx, job.id, { status: 'completed', updated_at: now })
    },
  }
}
