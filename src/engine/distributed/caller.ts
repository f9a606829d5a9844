import {
  type Caller,
  type CallOptions,
  type Input,
  type Reply,
  retryAfterMs,
} from '../../api/calls/caller.js'
import { ApiError, isRefusal, Refusal, toRefusal } from '../../api/calls/errors.js'
import { fails, isLimited } from '../../api/calls/retry.js'
import { isPriced } from '../../api/operations/facts.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import type { Clock, Ids } from '../../api/ports/ports.js'
import type { Awaitable } from '../../api/values/objects.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { leaseFrom, leaseMsOf } from '../clock.js'
import { AutoResetEvent } from '../jobs/pool.js'
import { createAccess } from '../request/access.js'
import {
  type AnsweredChunk,
  countChunkWorkers,
  dropChunkRun,
  dropChunks,
  holdsChunkRun,
  insertChunks,
  listAnsweredChunks,
  type NewChunk,
  renewChunkRun,
  takeChunkRun,
  withdrawChunks,
} from '../tables/chunks.js'
import {
  type CallResult,
  type ChunkCall,
  endsRun,
  isAnswer,
  isHeldBack,
  isInDoubt,
  readResults,
  toReply,
  writeCalls,
} from './chunk.js'

export interface DistributedCallerPorts extends RunLeasePorts {
  readonly caller: Caller
  readonly operation: OperationId
  /** Rows of the run, and how many of them are in flight at once. */
  readonly rows: number
  readonly atOnce: number
  /** Ends the run early: rows that no worker took are withdrawn, the others are awaited for a while. */
  readonly signal?: AbortSignal
  /** Counts workers even while no row is sent to them, because they also do the work that the calls start. */
  readonly watches?: boolean
  /** Receives the number of workers from time to time. */
  readonly onWorkers?: (workers: number) => void
}

/** Most rows of a chunk; fewer when a run is small, so that several workers get some. */
const maxRows = 100
const chunksPerWorker = 4
const minWorkers = 4
/** Rows of the same few milliseconds share chunks; answers are polled at the longer interval. */
const gatherMs = 5
const lookMs = 1_000
/** How long rows that a worker has taken are awaited when a run ends early. */
const timeoutMs = 10_000

/** Returns a caller whose rows are called by the workers of a shared database, each row once. */
export function createDistributedCaller(ports: DistributedCallerPorts): Caller {
  const distributed = new DistributedCaller(ports)
  const { caller } = ports
  return {
    ...caller,
    call: async (id, input, options = {}) => {
      if (id !== ports.operation || !options.row) return caller.call(id, input, options)
      return distributed.send(input, options)
    },
    close: () => distributed.close(),
  }
}

class DistributedCaller {
  readonly #run: RunLease
  readonly #event = new AutoResetEvent()
  #waiting: PendingRow[] = []
  readonly #open = new Map<string, readonly PendingRow[]>()
  /** Chunks whose results were read, to be deleted. */
  #done: string[] = []
  #workers = 0
  #beatAt = Number.NEGATIVE_INFINITY
  /** Whether a refusal ended the run: rows that come back are not sent again. */
  #isRefused = false
  #endsAt: number | undefined
  #working: Promise<void> | undefined
  #isClosed = false
  /** Set when another command took the run: nothing is sent any more. */
  #taken: Refusal | undefined

  constructor(private readonly ports: DistributedCallerPorts) {
    this.#run = new RunLease(ports)
    if (ports.watches) this.#working = this.#work()
  }

  send(input: Input, { row, idempotencyKey = '' }: CallOptions): Promise<Reply> {
    const { ordinal = 0, fresh = false } = row ?? {}
    if (this.#taken) return Promise.reject(this.#taken)
    this.#working ??= this.#work()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call: { ordinal, fresh, key: idempotencyKey, input }, resolve, reject })
      this.#event.set()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#event.set()
    await this.#working
    // Workers delete what is left in the database.
    await this.#run.end().catch(() => {})
  }

  async #work(): Promise<void> {
    const { store, signal, sleep } = this.ports
    const wake = () => this.#event.set()
    const stopListening = store.onWork(wake, 'answers')
    signal?.addEventListener('abort', wake)
    while (!this.#isClosed && !this.#taken) {
      await sleep(gatherMs)
      await this.#runTurn().catch((error: unknown) => this.#fail(error))
      await this.#event.wait(lookMs)
    }
    signal?.removeEventListener('abort', wake)
    stopListening()
  }

