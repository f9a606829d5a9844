import { afterEach, expect, it } from 'vitest'
import type { PeopleFilters } from '../../../src/api/ports/ports.js'
import { type Catalogue, openCatalogue } from '../../../src/catalogue/catalogue.js'
import { postgresCopy } from '../../../src/catalogue/dialect/postgres.js'
import { copiedTables, copyCatalogue } from '../../../src/catalogue/export/export.js'
import { kinds } from '../../../src/catalogue/kinds/kind.js'
import { openShared } from '../../../src/storage/database/open.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'
import { freshSchema } from '../../support/postgres.js'
import { countedIds, exported, loadPart, stillClock } from '../open.js'

const folder = perTest(newFolder)
const schema = perTest(freshSchema)
const drivers: Driver[] = []
afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.close()
})

async function opened(driver: Driver): Promise<{ driver: Driver; catalogue: Catalogue }> {
  drivers.push(driver)
  return { driver, catalogue: await openCatalogue(driver, { clock: stillClock, ids: countedIds() }) }
}
const inFile = (name: string) => opened(openSqlite(folder.at(name)))

const said = async (catalogue: Catalogue): Promise<string> =>
  JSON.stringify(await Promise.all(kinds.map((kind) => exported(catalogue, kind))))

/** Rules and indexes, by their statements. */
const built = () =>
  schema.sql(`SELECT indexdef AS def FROM pg_indexes WHERE schemaname = '${schema.name}_catalogue'
    UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = '${schema.name}_catalogue'::regnamespace ORDER BY def`)

it('P40: a catalogue that is copied to a server and back to a file is the same, byte for byte', async () => {
  const [first, server] = [await inFile('first.db'), await opened(await openShared(schema.url))]
  await loadPart(first.catalogue)
  const [expected, rules] = [await said(first.catalogue), await built()]
  const copied = await copyCatalogue(first.driver, server.driver)
  expect(copied).toMatchObject({ rows: expect.any(Number) })
  expect(await said(server.catalogue)).toBe(expected)
  expect(await built()).toEqual(rules)
  const back = await inFile('back.db')
  expect(await copyCatalogue(server.driver, back.driver)).toEqual(copied)
  expect(await said(back.catalogue)).toBe(expected)

  // They are searched by the same words, and go on in the same way.
  const now = stillClock.now()
  const filters: PeopleFilters = { keyword: 'sales', excluded_job_titles: ['head'] }
  const search = { kind: 'people', filters } as const
  const [found, found2] = [await first.catalogue.count(search, now), await back.catalogue.count(search, now)]
  expect(found).toBeGreaterThan(10)
  expect([found2, await server.catalogue.count(search, now)]).toEqual([found, found])
  const more = [
    {
      id: '00000000-0000-4000-8000-00000000abcd',
      domain: 'new.example',
      technologies: ['node-js', 'quite-new'],
    },
  ]
  for (const { catalogue } of [first, server, back])
    expect(await catalogue.importRecords('companies', more)).toMatchObject({ added: 1, rejectedTotal: 0 })
  expect(await said(server.catalogue)).toBe(await said(first.catalogue))
  expect(await said(back.catalogue)).toBe(await said(first.catalogue))
})

it('copying a catalogue fails once when the server refuses a row, whatever is sent after it', async () => {
  const { driver } = await opened(await openShared(schema.url))
  const rows = (key: number) => [{ key, slug: key === 1 ? null : `s${key}`, name: 'S', category: null }]
  const copying = driver.transaction(async (connection) => {
    const tables = copiedTables()
    const target = postgresCopy.createTarget(connection, tables)
    await target.begin?.()
    for (const table of tables.filter(({ name }) => name === 'technologies'))
      for (const key of [1, 2, 3]) await target.add(table, rows(key))
  })
  // Whatever is left unheard ends the process, and this test with it.
  await expect(copying).rejects.toThrow('23502')
})

it('copying a catalogue requires an empty target', async () => {
  const [first, server] = [await inFile('first.db'), await opened(await openShared(schema.url))]
  await first.catalogue.importRecords('companies', [{ domain: 'a.example' }])
  await server.catalogue.importRecords('companies', [{ domain: 'b.example' }])
  expect(await copyCatalogue(first.driver, server.driver)).toBe('not empty')
  expect(await copyCatalogue(server.driver, first.driver)).toBe('not empty')
  expect(await server.catalogue.stats()).toMatchObject({ companies: 1 })
})
