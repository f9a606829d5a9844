import { setTimeout as pause } from 'node:timers/promises'
import { answering, freePort, received } from '../../client/listeners.js'
import { type Line, machine, wordsOf } from '../../support/command.js'

/** A request that the server received. */
export interface Request {
  readonly method: string
  readonly path: string
  readonly body: Record<string, unknown>
}

/** Options with which a command receives deliveries itself. */
export async function receiving(): Promise<string[]> {
  const port = String(await freePort())
  return ['--public-url', `http://127.0.0.1:${port}`, '--receive-port', port]
}

/** A refusal of a server. */
export class Refused {
  readonly status: number
  readonly error: string

  constructor(status: number, error: string) {
    this.status = status
    this.error = error
  }
}

/** The answer of a server that closes the connection instead. */
export const cut = Symbol('cut')

/** Posts deliveries without id and signature, and returns the statuses of the answers. */
export async function post(url: unknown, ...bodies: unknown[]): Promise<number[]> {
  const statuses: number[] = []
  // Requests such as /health have no webhook address.
  if (url === undefined) return statuses
  for (const body of bodies) {
    const answer = await fetch(String(url), { method: 'POST', body: JSON.stringify(body) })
    statuses.push(answer.status)
  }
  return statuses
}

/**
 * Opens a server other than prospect, and a client that calls it. It replies with what `answer` returns, or refuses: with
 * 404 for `undefined`.
 */
export async function foreign(answer: (request: Request) => unknown) {
  const requests: Request[] = []
  const here = machine()
  const server = await answering(async (request, response) => {
    const { body } = await received(request)
    const one = {
      method: request.method ?? '',
      path: (request.url ?? '').replace(/^\/api\/v2/, '').replace(/\?.*$/, ''),
      body: (body === '' ? {} : JSON.parse(body)) as Record<string, unknown>,
    }
    requests.push(one)
    const said = answer(one) ?? new Refused(404, 'Not found')
    if (said === cut) return void request.socket.destroy()
    const [status, reply] = said instanceof Refused ? [said.status, { error: said.error }] : [200, said]
    response.writeHead(status).end(JSON.stringify(reply))
  })
  const baseUrl = `http://127.0.0.1:${server.port}/api/v2`
  return {
    baseUrl,
    requests,
    write: here.write,
    /** Runs a command against the server. Pauses take a hundredth of their time. */
    run: (line: Line, more: readonly string[] = [], stdin = '') =>
      here.run([...wordsOf(line), ...more], {
        env: { PROSPECT_BASE_URL: baseUrl, PROSPECT_API_KEY: 'a-key-of-the-server' },
        sleep: (ms, signal) => pause(ms / 100, undefined, signal && { signal }),
        stdin,
      }),
    close: async () => {
      await server.close()
      here.remove()
    },
  }
}
