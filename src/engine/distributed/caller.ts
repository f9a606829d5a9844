import type { Caller, CallOptions, Input, Reply } from '../../api/calls/caller.js'
import { ApiError, errorBody } from '../../api/calls/errors.js'
import { isPriced } from '../../api/operations/facts.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { Alarm } from '../jobs/pool.js'
import { maybeMade, outcomesOf, type Sent, tell, tellOpen, tellUnsent } from './batching.js'
import { type Came, isAnswer, readCame, stops } from './chunk.js'
import { type Bundle, RunTaken, SpreadRun, type SpreadRunPorts } from './lease.js'

/** How the rows of a run are spread over machines. */
export interface SpreadPorts extends SpreadRunPorts {
  /** Answers whatever is no row of the run. */
  readonly caller: Caller
  readonly operation: OperationId
  /** Rows of the run, and how many of them are under way at once. */
  readonly rows: number
  readonly atOnce: number
  /** The run is to end early: what nobody has begun is taken back, the rest is awaited for a while. */
  readonly signal?: AbortSignal
  /** What it asks for is done by workers even where no row is sent to them: they are counted all the same. */
  readonly watches?: boolean
  /** Told how many workers take part, now and then. */
  readonly onWorkers?: (workers: number) => void
}

/** Rows of one chunk at most; fewer where a run is small, so that several workers get some. */
const mostRows = 100
const chunksPerWorker = 4
const leastWorkers = 4
/** What is sent within so many milliseconds goes out together, and answers are looked for so often. */
const gatherMs = 5
const lookMs = 1_000
/** How long rows that somebody has begun are awaited when a run ends early. */
const patienceMs = 10_000

/** A caller whose rows are called by the workers of a shared database, and by nobody twice. */
export function spread(ports: SpreadPorts): Caller {
  const spreading = new Spreading(ports)
  const { caller } = ports
  return {
    ...caller,
    call: async (id, input, options = {}) => {
      if (id !== ports.operation || !options.row) return caller.call(id, input, options)
      return spreading.send(typeof input === 'function' ? await input() : input, options)
    },
    close: () => spreading.close(),
  }
}

class Spreading {
  readonly #ports: SpreadPorts
  readonly #run: SpreadRun
  readonly #alarm = new Alarm()
  #waiting: Sent[] = []
  readonly #open = new Map<string, readonly Sent[]>()
  /** Chunks whose answers were taken over. */
  #done: string[] = []
  #workers = 0
  #beatAt = Number.NEGATIVE_INFINITY
  /** A refusal that ends the run has come: what comes back from now on goes out no more. */
  #isRefused = false
  #endsAt: number | undefined
  #working: Promise<void> | undefined
  #isClosed = false
  /** Another command has the run: nothing is sent any more. */
  #taken: RunTaken | undefined

  constructor(ports: SpreadPorts) {
    this.#ports = ports
    this.#run = new SpreadRun(ports)
    if (ports.watches) this.#working = this.#work()
  }

  send(input: Input, { row, idempotencyKey = '' }: CallOptions): Promise<Reply> {
    const { ordinal = 0, fresh = false } = row ?? {}
    if (this.#taken) return Promise.reject(this.#taken)
    this.#working ??= this.#work()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call: { ordinal, fresh, key: idempotencyKey, input }, resolve, reject })
      this.#alarm.ring()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#alarm.ring()
    await this.#working
    // What is left there is cleared away by others.
    await this.#run.end().catch(() => {})
  }

  async #work(): Promise<void> {
    const { store, signal, sleep } = this.#ports
    const ring = () => this.#alarm.ring()
    const stopListening = store.onWork(ring, 'answers')
    signal?.addEventListener('abort', ring)
    while (!this.#isClosed && !this.#taken) {
      await sleep(gatherMs)
      await this.#turn().catch((error: unknown) => this.#fail(error))
      await this.#alarm.rung(lookMs)
    }
    signal?.removeEventListener('abort', ring)
    stopListening()
  }

