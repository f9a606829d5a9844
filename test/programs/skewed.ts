import { sharedClock } from '../../src/engine/clock.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { engineOver } from '../support/engine.js'

/**
 * Asks for something with a limit again and again, on a machine whose clock is wrong. A line says the true time, the
 * status and in how many seconds the window is over. Arguments: store, key, by how many ms the clock is wrong, how long.
 */
const [store = '', apiKey = '', skew = '0', forMs = '0'] = process.argv.slice(2)

const clock = { now: () => Date.now() + Number(skew) }
const opened = await openEngineDatabase(store, clock.now)
const engine = engineOver(opened, sharedClock(opened, clock))
const until = performance.now() + Number(forMs)
while (performance.now() < until) {
  const { status, headers } = await engine.call('accounts.technologies', {}, { apiKey })
  process.stdout.write(`${Date.now()} ${status} ${headers['x-ratelimit-reset-after'] ?? '-'}\n`)
  await new Promise((resolve) => setTimeout(resolve, status === 429 ? 100 : 20))
}
await engine.close()
