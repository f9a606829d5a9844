import { Refusal } from '../../api/calls/errors.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Awaitable, Connection, Driver } from '../../storage/driver/connection.js'
import { leaseFrom, leaseMsOf } from '../clock.js'
import type { Clock, Ids } from '../ports/ports.js'
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
import { type ChunkCall, writeCalls } from './chunk.js'

/** What the lease of a distributed run needs. */
export interface RunLeasePorts {
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
export interface Bundle {
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

  /** Renews the lease. Returns the number of active workers, and whether its chunks were deleted after a long silence. */
  async renew(): Promise<{ readonly workers: number; readonly isAnew: boolean }> {
    const { store, clock, run, source } = this.ports
    const { leaseUntil } = leaseFrom(this.ports)
    const state = await this.#write((tx) => renewChunkRun(tx, run, this.#token, leaseUntil))
    if (state === 'lost') throw runTaken()
    const workers = await store.read((tx) => countChunkWorkers(tx, source, clock.now()))
    return { workers, isAnew: state === 'anew' }
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

  /**
   * Writes that take chunks from workers that may be charging: the workspace's scope keeps charges from interleaving.
   */
  readonly #writeAll = <T>(work: (tx: Connection) => Awaitable<T>): Promise<T> =>
    this.ports.store.transaction(work, this.#workspaceId)
}
