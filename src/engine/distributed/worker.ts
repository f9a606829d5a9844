import pLimit, { type LimitFunction } from 'p-limit'
import { ConnectionLost, type Reply } from '../../api/calls/caller.js'
import { ApiError, errorBody, failureOf, isRefusal } from '../../api/calls/errors.js'
import { isUnavailable } from '../../api/calls/retry.js'
import { isLimited, isPriced } from '../../api/operations/facts.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import type { Clock, Ids } from '../../api/ports/ports.js'
import { type Driver, dueWork } from '../../storage/driver/connection.js'
import { leaseFrom, leaseMsOf, startHeartbeat } from '../clock.js'
import type { RowCaller } from '../credits/settlement.js'
import { WorkerPool, type WorkKind } from '../jobs/pool.js'
import { LeaseLost, type WorkerPorts } from '../jobs/progress.js'
import {
  answerChunk,
  claimChunk,
  dropDeadChunks,
  holdsChunk,
  keepChunkWorker,
  readChunkWork,
  renewChunk,
  type StaleBefore,
  type TakenChunk,
} from '../tables/chunks.js'
import {
  type CallResult,
  type ChunkCall,
  inDoubt,
  isHeldBack,
  isInDoubt,
  readCalls,
  toLostCall,
  writeResults,
} from './chunk.js'

/** A chunk that this many processes died with is not taken again, although it may not be to blame. */
const maxAttempts = 10
/** No further call of a chunk is made after this time, so that other workers get it. */
const sliceMs = 2_000
const fewAtOnce = 8
/** After an error on its side, a worker leaves chunks to others for this long. */
const restMs = 1_000

interface ChunkPorts extends Pick<WorkerPorts, 'store' | 'clock' | 'ids' | 'leaseMs'> {
  readonly rowCaller: RowCaller
  /** Receives errors; the work will be tried again, here or elsewhere. */
  readonly onTrouble: (error: unknown) => void
}

/** Takes chunks, makes their calls and stores the results, until it is stopped. */
export async function runChunkWorker(ports: ChunkPorts, stopping: AbortSignal): Promise<void> {
  const { store, rowCaller } = ports
  const presence = createWorkerHeartbeat(ports, rowCaller.source)
  const limit = pLimit(rowCaller.atOnce)
  let restsUntil = 0
  const onTrouble = (error: unknown) => {
    restsUntil = performance.now() + restMs
    ports.onTrouble(error)
  }
  const context = { ports: { ...ports, onTrouble }, presence, limit, stopping }
  const kind: WorkKind<TakenChunk> = {
    take: async () => (performance.now() < restsUntil ? undefined : await takeChunk(ports, presence)),
    work: (chunk) => workOnChunk(context, chunk),
    atOnce: rowCaller.chunksAtOnce,
    onTrouble,
  }
  const pool = new WorkerPool(kind, stopping)
  const wake = () => pool.wake()
  const stopListening = store.onWork(wake, 'chunks')
  stopping.addEventListener('abort', wake)
  await pool.run(() => false)
  stopping.removeEventListener('abort', wake)
  stopListening()
  await presence.end().catch(onTrouble)
}

async function takeChunk(ports: ChunkPorts, presence: WorkerHeartbeat): Promise<TakenChunk | undefined> {
  const { store, clock, ids, rowCaller } = ports
  const { source } = rowCaller
  const before = staleBefore(clock.now())
  const { runs, left, isDue } = await store.read((tx) => readChunkWork(tx, source, leaseFrom(ports), before))
  if (runs > 0) await presence.show()
  if (left > 0) await presence.tidy()
  if (!isDue) return undefined
  const token = ids.uuid()
  return await store.transaction((tx) => claimChunk(tx, { token, source, ...leaseFrom(ports) }), dueWork)
}

interface ChunkContext {
  readonly ports: ChunkPorts
  readonly presence: WorkerHeartbeat
  /** Limits the calls of this process, over all of its chunks. */
  readonly limit: LimitFunction
  readonly stopping: AbortSignal
}

async function workOnChunk(context: ChunkContext, chunk: TakenChunk): Promise<void> {
  const { ports, presence } = context
  const { store } = ports
  const { id, token } = chunk
  const lost = new AbortController()
  const heartbeat = startHeartbeat(leaseMsOf(ports) / 3, async () => {
    await presence.show()
    const { leaseUntil } = leaseFrom(ports)
    if (!(await store.transaction((tx) => renewChunk(tx, id, token, leaseUntil), scopeOf(chunk))))
      lost.abort()
  })
  try {
    const replies = writeResults(await callAll(context, chunk, lost.signal))
    // When another worker has the chunk now, this write is refused and its own result counts.
    await store.transaction((tx) => answerChunk(tx, id, token, replies), scopeOf(chunk))
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
  } finally {
    clearInterval(heartbeat)
  }
}

/** Each chunk has its own scope: with several, a charge could wait for one and hold another. */
const scopeOf = ({ id }: TakenChunk): string => `chunk ${id}`