  async #turn(): Promise<void> {
    const isIdle = this.#waiting.length === 0 && this.#open.size === 0
    if (isIdle && !this.#run.hasBegun && !this.#ports.watches) return
    if (!this.#run.hasBegun) await this.#run.begin()
    // While nothing is under way too: a run that pauses for an hour is none that has ended.
    await this.#beat()
    if (!isIdle && (this.#ports.signal?.aborted || this.#isRefused)) await this.#withdraw()
    await this.#put()
    await this.#look()
  }

  /** A sign of life; more often while nobody takes part, whom somebody waits for. */
  async #beat(): Promise<void> {
    const now = performance.now()
    if (now - this.#beatAt < (this.#workers === 0 ? lookMs : this.#run.beatMs)) return
    const { workers, isAnew } = await this.#run.renew()
    this.#beatAt = now
    this.#workers = workers
    if (isAnew) this.#sendAgain()
    this.#ports.onWorkers?.(workers)
  }

  /** The chunks are gone, and with them what came of their rows. */
  #sendAgain(): void {
    for (const sent of this.#open.values())
      this.#waiting.push(...sent.map((one) => maybeMade(one, this.#isPriced)))
    this.#open.clear()
    this.#done = []
  }

  get #isPriced(): boolean {
    return isPriced(operation(this.#ports.operation))
  }

  async #put(): Promise<void> {
    const done = this.#done
    const waiting = this.#takeDue()
    if (waiting.length === 0 && done.length === 0) return
    const bundles: (Bundle & { readonly sent: readonly Sent[] })[] = []
    for (const size = this.#size(); bundles.length * size < waiting.length; ) {
      const sent = waiting.slice(bundles.length * size, (bundles.length + 1) * size)
      const calls = sent.map(({ call }) => call)
      bundles.push({ id: this.#ports.ids.uuid(), operation: this.#ports.operation, calls, sent })
    }
    const open = () => bundles.forEach(({ id, sent }) => void this.#open.set(id, sent))
    try {
      await this.#run.put(bundles, done)
      this.#done = []
      open()
    } catch (error) {
      // They went out, or surely did not.
      if (isCertain(error)) this.#waiting.unshift(...waiting)
      else open()
      throw error
    }
  }

  /** Rows that may be sent now. */
  #takeDue(): readonly Sent[] {
    const now = performance.now()
    const isDue = ({ notBefore = now }: Sent) => notBefore <= now
    const due = this.#waiting.filter(isDue)
    this.#waiting = this.#waiting.filter((one) => !isDue(one))
    return due
  }

  #size(): number {
    const { rows, atOnce } = this.#ports
    const chunks = chunksPerWorker * Math.max(leastWorkers, this.#workers)
    return Math.max(1, Math.min(mostRows, Math.ceil(Math.min(rows, atOnce) / chunks)))
  }

  async #look(): Promise<void> {
    if (this.#open.size === 0) return
    for (const { id, taken, replies } of await this.#run.answered()) {
      const sent = this.#open.get(id)
      if (!sent) continue
      const came = readCame(replies)
      this.#open.delete(id)
      this.#done.push(id)
      this.#settle(sent, came, taken)
    }
    // What is done with, or comes back, need not wait for the next answer.
    if (this.#done.length > 0 || this.#waiting.some((one) => !one.notBefore)) this.#alarm.ring()
  }

  #settle(sent: readonly Sent[], came: readonly Came[], taken: number): void {
    if (came.some((one) => isAnswer(one) && stops(one))) this.#isRefused = true
    const now = this.#ports.clock.now()
    for (const [at, outcome] of outcomesOf(sent, came, { taken, isPriced: this.#isPriced, now }).entries()) {
      const one = sent[at] as Sent
      if (outcome.kind === 'again') this.#waiting.push(outcome.sent)
      else if (outcome.kind === 'told') tell(one, outcome.came)
      else one.reject(outcome.error)
    }
  }

  /** The run ends: what nobody has begun is not sent. What somebody has is awaited, unless the user wants to go. */
  async #withdraw(): Promise<void> {
    await this.#takeBack(false, (sent) => tellUnsent(sent))
    for (const sent of this.#waiting.splice(0)) tellUnsent(sent)
    if (!this.#ports.signal?.aborted) return
    this.#endsAt ??= performance.now() + patienceMs
    if (performance.now() < this.#endsAt) return
    // From now on nothing is written of them; what was, is found when the run goes on.
    await this.#look()
    await this.#takeBack(true, tellOpen)
  }

  async #takeBack(all: boolean, settle: (sent: Sent) => void): Promise<void> {
    for (const id of await this.#run.withdraw(all)) {
      for (const one of this.#open.get(id) ?? []) settle(one)
      this.#open.delete(id)
    }
  }

  /** What waits is refused like anything the database cannot take; what became of the rest is not known. */
  #fail(error: unknown): void {
    if (error instanceof RunTaken) this.#taken = error
    for (const sent of this.#waiting.splice(0))
      if (isCertain(error)) tellUnsent(sent, this.#refusal(error))
      else sent.reject(error)
    for (const sent of this.#open.values()) for (const { reject } of sent) reject(error)
    this.#open.clear()
  }

  #refusal(error: ApiError): Reply {
    const body = errorBody(error, operation(this.#ports.operation))
    return { status: error.status, body, headers: error.headers, credits: 0 }
  }
}

/** Whether an error says that nothing was done. */
const isCertain = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code !== 'outcome_unknown'
