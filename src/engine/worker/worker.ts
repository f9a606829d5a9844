import { engineTime, leaseFrom } from '../clock.js'
import { runChunkWorker } from '../distributed/worker.js'
import { WorkerPool, type WorkKind } from '../jobs/pool.js'
import type { WorkerPorts } from '../jobs/progress.js'
import { type AsyncJob, type Delivery, type DueDeliveries, dueWork } from '../ports/ports.js'
import { attemptDeliveries, longestPauseMs, mostInARow } from './attempt-delivery.js'
import { runJob } from './run-job.js'

const jobsAtOnce = 4
const deliveriesAtOnce = 64
/** Most deliveries in progress, including those that wait for slow receivers. */
const mostDeliveries = 256
/** When an attempt gives up its slot, and when a URL counts as slow, in milliseconds. */
const slowMs = 1_000
const slowUrlMs = 2_000
/** An attempt may take longer than the caller of `stop` will wait. */
const stopMs = 10_000

/** Creates a worker; it does nothing until it is asked to. */
export const createWorker = (ports: WorkerPorts): Worker => new Worker(ports)

type Deliveries = readonly [Delivery, ...Delivery[]]

/** Does accepted work: some jobs and many deliveries at once. Any number of workers share a store. */
export class Worker {
  readonly #ports: WorkerPorts
  readonly #stopping = new AbortController()
  readonly #urls = new Urls(slowUrlMs)
  readonly #pools = new Set<{ wake(): void }>()
  readonly #under = new Set<Promise<unknown>>()
  #started = false
  #stopped: Promise<void> | undefined
  /** Set when `stop` gave up waiting: what still runs fails without a report, and other workers take it again. */
  #isGone = false
  #stopListening = () => {}

  constructor(ports: WorkerPorts) {
    this.#ports = ports
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
    this.#stopListening = this.#ports.store.onWork(() => this.wake())
    const never = () => false
    void this.#track(this.#run(this.#jobs(), never))
    void this.#track(this.#run(this.#deliveries(), never))
    void this.#track(this.#answer())
  }

