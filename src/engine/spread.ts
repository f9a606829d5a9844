import type { Caller, CallOptions, Input, Reply } from '../api/caller.js'
import { ApiError, errorBody } from '../api/errors.js'
import { type OperationId, operation } from '../api/table.js'
import { Alarm } from './alarm.js'
import { type Came, type ChunkCall, readCame, replyOf, stops } from './chunk.js'
import { type Bundle, SpreadRun, type SpreadRunPorts } from './spread-run.js'

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

/** A row on its way, and who waits for what comes of it. */
interface Sent {
  readonly call: ChunkCall
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: unknown) => void
}

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
  /** A refusal that ends the run has come. */
  #isRefused = false
  #endsAt: number | undefined
  #working: Promise<void> | undefined
  #isClosed = false

  constructor(ports: SpreadPorts) {
    this.#ports = ports
    this.#run = new SpreadRun(ports)
    if (ports.watches) this.#working = this.#work()
  }

  send(input: Input, { row, idempotencyKey = '' }: CallOptions): Promise<Reply> {
    const { ordinal = 0, fresh = false } = row ?? {}
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
    while (!this.#isClosed) {
      await sleep(gatherMs)
      await this.#turn().catch((error: unknown) => this.#fail(error))
      await this.#alarm.rung(lookMs)
    }
    signal?.removeEventListener('abort', ring)
    stopListening()
  }

  async #turn(): Promise<void> {
    if (this.#waiting.length === 0 && this.#open.size === 0 && !this.#ports.watches) return
    if (!this.#run.hasBegun) await this.#run.begin()
    await this.#beat()
    if (this.#ports.signal?.aborted || this.#isRefused) await this.#withdraw()
    await this.#put()
    await this.#look()
  }

  /** A sign of life; more often while nobody takes part, whom somebody waits for. */
  async #beat(): Promise<void> {
    const now = performance.now()
    if (now - this.#beatAt < (this.#workers === 0 ? lookMs : this.#run.beatMs)) return
    this.#beatAt = now
    this.#workers = await this.#run.renew()
    this.#ports.onWorkers?.(this.#workers)
  }

  async #put(): Promise<void> {
    if (this.#waiting.length === 0 && this.#done.length === 0) return
    const waiting = this.#waiting.splice(0)
    const bundles: (Bundle & { readonly sent: readonly Sent[] })[] = []
    for (const size = this.#size(); bundles.length * size < waiting.length; ) {
      const sent = waiting.slice(bundles.length * size, (bundles.length + 1) * size)
      const calls = sent.map(({ call }) => call)
      bundles.push({ id: this.#ports.ids.uuid(), operation: this.#ports.operation, calls, sent })
    }
    const open = () => bundles.forEach(({ id, sent }) => void this.#open.set(id, sent))
    try {
      await this.#run.put(bundles, this.#done.splice(0))
      open()
    } catch (error) {
      // They went out, or surely did not.
      if (isCertain(error)) this.#waiting.unshift(...waiting)
      else open()
      throw error
    }
  }

  #size(): number {
    const { rows, atOnce } = this.#ports
    const chunks = chunksPerWorker * Math.max(leastWorkers, this.#workers)
    return Math.max(1, Math.min(mostRows, Math.ceil(Math.min(rows, atOnce) / chunks)))
  }

  async #look(): Promise<void> {
    if (this.#open.size === 0) return
    for (const { id, replies } of await this.#run.answered()) {
      const sent = this.#open.get(id)
      if (!sent) continue
      this.#open.delete(id)
      this.#done.push(id)
      this.#settle(sent, readCame(replies))
    }
    // What is done with, or comes back, need not wait for the next answer.
    if (this.#done.length > 0 || this.#waiting.length > 0) this.#alarm.ring()
  }

  #settle(sent: readonly Sent[], came: readonly Came[]): void {
    const refusal = came.find((one) => one !== null && 'status' in one && one.status === 429)
    for (const [at, one] of sent.entries()) {
      // What was not sent because of a refusal would meet it too, for now.
      const what = came[at] ?? refusal
      if (!what) this.#waiting.push(one)
      else if ('lost' in what) rejected(one, what)
      else {
        if (stops(what)) this.#isRefused = true
        one.resolve(what)
      }
    }
  }

  /** The run ends: what nobody has begun is not sent. What somebody has is awaited, unless the user wants to go. */
  async #withdraw(): Promise<void> {
    this.#isRefused = false
    await this.#takeBack(false, ({ resolve }) => resolve(notSent))
    for (const { resolve } of this.#waiting.splice(0)) resolve(notSent)
    if (!this.#ports.signal?.aborted) return
    this.#endsAt ??= performance.now() + patienceMs
    if (performance.now() < this.#endsAt) return
    // From now on nothing is written of them; what was, is found when the run goes on.
    await this.#look()
    await this.#takeBack(true, ({ reject }) => reject(new ApiError('outcome_unknown')))
  }

  async #takeBack(all: boolean, settle: (sent: Sent) => void): Promise<void> {
    for (const id of await this.#run.withdraw(all)) {
      for (const one of this.#open.get(id) ?? []) settle(one)
      this.#open.delete(id)
    }
  }

  /** What waits is refused like anything the database cannot take; what became of the rest is not known. */
  #fail(error: unknown): void {
    for (const { resolve, reject } of this.#waiting.splice(0))
      if (isCertain(error)) resolve(this.#refusal(error))
      else reject(error)
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

function rejected({ reject }: Sent, came: Exclude<Came, null>): void {
  try {
    replyOf(came)
  } catch (error) {
    reject(error)
  }
}

/** Of a row that nobody has sent, and that need not be: it may be, at any time. */
const notSent: Reply = { status: 429, body: { error: 'Not sent' }, headers: {}, credits: 0, waitMs: 0 }