/** Makes calls until all are made, more would be refused, the time is up, or the process stops. */
async function callAll(context: ChunkContext, chunk: TakenChunk, lost: AbortSignal) {
  const { stopping, ports, limit } = context
  const { rowCaller } = ports
  const calls = readCalls(chunk.calls)
  const results = await findKnownResults(context, chunk, calls)
  if (!results) return calls.map(() => null)
  const open = [...results.keys()].filter((at) => results[at] === null)
  const until = performance.now() + sliceMs
  const call = createCall(context, chunk)
  let isOver = false
  const line = async () => {
    while (!isOver && open.length > 0 && !stopping.aborted && !lost.aborted) {
      const at = open.shift() as number
      const one = await limit(() => call(calls[at] as ChunkCall))
      results[at] = one
      // After trouble of our own, the remaining calls are left to others.
      isOver ||= one === null || isInDoubt(one) || isHeldBack(one) || performance.now() > until
    }
  }
  // When only a few calls are admitted at a time, most of many would be refused.
  const atOnce = isLimited(operation(chunk.operation as OperationId)) ? fewAtOnce : rowCaller.atOnce
  await Promise.all(Array.from({ length: Math.min(atOnce, rowCaller.atOnce, calls.length) }, line))
  return results
}

/**
 * Returns the results that are known before any call is made here: unknown for a call that may have been made and
 * must not be repeated. `undefined` when it cannot be found out whether calls may be repeated.
 */
async function findKnownResults(
  { ports: { rowCaller, onTrouble } }: ChunkContext,
  { operation: name, taken }: TakenChunk,
  calls: readonly ChunkCall[],
): Promise<CallResult[] | undefined> {
  const isDoubted = ({ doubted }: ChunkCall) => taken > 1 || doubted === true
  if (taken > maxAttempts) return calls.map(() => unknownOutcome)
  if (!isPriced(operation(name as OperationId)) || !calls.some(isDoubted)) return calls.map(() => null)
  try {
    const mayRepeat = await rowCaller.mayRepeat()
    return calls.map((call) => (mayRepeat || !isDoubted(call) ? null : unknownOutcome))
  } catch (error) {
    onTrouble(error)
    return undefined
  }
}

/** Returns the function that makes a call: as the member of the run's key, and only while the chunk is ours. */
function createCall(
  { ports: { rowCaller, onTrouble } }: ChunkContext,
  { id, token, keyId, run, operation: name, taken }: TakenChunk,
): (call: ChunkCall) => Promise<CallResult> {
  const row = operation(name as OperationId)
  const caller = rowCaller.actingFor(keyId, async (tx) => {
    if (!(await holdsChunk(tx, id, token))) throw new LeaseLost()
  })
  return async ({ ordinal, fresh, key, input }) => {
    // An earlier worker may have made any of its calls.
    const options = { idempotencyKey: key, row: { run, ordinal, fresh: fresh && taken === 1 } }
    try {
      const { text: _, ...reply } = await caller.call(row.id, input, options)
      if (rowCaller.source !== '' || !isUnavailable(reply)) return reply
      // A 503 of the engine is our own trouble with the database; that of a server is its answer.
      onTrouble(new Error(failureOf(reply.status, reply.body).text))
      return inDoubt
    } catch (error) {
      if (error instanceof LeaseLost) throw error
      if (error instanceof ConnectionLost) return toLostCall(error)
      onTrouble(error)
      if (isRefusal(error, 'engine.not_sent')) return null
      if (error instanceof ApiError) return inDoubt
      return rowCaller.source === '' ? failed : { ...failed, unknown: true }
    }
  }
}

/** The result of a call that failed because of a bug. */
const failed: Omit<Reply, 'text'> = {
  status: 500,
  body: errorBody(new ApiError('internal')),
  headers: {},
  credits: 0,
}

const unknownOutcome: CallResult = {
  status: 503,
  body: { error: 'The outcome is not known' },
  headers: {},
  credits: 0,
  unknown: true,
}

/** How long an announcement lasts, and how often it is renewed; real time. */
const seenMs = 15_000
const showEveryMs = 4_000
/** A command that was silent for this long has lost its run. */
const deadMs = 7 * 86_400_000

/** Creates the heartbeat of one worker. It writes only while a command waits. */
function createWorkerHeartbeat(
  { store, clock, ids }: { readonly store: Driver; readonly clock: Clock; readonly ids: Ids },
  source: string,
) {
  const id = ids.uuid()
  let shownAt = Number.NEGATIVE_INFINITY
  const keep = (until: number | null) =>
    store.transaction((tx) => keepChunkWorker(tx, id, source, until), dueWork)
  return {
    /** Announces the worker for a while. */
    show: async () => {
      if (performance.now() - shownAt < showEveryMs) return
      shownAt = performance.now()
      await keep(clock.now() + seenMs)
    },
    /** Deletes what dead commands left behind, with the store to itself: it locks chunks of many runs in another order. */
    tidy: () => store.transaction((tx) => dropDeadChunks(tx, staleBefore(clock.now()))),
    /** Withdraws the announcement. */
    end: async () => {
      if (shownAt > Number.NEGATIVE_INFINITY) await keep(null)
    },
  }
}

/** Shows waiting commands that a worker takes part. */
type WorkerHeartbeat = ReturnType<typeof createWorkerHeartbeat>

/** Returns the limits of what is deleted, at a moment of real time. */
const staleBefore = (now: number): StaleBefore => ({ runs: now - deadMs, workers: now })