  /** Takes part in distributed runs. */
  async #answer(): Promise<void> {
    const { rowCaller } = this.#ports
    const onTrouble = (error: unknown) => this.#trouble(error, undefined)
    if (rowCaller) await runChunkWorker({ ...this.#ports, rowCaller, onTrouble }, this.#stopping.signal)
  }

  /** Signals that something may be due now. */
  wake(): void {
    for (const pool of this.#pools) pool.wake()
  }

  /** Lets running steps end, for 10 s by default, and takes no new work. */
  stop(patienceMs = stopMs): Promise<void> {
    this.#stopped ??= this.#stop(patienceMs)
    return this.#stopped
  }

  async #stop(patienceMs: number): Promise<void> {
    this.#stopping.abort()
    this.#stopListening()
    this.wake()
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs)
    })
    await Promise.race([Promise.allSettled([...this.#under]), patience])
    clearTimeout(timer)
    this.#isGone = true
  }

  async #finish(
    jobId: string,
    onStep?: (job: AsyncJob) => void,
    owner?: string,
  ): Promise<AsyncJob | undefined> {
    const job = await this.#takeJob(jobId, owner)
    if (!job) return undefined
    let isOver = false
    const pool = this.#deliveries(jobId)
    const deliver = () => this.#run(pool, () => isOver)
    const delivering = job.streaming ? deliver() : undefined
    try {
      return await runJob(this.#ports, job, this.#stopping.signal, (step) => {
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
    const kind: WorkKind<AsyncJob> = {
      take: () => this.#takeJob(),
      work: async (job) => {
        await runJob(this.#ports, job, this.#stopping.signal, ({ streaming, state }) => {
          if (streaming || state !== 'running') this.wake()
        })
      },
      atOnce: jobsAtOnce,
      onTrouble: (error) => this.#trouble(error, troubles),
    }
    return new WorkerPool(kind, this.#stopping.signal)
  }

  #deliveries(jobId?: string, troubles?: unknown[]): WorkerPool<Deliveries> {
    const kind: WorkKind<Deliveries> = {
      take: () => this.#takeDeliveries(jobId),
      work: (row) =>
        this.#urls.during(row[0].url, () => attemptDeliveries(this.#ports, row, this.#stopping.signal)),
      ...{ atOnce: deliveriesAtOnce, most: mostDeliveries, slowMs },
      onTrouble: (error) => this.#trouble(error, troubles),
    }
    return new WorkerPool(kind, this.#stopping.signal)
  }

  #trouble(error: unknown, troubles: unknown[] | undefined): void {
    troubles?.push(error)
    if (!this.#isGone) this.#ports.onTrouble?.(error)
  }

  async #takeJob(id?: string, owner?: string): Promise<AsyncJob | undefined> {
    const { store, ids } = this.#ports
    if (owner === undefined && !(await store.read((reads) => reads.isJobDue(leaseFrom(this.#ports)))))
      return undefined
    const fresh = ids.uuid()
    const claim = {
      ...(owner === undefined ? { token: fresh } : { token: `${owner} ${fresh}`, owner }),
      ...(id === undefined ? {} : { id }),
    }
    return await store.transaction((tx) => tx.claimJob({ ...claim, ...leaseFrom(this.#ports) }), dueWork)
  }

  /** Takes a due delivery, with those that may follow once its first attempt was made. */
  async #takeDeliveries(jobId?: string): Promise<Deliveries | undefined> {
    const { store, clock, ids, sender } = this.#ports
    if (!sender) return undefined
    const busy = this.#urls.busy()
    const token = ids.uuid()
    const dueAt = (engineNow: number): DueDeliveries => ({
      ...leaseFrom(this.#ports),
      ...{ now: engineNow, farthest: engineNow + longestPauseMs, busy },
      ...(jobId === undefined ? {} : { jobId }),
    })
    const isDue = await store.read(async (reads) =>
      reads.isDeliveryDue(dueAt(engineTime(await reads.clock(), clock.now()))),
    )
    if (!isDue) return undefined
    return await store.transaction(async (tx): Promise<Deliveries | undefined> => {
      const now = engineTime(await tx.clock(), clock.now())
      const head = await tx.claimDelivery({ ...dueAt(now), token })
      if (!head) return undefined
      return head.attempts > 0 ? [head] : [head, ...(await tx.waitingDeliveries(head.jobId, mostInARow - 1))]
    }, dueWork)
  }
}

/** Series of attempts at one URL at a time, so that a slow receiver does not take all slots. */
const rowsPerUrl = 4

/** Tracks how busy the URLs of deliveries are. A slow one takes one series at a time until it is quick again. */
export class Urls {
  readonly #slowMs: number
  readonly #rows = new Map<string, number>()
  readonly #slow = new Set<string>()

  constructor(slowMs: number) {
    this.#slowMs = slowMs
  }

  /** Returns the URLs that take nothing more for now. */
  busy(): string[] {
    const isBusy = ([url, rows]: [string, number]) => rows >= (this.#slow.has(url) ? 1 : rowsPerUrl)
    return [...this.#rows].filter(isBusy).map(([url]) => url)
  }

  /** Runs a series of attempts at a URL, and measures it. */
  async during(url: string, send: () => Promise<void>): Promise<void> {
    this.#count(url, 1)
    const late = setTimeout(() => this.#slow.add(url), this.#slowMs)
    const began = performance.now()
    try {
      await send()
    } finally {
      clearTimeout(late)
      if (performance.now() - began < this.#slowMs) this.#slow.delete(url)
      this.#count(url, -1)
    }
  }

  #count(url: string, change: number): void {
    const rows = (this.#rows.get(url) ?? 0) + change
    if (rows > 0) this.#rows.set(url, rows)
    else this.#rows.delete(url)
  }
}
