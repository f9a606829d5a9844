import pLimit, { type LimitFunction } from 'p-limit'
import { ConnectionLost, type Reply } from '../../api/calls/caller.js'
import { ApiError, errorBody, failureOf } from '../../api/calls/errors.js'
import { isLimited, isPriced } from '../../api/operations/facts.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { leaseFrom, leaseMsOf } from '../jobs/lease.js'
import { Crew, type Trade } from '../jobs/pool.js'
import { LeaseLost, type WorkerPorts } from '../jobs/progress.js'
import { dueWork, type TakenChunk } from '../ports/ports.js'
import { type Answering, NotAsked } from '../settlement/row-caller.js'
import { type Came, type ChunkCall, inDoubt, isHeldBack, lostOf, readCalls, writeCame } from './chunk.js'
import { leftBefore, type Presence, presenceOf } from './heartbeat.js'

/** A chunk that so many processes ended with is not worked at again; it may not have been its fault. */
const mostTaken = 10
/** No further call of a chunk is made after so long: others may be free to make it. */
const sliceMs = 2_000
const fewAtOnce = 8
/** Whoever has trouble leaves chunks to others for so long. */
const restMs = 1_000

/** What it takes to take part in runs that are spread over machines. */
export interface ChunkPorts extends Pick<WorkerPorts, 'store' | 'clock' | 'ids' | 'leaseMs'> {
  readonly answering: Answering
  /** Told of what failed: it will be tried again, here or elsewhere. */
  readonly onTrouble: (error: unknown) => void
}

/** Takes up chunks, makes their calls, and writes down what came of them, until it is stopped. */
export async function takePart(ports: ChunkPorts, stopping: AbortSignal): Promise<void> {
  const { store, answering } = ports
  const presence = presenceOf(ports, answering.source)
  const limit = pLimit(answering.atOnce)
  let restsUntil = 0
  const onTrouble = (error: unknown) => {
    restsUntil = performance.now() + restMs
    ports.onTrouble(error)
  }
  const bench = { ports: { ...ports, onTrouble }, presence, limit, stopping }
  const trade: Trade<TakenChunk> = {
    take: async () => (performance.now() < restsUntil ? undefined : await take(ports, presence)),
    work: (chunk) => workAt(bench, chunk),
    places: answering.places,
    onTrouble,
  }
  const crew = new Crew(trade, stopping)
  const wake = () => crew.wake()
  const stopListening = store.onWork(wake, 'chunks')
  stopping.addEventListener('abort', wake)
  await crew.run(() => false)
  stopping.removeEventListener('abort', wake)
  stopListening()
  await presence.end().catch(onTrouble)
}

async function take(ports: ChunkPorts, presence: Presence): Promise<TakenChunk | undefined> {
  const { store, clock, ids, answering } = ports
  const { source } = answering
  const before = leftBefore(clock.now())
  const { runs, left, isDue } = await store.read((reads) => reads.chunkWork(source, leaseFrom(ports), before))
  if (runs > 0) await presence.show()
  if (left > 0) await presence.tidy()
  if (!isDue) return undefined
  const token = ids.uuid()
  return await store.transaction((tx) => tx.claimChunk({ token, source, ...leaseFrom(ports) }), dueWork)
}

/** What a chunk is worked at with. */
interface Bench {
  readonly ports: ChunkPorts
  readonly presence: Presence
  /** Limits the calls of this process, over all of its chunks. */
  readonly limit: LimitFunction
  readonly stopping: AbortSignal
}

async function workAt(bench: Bench, chunk: TakenChunk): Promise<void> {
  const { store } = bench.ports
  const lost = new AbortController()
  const heartbeat = startHeartbeat(bench, chunk, () => lost.abort())
  try {
    const replies = writeCame(await callAll(bench, chunk, lost.signal))
    // Where somebody else has it now, what is written here is refused, and what came of it is found there.
    await store.transaction((tx) => tx.answerChunk(chunk.id, chunk.token, replies), scopeOf(chunk))
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
  } finally {
    clearInterval(heartbeat)
  }
}

/** What is written of a chunk is written of it alone: with several, a charge could wait for one and hold another. */
const scopeOf = ({ id }: TakenChunk): string => `chunk ${id}`