  async #runTurn(): Promise<void> {
    const isIdle = this.#waiting.length === 0 && this.#open.size === 0
    if (isIdle && !this.#run.hasBegun && !this.ports.watches) return
    if (!this.#run.hasBegun) await this.#run.begin()
    // Also while nothing is in flight: a run that pauses for an hour has not ended.
    await this.#renewLease()
    if (!isIdle && (this.ports.signal?.aborted || this.#isRefused)) await this.#withdraw()
    await this.#sendDue()
    await this.#readAnswers()
  }

  /** Renews the lease; more often while there is no worker, because the command waits for the first one. */
  async #renewLease(): Promise<void> {
    const now = performance.now()
    if (now - this.#beatAt < (this.#workers === 0 ? lookMs : this.#run.beatMs)) return
    this.#workers = await this.#run.renew()
    this.#beatAt = now
    this.ports.onWorkers?.(this.#workers)
  }

  async #sendDue(): Promise<void> {
    const done = this.#done
    const now = performance.now()
    const isDue = ({ notBefore = now }: PendingRow) => notBefore <= now
    const waiting = this.#waiting.filter(isDue)
    this.#waiting = this.#waiting.filter((one) => !isDue(one))
    if (waiting.length === 0 && done.length === 0) return
    const bundles: (Bundle & { readonly sent: readonly PendingRow[] })[] = []
    const { ids, operation, rows, atOnce } = this.ports
    const chunks = chunksPerWorker * Math.max(minWorkers, this.#workers)
    const size = Math.max(1, Math.min(maxRows, Math.ceil(Math.min(rows, atOnce) / chunks)))
    while (bundles.length * size < waiting.length) {
      const sent = waiting.slice(bundles.length * size, (bundles.length + 1) * size)
      bundles.push({ id: ids.uuid(), operation, calls: sent.map(({ call }) => call), sent })
    }
    const open = () => bundles.forEach(({ id, sent }) => void this.#open.set(id, sent))
    try {
      await this.#run.put(bundles, done)
      this.#done = []
      open()
    } catch (error) {
      // They were either sent, or certainly not.
      if (isCertain(error)) this.#waiting.unshift(...waiting)
      else open()
      throw error
    }
  }

  async #readAnswers(): Promise<void> {
    if (this.#open.size === 0) return
    for (const { id, taken, replies } of await this.#run.answered()) {
      const sent = this.#open.get(id)
      if (!sent) continue
      const results = readResults(replies)
      this.#open.delete(id)
      this.#done.push(id)
      this.#settle(sent, results, taken)
    }
    // Deleting chunks and sending rows again need not wait for the next answer.
    if (this.#done.length > 0 || this.#waiting.some((one) => !one.notBefore)) this.#event.set()
  }

  #settle(sent: readonly PendingRow[], results: readonly CallResult[], taken: number): void {
    if (results.some((one) => isAnswer(one) && endsRun(one))) this.#isRefused = true
    const now = this.ports.clock.now()
    const refusal = results.find((one) => isAnswer(one) && isLimited(one)) ?? null
    const chunk = { taken, isPriced: isPriced(operation(this.ports.operation)), now }
    for (const [at, row] of sent.entries()) {
      const again = settleRow(row, results[at] ?? null, refusal, chunk)
      if (again) this.#waiting.push(again)
    }
  }

  /** Withdraws the rows that no worker took. Those that one took are awaited, until the user's patience is over. */
  async #withdraw(): Promise<void> {
    await this.#withdrawChunks(false, (sent) => settleUnsent(sent))
    for (const sent of this.#waiting.splice(0)) settleUnsent(sent)
    if (!this.ports.signal?.aborted) return
    this.#endsAt ??= performance.now() + timeoutMs
    if (performance.now() < this.#endsAt) return
    // Workers write nothing for them from now on; what they wrote is found when the run is resumed.
    await this.#readAnswers()
    await this.#withdrawChunks(true, settleUnknown)
  }

  async #withdrawChunks(all: boolean, settle: (sent: PendingRow) => void): Promise<void> {
    for (const id of await this.#run.withdraw(all)) {
      for (const one of this.#open.get(id) ?? []) settle(one)
      this.#open.delete(id)
    }
  }

  /** Refuses the rows that wait with the error of the database. The outcome of the others is unknown. */
  #fail(error: unknown): void {
    if (isRefusal(error, 'run.withdrawn')) this.#taken = error
    for (const sent of this.#waiting.splice(0))
      if (isCertain(error)) settleUnsent(sent, toRefusal(error, operation(this.ports.operation)))
      else sent.reject(error)
    for (const sent of this.#open.values()) for (const { reject } of sent) reject(error)
    this.#open.clear()
  }
}

/** Returns whether an error guarantees that nothing was done. */
const isCertain = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code !== 'outcome_unknown'

interface PendingRow {
  readonly call: ChunkCall
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: unknown) => void
  /** Monotonic time in milliseconds; the row is not sent before it. */
  readonly notBefore?: number
}

/** Facts about a chunk besides the results of its calls. */
interface ChunkFacts {
  /** How many times a worker took it. */
  readonly taken: number
  readonly isPriced: boolean
  /** Real time, for a `Retry-After` that is a date. */
  readonly now: number
}

/**
 * Gives a row of an answered chunk its result, or returns it to be sent again; `refusal` is a result that asks the whole chunk
 * to wait. When an earlier worker had the chunk, it may have made and paid for any of its calls. A refusal then says nothing
 * about the cost, so the row is sent until it has an answer.
 */
function settleRow(
  row: PendingRow,
  result: CallResult,
  refusal: CallResult,
  { taken, isPriced, now }: ChunkFacts,
): PendingRow | undefined {
  const mayBeMade = taken > 1 || isInDoubt(result)
  const isDoubted = row.call.doubted === true || (mayBeMade && isPriced)
  const resend = (after: CallResult) =>
    delay(mayBeMade ? toMaybeSent(row, isPriced) : row, isDoubted ? waitMsOf(after, now) : 0)
  const reply = (given: Exclude<CallResult, null>) => {
    try {
      row.resolve(toReply(given))
    } catch (error) {
      row.reject(error)
    }
    return undefined
  }
  // A row that was held back by a refusal would be refused too, for now.
  if (result === null && refusal && !isDoubted) return reply(refusal)
  if (result === null || isInDoubt(result)) return resend(refusal)
  if (!isDoubted) return reply(result)
  if (!isAnswer(result) || fails(result)) return reply({ ...result, unknown: true })
  if (!isHeldBack(result)) return reply(result)
  if (!endsRun(result)) return resend(result)
  row.reject(new ApiError('outcome_unknown', { reply: result }))
  return undefined
}

/** Returns a row that may have been sent: it is no longer fresh, and a priced one is in doubt. */
const toMaybeSent = (row: PendingRow, isPriced: boolean): PendingRow => ({
  ...row,
  call: { ...row.call, fresh: false, ...(isPriced ? { doubted: true } : {}) },
})

const delay = (row: PendingRow, ms: number) => (ms > 0 ? { ...row, notBefore: performance.now() + ms } : row)

/** Returns how long a refusal asks to wait, in milliseconds. */
function waitMsOf(result: CallResult, now: number): number {
  if (!isAnswer(result)) return 0
  return result.waitMs ?? retryAfterMs(result.headers['retry-after'], now) ?? 1_000
}

/** Ends a row that is not sent any more. Its outcome is unknown when it may have been sent before. */
function settleUnsent(row: PendingRow, reply: Reply = notSent): void {
  if (row.call.doubted) settleUnknown(row)
  else row.resolve(reply)
}

const settleUnknown = ({ reject }: PendingRow): void => reject(new ApiError('outcome_unknown'))

/** Reply to a row that was never sent and may be sent at any time. */
const notSent: Reply = { status: 429, body: { error: 'Not sent' }, headers: {}, credits: 0, waitMs: 0 }

interface RunLeasePorts {
  readonly store: Driver
  readonly clock: Clock
  readonly ids: Ids
  readonly sleep: (ms: number) => Promise<void>
  /** Unguessable id of the run; the caller holds its lock. */
  readonly run: string
  readonly apiKey: string | undefined
  /** Base address of the server that answers; empty for the engine. */
  readonly source: string
  /** How long the run counts as alive without a heartbeat, in real time. */
  readonly leaseMs?: number
}

/** Rows that are sent together, under the id of their chunk. */
interface Bundle {
  readonly id: string
  readonly operation: OperationId
  readonly calls: readonly ChunkCall[]
}

/** Returns the refusal of a command that lost its run: another command sends its rows, or they were withdrawn. */
const runTaken = (): Refusal => new Refusal('run.withdrawn')

const answeredAtOnce = 20

/** The lease that this process has on a run in the shared database. */
export class RunLease {
  readonly #token: string
  #workspaceId = ''
  #lastAt = 0
  #hasBegun = false

  constructor(private readonly ports: RunLeasePorts) {
    this.#token = ports.ids.uuid()
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Acquires the lease; throws for an invalid key. Chunks of an earlier command are deleted. */
  async begin(): Promise<void> {
    const { store, clock, sleep, apiKey, run, source } = this.ports
    const { key, workspace } = await createAccess(store, { clock, sleep })(apiKey)
    const { leaseUntil } = leaseFrom(this.ports)
    const taken = { run, keyId: key.id, source, token: this.#token, leaseUntil }
    this.#workspaceId = workspace.id
    await this.#writeAll((tx) => takeChunkRun(tx, taken))
    this.#hasBegun = true
  }

  /** Renews the lease. Returns the number of active workers. */
  async renew(): Promise<number> {
    const { store, clock, run, source } = this.ports
    const { leaseUntil } = leaseFrom(this.ports)
    if (!(await this.#write((tx) => renewChunkRun(tx, run, this.#token, leaseUntil)))) throw runTaken()
    return store.read((tx) => countChunkWorkers(tx, source, clock.now()))
  }

  /** Adds chunks, and deletes those that are done. */
  async put(bundles: readonly Bundle[], done: readonly string[]): Promise<void> {
    const chunks = bundles.map((bundle) => this.#chunkOf(bundle))
    await this.#write(async (tx) => {
      await this.#check(tx)
      if (done.length > 0) await dropChunks(tx, done)
      await insertChunks(tx, chunks)
    })
  }

  /** Returns chunks that are answered and not yet deleted. */
  answered(): Promise<readonly AnsweredChunk[]> {
    const { store, run } = this.ports
    return store.read((tx) => listAnsweredChunks(tx, run, answeredAtOnce))
  }

  /** Withdraws chunks that no worker took, or all unanswered ones. Returns their ids. */
  withdraw(all: boolean): Promise<readonly string[]> {
    const write = all ? this.#writeAll : this.#write
    return write(async (tx) => {
      await this.#check(tx)
      return await withdrawChunks(tx, this.ports.run, all)
    })
  }

  async end(): Promise<void> {
    if (this.#hasBegun) await this.#writeAll((tx) => dropChunkRun(tx, this.ports.run, this.#token))
  }

  /** Interval of the heartbeat, in milliseconds. */
  get beatMs(): number {
    return leaseMsOf(this.ports) / 6
  }

  #chunkOf({ id, operation, calls }: Bundle): NewChunk {
    this.#lastAt = Math.max(this.#lastAt + 1, this.ports.clock.now())
    return { id, run: this.ports.run, operation, calls: writeCalls(calls), createdAt: this.#lastAt }
  }

  async #check(tx: Connection): Promise<void> {
    if (!(await holdsChunkRun(tx, this.ports.run, this.#token))) throw runTaken()
  }

  readonly #write = <T>(work: (tx: Connection) => Awaitable<T>): Promise<T> =>
    this.ports.store.transaction(work, `distributed run ${this.ports.run}`)

  /** Takes chunks from workers that may be charging: the workspace's scope keeps charges from interleaving. */
  readonly #writeAll = <T>(work: (tx: Connection) => Awaitable<T>): Promise<T> =>
    this.ports.store.transaction(work, this.#workspaceId)
}
