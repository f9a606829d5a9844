import { beforeAll, describe, expect, it } from 'vitest'
import { sqliteBulk } from '../../../src/catalogue/dialect/sqlite.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { sample, tries } from '../../support/effort.js'
import { newFolder } from '../../support/new-folder.js'
import { start } from '../../support/processes.js'
import { bundled } from '../../support/programs.js'
import { openEmpty } from '../open.js'

const count = tries(4_500, 7_000)

let program: string
beforeAll(async () => {
  program = await bundled('programs/importer.ts')
})

const folder = perTest(newFolder)
const file = () => folder.at('catalogue.db')
const all = (driver: Driver, sql: string) => driver.read((connection) => connection.all(sql))
const indexes = `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`

async function usualIndexes(): Promise<unknown> {
  const driver = openSqlite(':memory:')
  const catalogue = await openEmpty(driver)
  const usual = await all(driver, indexes)
  await catalogue.close()
  return usual
}

const kills: readonly (readonly [when: string, end: string, committed: number])[] = [
  ['while it reads', '4000', 2_000],
  ['before it builds its first index', 'index-1', count],
  ['before it builds its third index', 'index-3', count],
]

describe.each(sample(kills, 2))('a catalogue whose first import was killed %s', (_, end, committed) => {
  it('is complete after opening, has its indexes, and accepts the import again', async () => {
    const { child, ended } = start(program, file(), String(count), end)
    await ended
    expect(child.signalCode).toBe('SIGKILL')
    const driver = openSqlite(file())
    expect(await driver.read((connection) => sqliteBulk.hasDeferredIndexes(connection))).toBe(true)

    const catalogue = await openEmpty(driver)
    const { companies: kept } = await catalogue.stats()
    expect(kept).toBeGreaterThanOrEqual(committed)
    expect(await all(driver, indexes)).toEqual(await usualIndexes())
    expect(await all(driver, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
    const last = { domain: `c${kept - 1}.example`, name: `Company ${kept - 1}` }
    expect(await catalogue.company({ name: last.name })).toMatchObject(last)
    const url = `https://network.example/company/c${kept - 1}`
    expect(await catalogue.company({ url })).toMatchObject(last)
    expect(await catalogue.company({ domain: `c${kept}.example` })).toBeUndefined()
    const words = 'SELECT count(*) AS n FROM companies_text WHERE companies_text MATCH '
    expect(await all(driver, `${words}'company'`)).toEqual([{ n: kept }])

    await catalogue.close()
    await start(program, file(), String(count), '-').ended
    const again = await openEmpty(openSqlite(file()))
    expect((await again.stats()).companies).toBe(count)
    await again.close()
  })
})