function startHeartbeat({ ports, presence }: Bench, chunk: TakenChunk, onLost: () => void): NodeJS.Timeout {
  const { store } = ports
  const { id, token } = chunk
  const beat = async () => {
    await presence.show()
    const { leaseUntil } = leaseFrom(ports)
    if (!(await store.transaction((tx) => tx.renewChunk(id, token, leaseUntil), scopeOf(chunk)))) onLost()
  }
  // A missed one is no failure: the token decides whether what came is kept.
  return setInterval(() => void beat().catch(() => undefined), leaseMsOf(ports) / 3).unref()
}

/** Makes calls until all are made, others would be refused, the time is up, or this process is to end. */
async function callAll(bench: Bench, chunk: TakenChunk, lost: AbortSignal): Promise<readonly Came[]> {
  const { stopping, ports, limit } = bench
  const { answering } = ports
  const calls = readCalls(chunk.calls)
  const came = await cameOf(bench, chunk, calls)
  if (!came) return calls.map(() => null)
  const open = [...came.keys()].filter((at) => came[at] === null)
  const until = performance.now() + sliceMs
  const call = callOf(bench, chunk)
  let isOver = false
  const line = async () => {
    while (!isOver && open.length > 0 && !stopping.aborted && !lost.aborted) {
      const at = open.shift() as number
      const one = await limit(() => call(calls[at] as ChunkCall))
      came[at] = one
      isOver ||= isTrouble(one) || isHeldBack(one) || performance.now() > until
    }
  }
  // Where only few are let through at a time, most of many would only be refused.
  const atOnce = isLimited(operation(chunk.operation as OperationId)) ? fewAtOnce : answering.atOnce
  await Promise.all(Array.from({ length: Math.min(atOnce, answering.atOnce, calls.length) }, line))
  return came
}

/**
 * What came of calls before any is made here: of those that may have been made already and must not be made again, nobody
 * knows. Nothing where it cannot be found out whether they may.
 */
async function cameOf(
  { ports: { answering, onTrouble } }: Bench,
  { operation: name, taken }: TakenChunk,
  calls: readonly ChunkCall[],
): Promise<Came[] | undefined> {
  const isDoubted = ({ doubted }: ChunkCall) => taken > 1 || doubted === true
  if (taken > mostTaken) return calls.map(() => notKnown)
  if (!isPriced(operation(name as OperationId)) || !calls.some(isDoubted)) return calls.map(() => null)
  try {
    const mayRepeat = await answering.mayRepeat()
    return calls.map((call) => (mayRepeat || !isDoubted(call) ? null : notKnown))
  } catch (error) {
    onTrouble(error)
    return undefined
  }
}

/** How the calls of a chunk are made: as whoever asked for its run, and only while the chunk is ours. */
function callOf(
  { ports: { answering, onTrouble } }: Bench,
  { id, token, keyId, run, operation: name, taken }: TakenChunk,
): (call: ChunkCall) => Promise<Came> {
  const row = operation(name as OperationId)
  const caller = answering.actingFor(keyId, async (tx) => {
    if (!(await tx.holdsChunk(id, token))) throw new LeaseLost()
  })
  return async ({ ordinal, fresh, key, input }) => {
    // Whoever had it before may have made any of its calls.
    const options = { idempotencyKey: key, row: { run, ordinal, fresh: fresh && taken === 1 } }
    try {
      const { text: _, ...reply } = await caller.call(row.id, input, options)
      if (answering.source !== '' || reply.status !== 503) return reply
      // The engine's own trouble with the database, which is ours; that of a server is its answer.
      onTrouble(new Error(failureOf(reply.status, reply.body).text))
      return inDoubt
    } catch (error) {
      if (error instanceof LeaseLost) throw error
      if (error instanceof ConnectionLost) return lostOf(error)
      onTrouble(error)
      if (error instanceof NotAsked) return null
      if (error instanceof ApiError) return inDoubt
      return answering.source === '' ? failed : { ...failed, unknown: true }
    }
  }
}

/** Whether the trouble is ours: the rest is left to others. */
const isTrouble = (came: Came): boolean => came === null || 'doubted' in came

/** Of a call that failed for a reason only we can understand. */
const failed: Omit<Reply, 'text'> = {
  status: 500,
  body: errorBody(new ApiError('internal')),
  headers: {},
  credits: 0,
}

/** Of a call that may have been made by somebody who has not said what came of it. */
const notKnown: Came = {
  status: 503,
  body: { error: 'The outcome is not known' },
  headers: {},
  credits: 0,
  unknown: true,
}
