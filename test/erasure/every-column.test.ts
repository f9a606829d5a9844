import { describe, expect, it } from 'vitest'
import { openCatalogue } from '../../src/catalogue/catalogue.js'
import { findSubject } from '../../src/catalogue/erasure/subject.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { erasePerson, forgetSuppressions } from '../../src/erasure/person.js'
import type { Driver, StoredRow, Value } from '../../src/storage/driver/connection.js'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'
import { openState } from '../../src/storage/state/open.js'
import { countedIds, stillClock } from '../catalogue/open.js'
import { casesOf } from '../support/fixtures.js'

/** What becomes of the columns of a table with texts. */
interface Columns {
  readonly table: string
  /** Emptied, or their row goes: each with a text that it may have, `$` for one that mentions the person. */
  readonly erased: Readonly<Record<string, string>>
  /** Ids, words, hashes and settings: nothing that is said of somebody. */
  readonly kept?: string
  /** Made of the record beside them, and made anew with it. */
  readonly derived?: string
  /** Those of members of the workspace, who are no prospects. */
  readonly own?: string
  /** What other columns need for the row to be read. */
  readonly set?: Readonly<Record<string, Value>>
}

const columns = casesOf<Columns>('erasure/columns')
const email = 'jane@acme.example'
const mention = `Ask ${email}, she knows`
const wordsIn = (text = '') => text.split(' ').filter(Boolean)

async function openAll() {
  const catalogue = openSqlite(':memory:')
  await openCatalogue(catalogue, { clock: stillClock, ids: countedIds() })
  const [engine, state] = [await openEngineDatabase(':memory:'), await openState(':memory:')]
  return { catalogue, engine, state }
}

const all = <T>(driver: Driver, sql: string) => driver.read(async (connection) => connection.all<T>(sql))

interface Column {
  readonly name: string
  readonly type: string
  readonly pk: number
}

async function tablesOf(driver: Driver): Promise<ReadonlyMap<string, readonly Column[]>> {
  const names = await all<{ name: string }>(
    driver,
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%\\_text%' ESCAPE '\\'
      AND name NOT LIKE 'sqlite%' ORDER BY name`,
  )
  const tables = new Map<string, readonly Column[]>()
  for (const { name } of names) tables.set(name, await all<Column>(driver, `PRAGMA table_info(${name})`))
  return tables
}

describe('erasing a person', () => {
  it('is decided for every column of every table that holds texts', async () => {
    const found: string[] = []
    const decided: string[] = []
    for (const [place, driver] of Object.entries(await openAll()))
      for (const [table, all] of await tablesOf(driver))
        for (const { name, type } of all) if (type === 'TEXT') found.push(`${place} ${table}.${name}`)
    for (const { table, erased, set = {}, kept, derived, own } of columns) {
      const words = [kept, derived, own].flatMap(wordsIn)
      for (const name of new Set([...Object.keys(erased), ...Object.keys(set), ...words]))
        decided.push(`${table}.${name}`)
    }
    expect(decided.sort()).toEqual(found.sort())
  })

  it('leaves no text that mentions them in any of these columns', async () => {
    const databases = await openAll()
    let count = 0
    for (const { table: place, erased, set = {} } of columns) {
      const [name = '', table = ''] = place.split(' ')
      const driver = databases[name as keyof typeof databases]
      await driver.set('foreign_keys = OFF')
      await driver.set('ignore_check_constraints = ON')
      const all = (await tablesOf(driver)).get(table) ?? []
      for (const [column, text] of Object.entries(erased)) {
        const at = ++count
        const row = all.map(({ name: one, type, pk }): Value => {
          if (one === column) return text.replace('$', mention)
          if (one in set) return set[one] ?? null
          if (one in erased) return erased[one]?.startsWith('{') ? '{}' : pk > 0 ? `k${at}` : ''
          return type === 'TEXT' ? `k${at}` : pk > 0 || one === 'number' || one === 'key' ? at : 1
        })
        const marks = all.map(() => '?').join(', ')
        const sql = `INSERT INTO ${table} (${all.map(({ name: one }) => one).join(', ')}) VALUES (${marks})`
        await driver.transaction(async (connection) => connection.run(sql, ...row))
      }
    }
    // A contact belongs to a waterfall.
    await databases.engine.transaction(async (connection) => {
      const waterfall = '{"does":"waterfall","ask":{"types":[]},"contacts":[]}'
      await connection.run(`UPDATE jobs SET plan = ? WHERE error LIKE '%@%'`, waterfall)
      await connection.run(`UPDATE enrichments SET job_id = (SELECT id FROM jobs WHERE error LIKE '%@%')`)
    })
    const mentions = async () => {
      const left: string[] = []
      for (const [place, driver] of Object.entries(databases))
        for (const [table, own] of await tablesOf(driver))
          for (const row of await all<StoredRow>(driver, `SELECT * FROM ${table}`))
            for (const { name } of own)
              if (String(row[name]).includes(email)) left.push(`${place} ${table}.${name}`)
      return left.sort()
    }
    const planted = columns.flatMap(({ table, erased }) =>
      Object.keys(erased).map((column) => `${table}.${column}`),
    )
    expect(new Set(await mentions())).toEqual(new Set(planted))
    const { catalogue, engine, state } = databases
    const found = { engine, runs: [state], ...(await findSubject(catalogue, { email })) }
    await forgetSuppressions(found, state, '', false, 0)
    await erasePerson(found, 0)
    expect(await mentions()).toEqual([])
  })
})
