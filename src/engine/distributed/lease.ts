import type { OperationId } from '../../api/operations/table.js'
import { leaseFrom, leaseMsOf } from '../jobs/lease.js'
import type { AnsweredChunk, Awaitable, Clock, Ids, NewChunk, Store, Transaction } from '../ports/ports.js'
import { createAccess } from '../request/access.js'
import { type ChunkCall, writeCalls } from './chunk.js'

/** What a run is spread with. */
export interface RunLeasePorts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly sleep: (ms: number) => Promise<void>
  /** Unguessable id of the run; whoever spreads it has its lock. */
  readonly run: string
  readonly apiKey: string | undefined
  /** The server that answers; empty for the engine. */
  readonly source: string
  /** How long the run is believed alive without a sign of life, in real time. */
  readonly leaseMs?: number
}

/** Rows that go out together, under the id of their chunk. */
export interface Bundle {
  readonly id: string
  readonly operation: OperationId
  readonly calls: readonly ChunkCall[]
}

/** What is known of a run after a sign of life. */
export interface Renewed {
  /** Workers that take part. */
  readonly workers: number
  /** Whether its chunks were cleared away, since nothing was heard of it for long. */
  readonly isAnew: boolean
}

/** A run that this command does not have any more: its rows are sent by another one, or were taken back. */
export class RunTaken extends Error {
  override readonly name = 'RunTaken'
  /** Exit code of a command that ends with it. */
  readonly exit = 15
  readonly hint = 'See how far it is: prospect runs list. What was paid for is not lost.'

  constructor() {
    super(
      'This run is not in the hands of this command any more: another one has it, or its rows were taken back.',
    )
  }
}

const answeredAtOnce = 20

/** A run as the shared database has it, in the hands of this process. */
export class RunLease {
  readonly #ports: RunLeasePorts
  readonly #token: string
  #workspaceId = ''
  #lastAt = 0
  #hasBegun = false

  constructor(ports: RunLeasePorts) {
    this.#ports = ports
    this.#token = ports.ids.uuid()
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Takes the run in hand; refuses a key that is not valid. What an earlier command left of it, nobody goes on with. */
  async begin(): Promise<void> {
    const { store, clock, sleep, apiKey, run, source } = this.#ports
    const { key, workspace } = await createAccess(store, { clock, sleep })(apiKey)
    const { leaseUntil } = leaseFrom(this.#ports)
    const taken = { run, keyId: key.id, source, token: this.#token, leaseUntil }
    this.#workspaceId = workspace.id
    await this.#writeAll((tx) => tx.takeChunkRun(taken))
    this.#hasBegun = true
  }

  /** Gives a sign of life. */
  async renew(): Promise<Renewed> {
    const { store, clock, run, source } = this.#ports
    const { leaseUntil } = leaseFrom(this.#ports)
    const state = await this.#write((tx) => tx.renewChunkRun(run, this.#token, leaseUntil))
    if (state === 'lost') throw new RunTaken()
    const workers = await store.read((reads) => reads.chunkWorkers(source, clock.now()))
    return { workers, isAnew: state === 'anew' }
  }

  /** Hands out rows, and drops chunks that are done with. */
  async put(bundles: readonly Bundle[], done: readonly string[]): Promise<void> {
    const chunks = bundles.map((bundle) => this.#chunkOf(bundle))
    await this.#write(async (tx) => {
      await this.#check(tx)
      if (done.length > 0) await tx.dropChunks(done)
      await tx.addChunks(chunks)
    })
  }

  /** Chunks that are answered, and not dropped yet. */
  answered(): Promise<readonly AnsweredChunk[]> {
    const { store, run } = this.#ports
    return store.read((reads) => reads.answeredChunks(run, answeredAtOnce))
  }

  /** Takes back chunks that nobody has begun, or all that are not answered; answers their ids. */
  withdraw(all: boolean): Promise<readonly string[]> {
    const write = all ? this.#writeAll : this.#write
    return write(async (tx) => {
      await this.#check(tx)
      return await tx.withdrawChunks(this.#ports.run, all)
    })
  }

  async end(): Promise<void> {
    if (this.#hasBegun) await this.#writeAll((tx) => tx.dropChunkRun(this.#ports.run, this.#token))
  }

  /** How often a sign of life is due, in milliseconds. */
  get beatMs(): number {
    return leaseMsOf(this.#ports) / 6
  }

  #chunkOf({ id, operation, calls }: Bundle): NewChunk {
    this.#lastAt = Math.max(this.#lastAt + 1, this.#ports.clock.now())
    return { id, run: this.#ports.run, operation, calls: writeCalls(calls), createdAt: this.#lastAt }
  }

  async #check(tx: Transaction): Promise<void> {
    if (!(await tx.holdsChunkRun(this.#ports.run, this.#token))) throw new RunTaken()
  }

  readonly #write = <T>(work: (tx: Transaction) => Awaitable<T>): Promise<T> =>
    this.#ports.store.transaction(work, `createDistributedCaller ${this.#ports.run}`)

  /** What takes chunks that somebody may be charging for, several at once: no charge of the workspace waits meanwhile. */
  readonly #writeAll = <T>(work: (tx: Transaction) => Awaitable<T>): Promise<T> =>
    this.#ports.store.transaction(work, this.#workspaceId)
}
