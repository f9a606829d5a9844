import { ConnectionLost } from '../api/caller.js'
import { ApiError, errorBody } from '../api/errors.js'
import { isLimited, isPriced } from '../api/operation.js'
import { type OperationId, operation } from '../api/table.js'
import type { Answering } from './answering.js'
import { type Came, type ChunkCall, isHeldBack, lostOf, readCalls, writeCame } from './chunk.js'
import { type Presence, presenceOf } from './chunk-presence.js'
import { Crew, type Trade } from './crew.js'
import { leaseFrom, leaseMsOf } from './lease.js'
import { Places } from './places.js'
import { dueWork, type TakenChunk } from './ports.js'
import { LeaseLost, type WorkerPorts } from './progress.js'

/** A chunk that so many processes ended with is not worked at again; it may not have been its fault. */
const mostTaken = 10
/** No further call of a chunk is made after so long: others may be free to make it. */
const sliceMs = 2_000
const fewAtOnce = 8

/** What it takes to take part in runs that are spread over machines. */
export interface ChunkPorts extends Pick<WorkerPorts, 'store' | 'clock' | 'ids' | 'leaseMs'> {
  readonly answering: Answering
  /** Told of what failed: it will be tried again, here or elsewhere. */
  readonly onTrouble: (error: unknown) => void
}

/** Takes up chunks, makes their calls, and writes down what came of them, until it is stopped. */
export async function takePart(ports: ChunkPorts, stopping: AbortSignal): Promise<void> {
  const { store, answering, onTrouble } = ports
  const presence = presenceOf(ports, answering.source)
  const calling = new Places(answering.atOnce)
  const trade: Trade<TakenChunk> = {
    take: () => take(ports, presence),
    work: (chunk) => workAt({ ports, presence, calling, stopping }, chunk),
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
  const { store, ids, answering } = ports
  const { source } = answering
  const { runs, dead, isDue } = await store.read((reads) => reads.chunkWork(source, leaseFrom(ports)))
  if (runs > 0) await presence.show()
  if (dead > 0) await presence.tidy()
  if (!isDue) return undefined
  const token = ids.uuid()
  return await store.transaction((tx) => tx.claimChunk({ token, source, ...leaseFrom(ports) }), dueWork)
}

/** What a chunk is worked at with. */
interface Bench {
  readonly ports: ChunkPorts
  readonly presence: Presence
  readonly calling: Places
  readonly stopping: AbortSignal
}

async function workAt(bench: Bench, chunk: TakenChunk): Promise<void> {
  const { store } = bench.ports
  const lost = new AbortController()
  const heartbeat = startHeartbeat(bench, chunk, () => lost.abort())
  try {
    const replies = writeCame(await callAll(bench, chunk, lost.signal))
    // Where somebody else has it now, what is written here is refused, and what came of it is found there.
    await store.transaction((tx) => tx.answerChunk(chunk.id, chunk.token, replies), dueWork)
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
  } finally {
    clearInterval(heartbeat)
  }
}

function startHeartbeat(
  { ports, presence }: Bench,
  { id, token }: TakenChunk,
  onLost: () => void,
): NodeJS.Timeout {
  const { store } = ports
  const beat = async () => {
    await presence.show()
    const { leaseUntil } = leaseFrom(ports)
    if (!(await store.transaction((tx) => tx.renewChunk(id, token, leaseUntil), dueWork))) onLost()
  }
  // A missed one is no failure: the token decides whether what came is kept.
  return setInterval(() => void beat().catch(() => undefined), leaseMsOf(ports) / 3).unref()
}

/** Makes calls until all are made, others would be refused, the time is up, or this process is to end. */
async function callAll(bench: Bench, chunk: TakenChunk, lost: AbortSignal): Promise<readonly Came[]> {
  const { stopping, ports, calling } = bench
  const { answering } = ports
  const calls = readCalls(chunk.calls)
  const came: Came[] = calls.map(() => null)
  const until = performance.now() + sliceMs
  const call = await callOf(bench, chunk)
  let [next, isOver] = [0, false]
  const line = async () => {
    while (!isOver && next < calls.length && !stopping.aborted && !lost.aborted) {
      const at = next++
      came[at] = await calling.during(() => call(calls[at] as ChunkCall))
      isOver ||= isHeldBack(came[at]) || performance.now() > until
    }
  }
  // Where only few are let through at a time, most of many would only be refused.
  const atOnce = isLimited(operation(chunk.operation as OperationId)) ? fewAtOnce : answering.atOnce
  await Promise.all(Array.from({ length: Math.min(atOnce, answering.atOnce, calls.length) }, line))
  return came
}

/** How the calls of a chunk are made: as whoever asked for its run, and only while the chunk is ours. */
async function callOf(
  { ports: { answering, onTrouble } }: Bench,
  { id, token, keyId, run, operation: name, taken }: TakenChunk,
): Promise<(call: ChunkCall) => Promise<Came>> {
  const row = operation(name as OperationId)
  const isFirst = taken === 1
  // Whoever had it before may have made any of its calls.
  if (taken > mostTaken || (!isFirst && isPriced(row) && !(await answering.mayRepeat())))
    return async () => notKnown
  const caller = answering.actingFor(keyId, async (tx) => {
    if (!(await tx.holdsChunk(id, token))) throw new LeaseLost()
  })
  return async ({ ordinal, fresh, key, input }) => {
    const options = { idempotencyKey: key, row: { run, ordinal, fresh: fresh && isFirst } }
    try {
      const { text: _, ...reply } = await caller.call(row.id, input, options)
      return reply
    } catch (error) {
      if (error instanceof LeaseLost) throw error
      if (error instanceof ConnectionLost) return lostOf(error)
      onTrouble(error)
      return failed
    }
  }
}

/** Of a call that failed for a reason only we can understand. */
const failed: Came = { status: 500, body: errorBody(new ApiError('internal')), headers: {}, credits: 0 }

/** Of a call that may have been made by somebody who has not said what came of it. */
const notKnown: Came = {
  status: 503,
  body: { error: 'The outcome is not known' },
  headers: {},
  credits: 0,
  unknown: true,
}
