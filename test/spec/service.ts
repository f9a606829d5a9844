import { hasBody } from '../../src/api/operations/facts.js'
import { type OperationId, operation, operations } from '../../src/api/operations/table.js'
import type { Provider } from '../../src/api/ports/ports.js'
import { handler } from '../../src/http/handler.js'
import { workerOf } from '../engine/fake-sender.js'
import { type Bench, openBench } from '../support/engine.js'
import { type Fields, requests } from './requests.js'

/** An answer as it came over HTTP. */
export interface Answer {
  readonly status: number
  readonly body: Fields
  readonly headers: Headers
}

export interface Asking {
  /** `null` sends no key at all. */
  readonly key?: string | null
  readonly idempotencyKey?: string
}

/** The whole service in memory, asked over HTTP. */
export interface Service extends Bench {
  /** Sends a request of an operation: its usual one unless fields are given. */
  ask(id: OperationId, fields?: Fields, asking?: Asking): Promise<Answer>
  /** The same by method and path, as the specification writes them: `POST /accounts/`. */
  at(endpoint: string, fields?: Fields, asking?: Asking): Promise<Answer>
  /** Does all accepted work and delivers its events; answers the bodies. */
  work(): Promise<readonly Fields[]>
  /** A key of another member of the workspace. */
  colleague(): Promise<string>
}

/** Everybody has an address and a number. */
const provider: Provider = {
  name: 'test',
  email: () => ({ email: 'ada@known.example', status: 'valid' }),
  phones: () => [{ number: '+33639980001', type: 'mobile', country_code: 'FR' }],
}

/** Opens the service with a workspace, a member, a key, 1,000 credits, the plan growth, and something to find. */
export async function openService(): Promise<Service> {
  const bench = await openBench()
  const uses = [{ name: 'React', slug: 'react', confidence: 1 }]
  Object.assign(bench.source, { matches: 3, openJobs: 2, people: 4, uses, ladder: [provider] })
  const serve = handler({ caller: bench.caller, version: 'test', document: async () => ({}) })
  const ask = async (id: OperationId, fields: Fields = requests[id], asking: Asking = {}) => {
    const { key = bench.key, idempotencyKey } = asking
    const headers = new Headers({ 'content-type': 'application/json' })
    if (key !== null) headers.set('x-api-key', key)
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
    const response = await serve(requestOf(id, fields, headers))
    return { status: response.status, body: (await response.json()) as Fields, headers: response.headers }
  }
  return {
    ...bench,
    ask,
    at: (endpoint, fields, asking) => ask(idOf(endpoint), fields, asking),
    work: async () => {
      const { sender, worker } = workerOf(bench)
      await worker.drain()
      return sender.bodies()
    },
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

function requestOf(id: OperationId, fields: Fields, headers: Headers): Request {
  const { method, path } = operation(id)
  const url = `http://127.0.0.1:4010/api/v2${path.replace(/\{(\w+)\}/g, (_, name: string) => String(fields[name]))}`
  if (hasBody({ method })) return new Request(url, { method, headers, body: JSON.stringify(fields) })
  const rest = Object.entries(fields).filter(([name]) => !path.includes(`{${name}}`))
  const query = new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]))
  return new Request(`${url}?${query}`, { method, headers })
}
