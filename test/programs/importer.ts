import { openCatalogue } from '../../src/catalogue/catalogue.js'
import type { Connection, Driver } from '../../src/storage/driver/connection.js'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'
import { randomIds } from '../support/engine.js'

/**
 * Imports companies into a catalogue, and kills itself on the way. Arguments: its file, how many companies, and where it
 * ends: the number of a company that is read, or of an index that is about to be built, such as `index-2`.
 */
const [file = '', count = '0', end = ''] = process.argv.slice(2)

const die = () => process.kill(process.pid, 'SIGKILL')

/** A driver that kills the process before it builds an index. */
function killing(driver: Driver, index: number): Driver {
  let built = 0
  const watched = (connection: Connection): Connection => ({
    ...connection,
    run: (sql, ...values) => {
      if (/^CREATE INDEX/.test(sql) && ++built === index) die()
      return connection.run(sql, ...values)
    },
  })
  return { ...driver, transaction: (work) => driver.transaction((connection) => work(watched(connection))) }
}

function* companies() {
  for (let at = 0; at < Number(count); at++) {
    if (String(at) === end) die()
    yield {
      domain: `c${at}.example`,
      network_url: `https://network.example/company/c${at}`,
      name: `Company ${at}`,
    }
  }
}

const driver = killing(openSqlite(file), Number(/^index-(\d+)$/.exec(end)?.[1]))
const catalogue = await openCatalogue(driver, { clock: Date, ids: randomIds })
await catalogue.importRecords('companies', companies())
await catalogue.close()
