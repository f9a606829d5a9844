import { setTimeout as pause } from 'node:timers/promises'
import type { Provider, Sender } from '../../src/api/ports/ports.js'
import { createSender } from '../../src/client/sender.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { createWorker } from '../../src/engine/worker/worker.js'
import { randomIds, TestSource } from '../support/engine.js'

/**
 * Does accepted work in a process of its own until SIGTERM, or until it ends itself.
 * Arguments: store, lease in ms, pause before each answer of the source in ms, records that a search finds, and where
 * it kills itself: before-send, after-send, or -.
 */
const [store = '', leaseMs = '1000', slowness = '0', matches = '0', end = '-'] = process.argv.slice(2)

const source = new TestSource()
const ladder: Provider = {
  name: 'test',
  email: ({ lastName }) =>
    lastName === 'Nobody' ? undefined : { email: 'a@known.example', status: 'valid' },
}
source.ladder = [ladder]
source.matches = Number(matches)
source.before = () => pause(Number(slowness))
source.providers = () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(slowness) / 4)
  return [ladder]
}

const die = () => process.kill(process.pid, 'SIGKILL')

/** A sender that a process does not survive. */
const deadly = (sender: Sender): Sender => ({
  ...sender,
  send: async (attempt) => {
    if (end === 'before-send') die()
    const attempted = await sender.send(attempt)
    if (end === 'after-send') die()
    return attempted
  },
})

const opened = await openEngineDatabase(store)
const sender = createSender()
const worker = createWorker({
  store: opened,
  source,
  ids: randomIds,
  clock: { now: Date.now },
  sender: end === '-' ? sender : deadly(sender),
  targets: () => ({ allow: [], loopback: true }),
  leaseMs: Number(leaseMs),
})
process.once('SIGTERM', async () => {
  await worker.stop()
  await opened.close()
  await sender.close()
})
worker.start()
process.stdout.write('working\n')
