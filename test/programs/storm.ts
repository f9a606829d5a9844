import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { engineOver } from '../support/engine.js'

/**
 * Pays, reads and moves the log into the database until SIGTERM. A line says what came of each call: its key or `-`, its
 * status, how many ms it took, and how long the log was when it was answered. Arguments: store, key, prefix of the
 * idempotency keys, calls at once, how often (in ms) the log is moved (0 for never).
 */
const [store = '', apiKey = '', prefix = '', atOnce = '4', everyMs = '0'] = process.argv.slice(2)

const opened = await openEngineDatabase(store)
const engine = engineOver(opened)
let [at, isOver] = [0, false]
const logSize = () => {
  try {
    return statSync(`${store}-wal`).size
  } catch {
    return 0
  }
}

async function work(): Promise<void> {
  while (!isOver) {
    const number = at++
    const pays = number % 4 !== 3
    const key = pays ? `${prefix}${number}` : '-'
    const began = performance.now()
    const { status } = pays
      ? await engine.call('accounts.enrich', { domain: 'known.example' }, { apiKey, idempotencyKey: key })
      : await engine.call('credits.show', {}, { apiKey })
    process.stdout.write(`${key} ${status} ${(performance.now() - began).toFixed(1)} ${logSize()}\n`)
  }
}

if (everyMs !== '0') {
  const other = new Database(store)
  other.pragma('busy_timeout = 0')
  setInterval(() => {
    try {
      other.pragma('wal_checkpoint(TRUNCATE)')
    } catch {
      // Somebody else is at it.
    }
  }, Number(everyMs)).unref()
}
process.once('SIGTERM', () => {
  isOver = true
})
await Promise.all(Array.from({ length: Number(atOnce) }, work))
await engine.close()
process.exit()
