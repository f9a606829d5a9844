import type { AsyncJob, Delivery } from './ports.js'
import { attemptDelivery, deliveryLeaseMs } from './post.js'
import type { WorkerPorts } from './progress.js'
import { leaseMs, runJob } from './run-job.js'
import { engineTime } from './time.js'

/** Does accepted work: jobs one after the other, deliveries many at once. Any number of workers share a store. */
export interface Worker {
  /** Takes one job to its end unless somebody else is at it, and makes the first attempt of its deliveries. */
  finish(jobId: string, onStep?: (job: AsyncJob) => void): Promise<AsyncJob | undefined>
  /** Does whatever is due now; answers how much that was. */
  drain(): Promise<{ readonly jobs: number; readonly deliveries: number }>
  /** Looks for work until it is stopped. */
  start(): void
  /** Something may be due now. */
  wake(): void
  /** Lets what is under way end its step, and takes up nothing else. */
  stop(): Promise<void>
}

/** How often work of other processes is looked for, in milliseconds. */
const usualPauseMs = 1_000
const deliveriesAtOnce = 64
/** Attempts at one url at a time, so that a slow receiver does not take all places. */
const attemptsPerUrl = 4

/** Makes a worker; it does nothing until it is asked to. */
export function createWorker(ports: WorkerPorts): Worker {
  return new Working(ports)
}

class Working implements Worker {
  readonly #ports: WorkerPorts
  readonly #stopping = new AbortController()
  readonly #busy = new Map<string, number>()
  readonly #alarms = [new Alarm(), new Alarm()] as const
  #loops: Promise<void>[] = []

  constructor(ports: WorkerPorts) {
    this.#ports = ports
  }

  async finish(jobId: string, onStep?: (job: AsyncJob) => void): Promise<AsyncJob | undefined> {
    const job = await this.#takeJob(jobId)
    const ended = job && (await runJob(this.#ports, job, this.#stopping.signal, onStep))
    if (ended && ended.state !== 'running') await this.#deliverAll(jobId)
    return ended
  }

  async drain(): Promise<{ jobs: number; deliveries: number }> {
    let jobs = 0
    for (let job = await this.#takeJob(); job; job = await this.#takeJob()) {
      await runJob(this.#ports, job, this.#stopping.signal)
      jobs++
    }
    return { jobs, deliveries: await this.#deliverAll() }
  }

  start(): void {
    if (this.#loops.length === 0) this.#loops = [this.#runJobs(), this.#deliver()]
  }

  wake(): void {
    for (const alarm of this.#alarms) alarm.ring()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await Promise.all(this.#loops)
  }

  async #runJobs(): Promise<void> {
    const [alarm] = this.#alarms
    while (!this.#stopping.signal.aborted) {
      const job = await this.#quietly(() => this.#takeJob())
      if (job) {
        await this.#quietly(() => runJob(this.#ports, job, this.#stopping.signal))
        // What it left to deliver is due.
        this.wake()
      } else await alarm.rung(usualPauseMs)
    }
  }

  async #deliver(): Promise<void> {
    const [, alarm] = this.#alarms
    const under = new Set<Promise<unknown>>()
    while (!this.#stopping.signal.aborted) {
      const delivery =
        under.size < deliveriesAtOnce ? await this.#quietly(() => this.#takeDelivery()) : undefined
      if (delivery) {
        const attempt = this.#quietly(() => this.#attempt(delivery)).finally(() => {
          under.delete(attempt)
          alarm.ring()
        })
        under.add(attempt)
      } else await alarm.rung(usualPauseMs)
    }
    await Promise.all(under)
  }

  /** Attempts what is due now, of one job alone if it is named. */
  async #deliverAll(jobId?: string): Promise<number> {
    let attempts = 0
    const one = async () => {
      for (let next = await this.#takeDelivery(jobId); next; next = await this.#takeDelivery(jobId)) {
        attempts++
        await this.#attempt(next)
      }
    }
    await Promise.all(Array.from({ length: jobId === undefined ? deliveriesAtOnce : 1 }, one))
    return attempts
  }

  async #takeJob(id?: string): Promise<AsyncJob | undefined> {
    const { store, clock, ids } = this.#ports
    const realNow = clock.now()
    if (!(await store.read((reads) => reads.isJobDue(realNow)))) return undefined
    const claim = { token: ids.uuid(), realNow, leaseUntil: realNow + leaseMs }
    return await store.transaction((tx) => tx.claimJob(id === undefined ? claim : { ...claim, id }))
  }

  async #takeDelivery(jobId?: string): Promise<Delivery | undefined> {
    const { store, clock, ids, sender } = this.#ports
    if (!sender || this.#stopping.signal.aborted) return undefined
    const busy = [...this.#busy].filter(([, count]) => count >= attemptsPerUrl).map(([url]) => url)
    const realNow = clock.now()
    const claim = { token: ids.uuid(), realNow, leaseUntil: realNow + deliveryLeaseMs, busy }
    const { due = Number.POSITIVE_INFINITY, now } = await store.read(async (reads) => ({
      due: await reads.nextDue(),
      now: engineTime(await reads.clock(), realNow),
    }))
    if (due > now) return undefined
    const chosen = { ...claim, now, ...(jobId === undefined ? {} : { jobId }) }
    const delivery = await store.transaction((tx) => tx.claimDelivery(chosen))
    if (delivery) this.#count(delivery.url, 1)
    return delivery
  }

  async #attempt(delivery: Delivery): Promise<void> {
    try {
      await attemptDelivery(this.#ports, delivery)
    } finally {
      this.#count(delivery.url, -1)
    }
  }

  #count(url: string, change: number): void {
    const count = (this.#busy.get(url) ?? 0) + change
    if (count > 0) this.#busy.set(url, count)
    else this.#busy.delete(url)
  }

  /** What fails now is tried again later: its lease runs out. */
  async #quietly<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#ports.onTrouble?.(error)
      return undefined
    }
  }
}

/** Wakes a loop; one that rings while nobody sleeps is heard by whoever lies down next. */
class Alarm {
  #isRinging = false
  #wake: () => void = () => {}

  ring(): void {
    this.#isRinging = true
    this.#wake()
  }

  /** Resolves when it rings, or after the time. */
  async rung(ms: number): Promise<void> {
    if (!this.#isRinging)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#isRinging = false
  }
}
