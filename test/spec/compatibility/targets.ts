import type { Caller, Input, Reply } from '../../../src/api/calls/caller.js'
import { renameIn, renameOut } from '../../../src/api/calls/wire-names.js'
import type { OperationId } from '../../../src/api/operations/table.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { handler } from '../../../src/http/handler.js'
import type { Subject } from '../../conformance/caller.js'
import { compositions } from '../../conformance/compositions.js'
import { type Bench, openBench, randomIds } from '../../support/engine.js'
import { fetchCaller } from '../../support/fetch-caller.js'

/** The names that a real server uses. */
export const names = { network: 'linkedin', premium: 'sales_navigator' } as const

/** The engine over HTTP with `--network-name linkedin --premium-name sales_navigator`. */
async function named(): Promise<Subject> {
  const bench = await openBench()
  const serve = handler({ caller: bench.caller, version: 'test', document: async () => ({}), names })
  const wire = fetchCaller(serve, 'http://127.0.0.1:4010/api/v2')
  const call: Caller['call'] = async (id, input, options) => {
    const reply = await wire.call(id, renameOut(input, names) as Input, options)
    return { ...reply, body: renameIn(reply.body, names) }
  }
  return { caller: { ...wire, call }, bench, close: () => bench.caller.close() }
}

/** Every way the engine is asked: the six compositions, and HTTP in the names of a real server. */
export const targets: readonly (readonly [name: string, open: () => Promise<Subject>])[] = [
  ...Object.entries(compositions),
  ['HTTP in the names of a real server', named],
]

/** Calls an operation with the key that a subject accepts. */
export const call = (
  { caller, key, bench }: Subject,
  id: OperationId,
  input: Input,
  idempotencyKey?: string,
): Promise<Reply> => caller.call(id, input, { apiKey: key ?? bench.key, idempotencyKey })

/** Does all accepted work. */
export async function work({ store, source, clock }: Bench): Promise<void> {
  const ports = { store, source, clock, ids: randomIds, targets: () => ({ allow: [], loopback: false }) }
  await createWorker(ports).drain()
}

/** Returns the id of accepted work or of a new thing. */
export function idOf({ body }: Reply): string {
  const { id, message } = body as { id?: string; message?: { id?: string } }
  return id ?? message?.id ?? ''
}
