import { type OperationId, operations } from '../../src/api/operations/table.js'
import type { Provider } from '../../src/api/ports/ports.js'
import { handler } from '../../src/http/handler.js'
import { workerOf } from '../engine/fake-sender.js'
import { openBench } from '../support/engine.js'
import { fetchCaller } from '../support/fetch-caller.js'
import { type Fields, requests } from './requests.js'

/** With what a request is sent: the key of the service's member unless another is given. */
interface Asking {
  readonly key?: string
  readonly idempotencyKey?: string
}

/** The whole service in memory, asked over HTTP. */
export type Service = Awaited<ReturnType<typeof openService>>

/** Everybody has an address and a number. */
const provider: Provider = {
  name: 'test',
  email: () => ({ email: 'ada@known.example', status: 'valid' }),
  phones: () => [{ number: '+33639980001', type: 'mobile', country_code: 'FR' }],
}

/** Opens the service with a workspace, a member, a key, 1,000 credits, the plan growth, and something to find. */
export async function openService() {
  const bench = await openBench()
  const uses = [{ name: 'React', slug: 'react', confidence: 1 }]
  Object.assign(bench.source, { matches: 3, openJobs: 2, people: 4, uses, ladder: [provider] })
  const serve = handler({ caller: bench.caller, version: 'test', document: async () => ({}) })
  const wire = fetchCaller(serve, 'http://127.0.0.1:4010/api/v2')
  /** Sends a request of an operation: its usual one unless fields are given. */
  const ask = async (
    id: OperationId,
    fields = requests[id],
    { key: apiKey = bench.key, idempotencyKey }: Asking = {},
  ) => {
    const { status, body, headers } = await wire.call(id, fields, { apiKey, idempotencyKey })
    return { status, body: body as Fields, headers }
  }
  return {
    ...bench,
    ask,
    /** The same by method and path, as the specification writes them: `POST /accounts/`. */
    at: (endpoint: string, fields?: Fields, asking?: Asking) => ask(idOf(endpoint), fields, asking),
    /** Does all accepted work and delivers its events; answers the bodies. */
    work: async () => {
      const { sender, worker } = workerOf(bench)
      await worker.drain()
      return sender.bodies()
    },
    /** A key of another member of the workspace. */
    colleague: async () => {
      await bench.admin.addMember({ email: 'colleague@localhost' })
      return (await bench.admin.createKey({ member: 'colleague@localhost' })).key
    },
  }
}

/** The operation behind a method and a path. */
export function idOf(endpoint: string): OperationId {
  const found = operations().find(({ method, path }) => `${method} ${path}` === endpoint)
  if (!found) throw new Error(`there is no ${endpoint}`)
  return found.id
}
