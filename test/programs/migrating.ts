import { migrations as catalogue } from '../../src/catalogue/schema/sqlite.js'
import { type Migration, migrate, versionOf } from '../../src/storage/database/migrate.js'
import type { Connection, Driver } from '../../src/storage/driver/connection.js'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'
import { migrations as engine } from '../../src/storage/engine/migrations.js'
import { stateMigrations as state } from '../../src/storage/state/open.js'

/**
 * Brings a database to a step of its schema, and kills itself behind a statement of that. Prints how many statements there
 * were. Arguments: file, engine, state or catalogue, the step (0 for the newest), the statement (0 for none).
 */
const [file = '', kind = '', step = '0', deadly = '0'] = process.argv.slice(2)
const all = ({ engine, state, catalogue } as Record<string, readonly Migration[]>)[kind] ?? []
const wanted = all.slice(0, Number(step) || all.length)
let statements = 0

const counted = () => {
  if (++statements === Number(deadly)) process.kill(process.pid, 'SIGKILL')
}

/** The statements of a text; one that makes a trigger ends with END. */
function apart(text: string): string[] {
  const found: string[] = []
  let [one, isTrigger] = ['', false]
  for (const line of text.split('\n')) {
    one += `${line}\n`
    isTrigger ||= /^\s*CREATE TRIGGER/.test(line)
    if (!line.trim().endsWith(';') || (isTrigger && !/\bEND;\s*$/.test(line))) continue
    found.push(one)
    ;[one, isTrigger] = ['', false]
  }
  return one.trim() === '' ? found : [...found, one]
}

const watched = (connection: Connection): Connection => ({
  ...connection,
  run: (sql, ...values) => {
    const changed = connection.run(sql, ...values)
    counted()
    return changed
  },
  exec: (sql) => {
    for (const statement of apart(sql)) {
      connection.exec(statement)
      counted()
    }
  },
})

const database = openSqlite(file)
const driver: Driver = {
  ...database,
  transaction: (work, scope) => database.transaction((connection) => work(watched(connection)), scope),
}
await migrate(driver, wanted)
const version = await database.read((connection) => versionOf(connection))
await database.close()
process.stdout.write(`${statements} ${version}\n`)
