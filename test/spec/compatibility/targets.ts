import type { Caller, Input, Reply } from '../../../src/api/calls/caller.js'
import { renameIn, renameOut } from '../../../src/api/calls/wire-names.js'
import type { OperationId } from '../../../src/api/operations/table.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { handler } from '../../../src/http/handler.js'
import { served } from '../../client/serving.js'
import type { Subject } from '../../conformance/caller.js'
import { compositions, governedProxy } from '../../conformance/compositions.js'
import { idOf as idIn, portsOf } from '../../engine/fake-sender.js'
import type { Bench } from '../../support/engine.js'
import { fetchCaller } from '../../support/fetch-caller.js'

/** The names that a real server uses. */
export const names = { network: 'linkedin', premium: 'sales_navigator' } as const

/** Serves a caller in these names. */
export const serveNamed = (caller: Caller) =>
  handler({ caller, version: 'test', document: async () => ({}), names })

/** Asks a server that uses the names of a real one in our names. */
function namedCaller(baseUrl: string): Caller {
  const wire = fetchCaller(fetch, baseUrl)
  const call: Caller['call'] = async (id, input, options) => {
    const reply = await wire.call(id, renameOut(input, names) as Input, options)
    return { ...reply, body: renameIn(reply.body, names) }
  }
  return { ...wire, call }
}

/** The engine over HTTP with `--network-name linkedin --premium-name sales_navigator`. */
async function named(): Promise<Subject> {
  const { bench, server, close } = await served(names)
  return { caller: namedCaller(server.baseUrl), bench, close }
}

/** The same behind a governed proxy that uses these names, too. */
async function namedProxy(): Promise<Subject> {
  const { proxy, ...rest } = await governedProxy(names)
  return { caller: namedCaller(proxy.baseUrl), ...rest }
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
