import type { Caller, Input, Reply } from '../../../src/api/calls/caller.js'
import { compose } from '../../../src/api/calls/caller.js'
import { renameIn, renameOut } from '../../../src/api/calls/wire-names.js'
import type { OperationId } from '../../../src/api/operations/table.js'
import { governed } from '../../../src/client/governed.js'
import { createAdmin } from '../../../src/engine/admin/admin.js'
import { guardCaller } from '../../../src/engine/request/proxy-guard.js'
import { openEngineDatabase } from '../../../src/engine/tables/schema.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { handler } from '../../../src/http/handler.js'
import { listen } from '../../../src/http/listen.js'
import { openState } from '../../../src/storage/state/open.js'
import { serverMemory } from '../../../src/storage/state/remote-servers.js'
import { remoteTo } from '../../client/serving.js'
import type { Subject } from '../../conformance/caller.js'
import { compositions } from '../../conformance/compositions.js'
import { idOf as idIn, portsOf } from '../../engine/fake-sender.js'
import { type Bench, openBench, randomIds } from '../../support/engine.js'
import { fetchCaller } from '../../support/fetch-caller.js'

/** The names that a real server uses. */
export const names = { network: 'linkedin', premium: 'sales_navigator' } as const

/** Serves a caller in these names. */
export const serveNamed = (caller: Caller) =>
  handler({ caller, version: 'test', document: async () => ({}), names })

/** Asks a server that uses the names of a real one in our names. */
function namedCaller(serve: ReturnType<typeof serveNamed>): Caller {
  const wire = fetchCaller(serve, 'http://127.0.0.1:4010/api/v2')
  const call: Caller['call'] = async (id, input, options) => {
    const reply = await wire.call(id, renameOut(input, names) as Input, options)
    return { ...reply, body: renameIn(reply.body, names) }
  }
  return { ...wire, call }
}

/** The engine over HTTP with `--network-name linkedin --premium-name sales_navigator`. */
async function named(): Promise<Subject> {
  const bench = await openBench()
  return { caller: namedCaller(serveNamed(bench.caller)), bench, close: () => bench.caller.close() }
}

/** The same behind a governed proxy that uses these names, too. */
async function namedProxy(): Promise<Subject> {
  const bench = await openBench()
  const { clock } = bench
  const server = await listen({ handler: serveNamed(bench.caller), host: '127.0.0.1', port: 0 })
  const [state, store] = [await openState(':memory:'), await openEngineDatabase(':memory:')]
  const { key = '' } = await createAdmin({ store, clock, ids: randomIds }).init()
  const remote = remoteTo(server.baseUrl, { names })
  const guard = guardCaller({ store, clock, sleep: async () => {}, apiKey: bench.key })
  const memory = serverMemory(state, server.origin)
  const layers = governed({ memory, origin: server.origin, ids: randomIds, clock, names })
  const caller = namedCaller(serveNamed(compose([guard, ...layers], remote)))
  const close = async () => {
    for (const one of [remote, server, state, store, bench.caller]) await one.close()
  }
  return { caller, bench, key, close }
}

/** Every way the engine is asked: the six compositions, and HTTP in the names of a real server. */
export const targets: readonly (readonly [name: string, open: () => Promise<Subject>])[] = [
  ...Object.entries(compositions),
  ['HTTP in the names of a real server', named],
  ['a governed proxy in the names of a real server', namedProxy],
]

/** What every row of the operation table finds something at, without waiting for a rate limit. */
export type Plentiful = Awaited<ReturnType<typeof openPlentiful>>

/** Opens a subject with much to find, which is asked when every rate window is open again. */
export async function openPlentiful(open: () => Promise<Subject>) {
  const subject = await open()
  const { bench, close } = subject
  await bench.admin.setPlan('Scale')
  Object.assign(bench.source, { matches: 3, openJobs: 2, people: 4 })
  return {
    bench,
    close,
    ask: async (id: OperationId, input: Input, idempotencyKey?: string) => {
      bench.clock.advance(60_000)
      return await call(subject, id, input, idempotencyKey)
    },
  }
}

/** Calls an operation with the key that a subject accepts. */
export const call = (
  { caller, key, bench }: Subject,
  id: OperationId,
  input: Input,
  idempotencyKey?: string,
): Promise<Reply> => caller.call(id, input, { apiKey: key ?? bench.key, idempotencyKey })

/** Does all accepted work, and delivers nothing. */
export const work = (bench: Bench) => createWorker(portsOf(bench)).drain()

/** Returns the id of accepted work or of a new thing. */
export const idOf = ({ body }: Reply): string => idIn(body)
