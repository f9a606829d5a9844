import type { DeliveryAttempt, DeliveryResult, Sender } from '../../src/api/ports/ports.js'
import type { WorkerPorts } from '../../src/engine/jobs/progress.js'
import { createWorker } from '../../src/engine/worker/worker.js'
import { type Bench, openBench, randomIds } from '../support/engine.js'

type Answer = Partial<DeliveryResult> | undefined

/** A sender whose receivers answer as a test wants; it keeps what it was asked to send, in order. */
export class FakeSender implements Sender {
  readonly attempts: DeliveryAttempt[] = []
  /** What comes of an attempt; a success unless it says otherwise. */
  answer: (attempt: DeliveryAttempt) => Answer | Promise<Answer> = () => undefined

  async send(attempt: DeliveryAttempt): Promise<DeliveryResult> {
    this.attempts.push(attempt)
    const answer = await this.answer(attempt)
    return { status: 200, error: null, ms: 1, ...answer }
  }

  async check(): Promise<undefined> {}

  async close(): Promise<void> {}

  /** The bodies sent so far. */
  bodies(): Record<string, unknown>[] {
    return this.attempts.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
  }
}

/** What came of an attempt that was answered with an error. */
export const answered = (status: number, retryAfterMs?: number): Partial<DeliveryResult> => ({
  status,
  error: `The receiver answered ${status}`,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

/** What came of an attempt that nobody answered. */
export const unanswered: Partial<DeliveryResult> = { status: null, error: 'refused the connection' }

/** A worker's ports over a bench. */
export const portsOf = (bench: Bench, more: Partial<WorkerPorts> = {}): WorkerPorts => ({
  store: bench.store,
  source: bench.source,
  clock: bench.clock,
  ids: randomIds,
  targets: () => ({ allow: [], loopback: false }),
  ...more,
})

/** A worker over a bench that posts through a fake sender. */
export function workerOf(bench: Bench, more: Partial<WorkerPorts> = {}) {
  const sender = new FakeSender()
  return { sender, worker: createWorker(portsOf(bench, { sender, ...more })) }
}

/** A bench, and a worker over it. */
export async function openWorked() {
  const bench = await openBench()
  return { ...bench, ...workerOf(bench) }
}

/** The id of the work that a reply's body tells of. */
export const idOf = (body: unknown): string => {
  const { id, message, enrichment_id } = body as Record<string, unknown>
  return String(id ?? (message as { id?: unknown } | undefined)?.id ?? enrichment_id)
}
