import { catalogueSchema } from '../../src/catalogue/schema/schema.js'
import { engineSchema } from '../../src/engine/tables/schema.js'
import { migrate, readVersion, type Schema } from '../../src/storage/database/migrate.js'
import type { Connection, Driver } from '../../src/storage/driver/connection.js'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'
import { stateSchema } from '../../src/storage/state/open.js'
import { madeUp } from '../support/made-up-schema.js'

/**
 * Migrates a database to the newest version of its schema, and kills itself behind a statement of that. Prints how many
 * statements there were, and the number the database has then. Arguments: the file; engine, state, catalogue or made-up;
 * the statement (0 for none).
 */
const [file = '', kind = '', deadly = '0'] = process.argv.slice(2)
const schemas: Readonly<Record<string, Schema>> = {
  engine: engineSchema,
  state: stateSchema,
  catalogue: catalogueSchema,
  'made-up': madeUp(),
}
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

const schema = schemas[kind]
if (!schema) throw new Error(`no schema is called ${kind}`)
const database = openSqlite(file)
const driver: Driver = {
  ...database,
  transaction: (work, scope) => database.transaction((connection) => work(watched(connection)), scope),
}
await migrate(driver, schema)
const stored = await database.read((connection) => readVersion(connection))
await database.close()
process.stdout.write(`${statements} ${stored}\n`)
