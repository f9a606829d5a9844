import type { Ids } from '../../src/api/ports/ports.js'
import { createRemote, type Remote, type RemoteOptions } from '../../src/client/remote.js'
import { handler } from '../../src/http/handler.js'
import { listen } from '../../src/http/listen.js'
import { openBench, randomIds } from '../support/engine.js'

/** A sleep that returns at once and records the durations it was given. */
export function sleeper() {
  const slept: number[] = []
  return { slept, sleep: async (ms: number) => void slept.push(ms) }
}

/** A remote caller with timeouts and randomness for tests. */
export const remoteTo = (
  baseUrl: string,
  options: Partial<RemoteOptions> & { readonly ids?: Ids } = {},
): Remote =>
  createRemote({
    baseUrl,
    clock: { now: () => Date.now() },
    ids: randomIds,
    sleep: async () => {},
    random: () => 0.5,
    connectMs: 2_000,
    // For a machine with other work.
    timeoutMs: 30_000,
    ...options,
  })

/** An engine in memory behind a socket of its own. */
export type Served = Awaited<ReturnType<typeof served>>

/** Serves a new engine as `serve` does. */
export async function served() {
  const bench = await openBench()
  const serve = handler({ caller: bench.caller, version: 'test', document: async () => ({}) })
  const server = await listen({ handler: serve, host: '127.0.0.1', port: 0 })
  const close = async () => {
    await server.close()
    await bench.caller.close()
  }
  return { bench, server, close }
}
