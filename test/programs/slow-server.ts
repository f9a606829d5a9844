import { setTimeout as pause } from 'node:timers/promises'
import { sharedClock } from '../../src/engine/clock.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { handler } from '../../src/http/handler.js'
import { listen } from '../../src/http/listen.js'
import { engineOver, TestSource } from '../support/engine.js'

/**
 * Serves an engine whose source takes long. Prints its base address, then a line for each question to the source.
 * Arguments: store, how long the source takes in ms.
 */
const [location = '', forMs = '0'] = process.argv.slice(2)

const store = await openEngineDatabase(location)
const source = new TestSource()
source.before = async () => {
  process.stdout.write('asked\n')
  await pause(Number(forMs))
}
const caller = engineOver(store, sharedClock(store, { now: Date.now }), source)
const app = handler({ caller, version: 'test', document: async () => ({}) })
const { baseUrl, close } = await listen({ handler: app, host: '127.0.0.1', port: 0 })
process.stdout.write(`${baseUrl}\n`)
process.once('SIGTERM', async () => {
  await close()
  await caller.close()
  process.exit()
})
