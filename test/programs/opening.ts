import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'

/**
 * Opens new databases in the same instants as the other processes of its kind. Arguments: the folder; how many. Says `ready`,
 * takes the first instant (ms) as a line, and prints `ok` or the failure for each database.
 */
const [folder = '', count = '0'] = process.argv.slice(2)
const gapMs = 20
process.stdout.write('ready\n')
const { value } = await createInterface(process.stdin)[Symbol.asyncIterator]().next()
for (let at = 0; at < Number(count); at++) {
  while (Date.now() < Number(value) + at * gapMs) {
    // Spins: a timer would part the processes by more than the moment that matters.
  }
  const database = openSqlite(join(folder, `${at}.db`))
  const made = database.transaction((connection) => connection.exec('CREATE TABLE IF NOT EXISTS things (n)'))
  const result = await made.then(
    () => 'ok',
    (error: Error) => error.message,
  )
  await database.close()
  process.stdout.write(`${result}\n`)
}
process.exit(0)
