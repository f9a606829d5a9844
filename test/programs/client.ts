import { compose } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { sharedClock } from '../../src/engine/clock.js'
import { createServerLimit } from '../../src/engine/credits/server-limit.js'
import { guardCaller } from '../../src/engine/request/proxy-guard.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { remoteTo } from '../client/serving.js'
import { engineOver } from '../support/engine.js'

/**
 * Calls one operation from a process of its own and prints what came back, a line a call.
 * Arguments: store, key, operation, calls, calls at once, prefix of the idempotency keys (or -), by how
 * many ms the clock of this machine is wrong, and for a governed proxy the server's address and its key.
 */
const [
  store = '',
  apiKey = '',
  operation = '',
  calls = '0',
  atOnce = '1',
  prefix = '-',
  skew = '0',
  ...upstream
] = process.argv.slice(2)

const clock = { now: () => Date.now() + Number(skew) }
const opened = await openEngineDatabase(store, clock)
const shared = { store: opened, clock: sharedClock(opened, clock) }
const [server, serverKey = ''] = upstream
const engine =
  server === undefined
    ? engineOver(opened, shared.clock)
    : compose(
        [
          guardCaller({ ...shared, apiKey: serverKey, sleep: async () => {} }),
          createServerLimit({ ...shared, server }).layer,
        ],
        // A call that is given up stays counted at its maximum, and a busy machine is slow.
        remoteTo(server, { connectMs: 60_000, timeoutMs: 60_000 }),
      )

let next = 0
async function work(): Promise<void> {
  for (let at = next++; at < Number(calls); at = next++) {
    const idempotencyKey = prefix === '-' ? undefined : `${prefix}${at}`
    // Through a proxy every third call finds nothing, so that what was counted for it is given back.
    const domain = server !== undefined && at % 3 === 0 ? 'nobody.example' : 'known.example'
    const input = operation === 'accounts.enrich' ? { domain } : {}
    const reply = await engine.call(operation as OperationId, input, { apiKey, idempotencyKey })
    const replayed = reply.headers['idempotent-replayed'] ? 'replayed' : 'executed'
    process.stdout.write(`${at} ${reply.status} ${replayed}\n`)
  }
}

await Promise.all(Array.from({ length: Number(atOnce) }, work))
await engine.close()
if (server !== undefined) await opened.close()
