import type { OperationId } from '../../src/api/operations/table.js'
import { sharedClock } from '../../src/engine/clock.js'
import { createEngine } from '../../src/engine/request/engine.js'
import { openStore } from '../../src/storage/engine/store.js'
import { randomIds, TestSource } from '../support/engine.js'

/**
 * Calls one operation from a process of its own and prints what came back, a line a call.
 * Arguments: store, key, operation, calls, calls at once, prefix of the idempotency keys (or -), by how
 * many ms the clock of this machine is wrong.
 */
const [store = '', apiKey = '', operation = '', calls = '0', atOnce = '1', prefix = '-', skew = '0'] =
  process.argv.slice(2)

const clock = { now: () => Date.now() + Number(skew) }
const opened = await openStore(store, clock.now)
const engine = createEngine({
  ...{ store: opened, source: new TestSource(), ids: randomIds },
  clock: sharedClock(opened, clock),
})

let next = 0
async function work(): Promise<void> {
  for (let at = next++; at < Number(calls); at = next++) {
    const idempotencyKey = prefix === '-' ? undefined : `${prefix}${at}`
    const input = operation === 'accounts.enrich' ? { domain: 'known.example' } : {}
    const reply = await engine.call(operation as OperationId, input, { apiKey, idempotencyKey })
    const replayed = reply.headers['idempotent-replayed'] ? 'replayed' : 'executed'
    process.stdout.write(`${at} ${reply.status} ${replayed}\n`)
  }
}

await Promise.all(Array.from({ length: Number(atOnce) }, work))
await engine.close()
