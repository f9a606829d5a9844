import type { WireNames } from '../../src/api/calls/wire-names.js'
import type { OperationId } from '../../src/api/operations/table.js'
import type { Ids } from '../../src/api/ports/ports.js'
import type { ProxiedWorkLedger } from '../../src/client/proxied-work.js'
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

/** A ledger of work at a server that notes what it is told; it finds one operation behind all ids, if any. */
export function notingLedger(operation?: OperationId) {
  const noted: (readonly unknown[])[] = []
  const note =
    <T>(what: string, answer: T) =>
    async (...told: readonly unknown[]): Promise<T> => {
      noted.push([what, ...told])
      return answer
    }
  const ledger: ProxiedWorkLedger = {
    start: note('start', undefined),
    operationOf: note('operationOf', operation),
    hold: note('hold', undefined),
    finish: note('finish', undefined),
    count: note('count', undefined),
  }
  return { ledger, noted }
}

/** An engine in memory behind a socket of its own. */
export type Served = Awaited<ReturnType<typeof served>>

/** Serves a new engine as `serve` does, in the field names of a server if given. */
export async function served(names?: WireNames) {
  const bench = await openBench()
  const serve = handler({ caller: bench.caller, version: 'test', document: async () => ({}), names })
  const server = await listen({ handler: serve, host: '127.0.0.1', port: 0 })
  const close = async () => {
    await server.close()
    await bench.caller.close()
  }
  return { bench, server, close }
}
