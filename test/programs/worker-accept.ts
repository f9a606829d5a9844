import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { engineOver, TestSource } from '../support/engine.js'

/**
 * Has an import accepted, and kills itself at one point: in the n-th transaction, when its work is done and not yet
 * committed, or behind it. Arguments: store, key, idempotency key, point (in1, after1, in2, after2).
 */
const [location = '', apiKey = '', idempotencyKey = '', point = ''] = process.argv.slice(2)

const die = (at: string): void => {
  if (at === point) process.kill(process.pid, 'SIGKILL')
}

let transactions = 0
const store = await openEngineDatabase(location)
const deadly: Driver = {
  ...store,
  transaction: async (work, scope) => {
    // The note of a key's first use comes at any moment.
    if (scope === undefined) return store.transaction(work)
    const number = ++transactions
    const answer = await store.transaction(async (tx) => {
      const done = await work(tx)
      die(`in${number}`)
      return done
    }, scope)
    die(`after${number}`)
    return answer
  },
}

const source = new TestSource()
source.matches = 3
const engine = engineOver(deadly, undefined, source)
const input = { webhook_url: 'https://hook.example/', stacks: ['react'] }
const reply = await engine.call('intents.stack', input, { apiKey, idempotencyKey })
process.stdout.write(`${reply.status}\n`)
