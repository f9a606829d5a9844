import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { openCatalogue } from '../../../src/catalogue/catalogue.js'
import { catalogueSchema } from '../../../src/catalogue/schema/schema.js'
import { engineSchema, openEngineDatabase } from '../../../src/engine/tables/schema.js'
import { migrate, newestVersion, storedNumber } from '../../../src/storage/database/migrate.js'
import { openShared } from '../../../src/storage/database/open.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { openState, stateSchema } from '../../../src/storage/state/open.js'
import { countedIds, stillClock } from '../../catalogue/open.js'
import { perFile } from '../../support/each.js'
import { acceptedThen, databases, readFixture, unpackDatabase } from '../../support/home-0.1.js'
import { newFolder } from '../../support/new-folder.js'
import { freshSchema } from '../../support/postgres.js'
import { postgresShape } from '../../support/postgres-shape.js'

const schemas = { engine: engineSchema, state: stateSchema, catalogue: catalogueSchema }

/**
 * What a SQLite database is made of. Blanks do not count: a column that was added to a table stands in its text as it was
 * added. Nor do statistics, which ANALYZE makes.
 */
function sqliteShape(path: string): string[] {
  const database = new Database(path, { readonly: true })
  const texts = database
    .prepare<[], string>("SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema")
    .pluck()
    .all()
  database.close()
  return texts
    .filter((text) => !text.startsWith('table sqlite_stat'))
    .map((text) => text.replace(/\s+/g, ' ').replace(/ ?([(),]) ?/g, '$1'))
    .sort()
}

describe('version 1 in SQLite', () => {
  const folder = perFile(newFolder)

  it.each(databases)('is what %s of a build before the release becomes', async (name) => {
    const [then, now] = [folder.at(`${name}-then.db`), folder.at(`${name}-now.db`)]
    unpackDatabase(name, then)
    const before = sqliteShape(then)
    for (const place of [then, now]) {
      const driver = openSqlite(place)
      await migrate(driver, { ...schemas[name], steps: [] })
      await driver.close()
    }
    expect(sqliteShape(now)).toEqual(sqliteShape(then))
    const others = (shape: readonly string[]) =>
      shape.filter((text) => !/^(?:index jobs_due|table run_files)/.test(text))
    expect(others(sqliteShape(then))).toEqual(others(before))
  })
})

/** The statements of version 1 that make the tables to which a later version added columns. */
const spendingThen = (stateSchema.first.postgres ?? '')
  .split(';')
  .filter((sql) => /TABLE (?:spending|passed_work) |passed_work_started/.test(sql))
  .join(';')

describe('version 1 in PostgreSQL', () => {
  const schema = perFile(freshSchema)

  const places = () => ({
    engine: schema.name,
    state: `${schema.name}_state`,
    catalogue: `${schema.name}_catalogue`,
  })
  const openAll = async () => {
    for (const open of [
      () => openEngineDatabase(schema.url),
      () => openState(schema.url),
      async () => await openCatalogue(await openShared(schema.url), { clock: stillClock, ids: countedIds() }),
    ])
      await (await open()).close()
  }
  const numbers = () =>
    Promise.all(
      databases.map(
        async (name) => (await schema.sql(`SELECT version FROM ${places()[name]}.schema_version`))[0],
      ),
    )

  it('is what the databases of a build before the release become', async () => {
    await openAll()
    const shapes = () => Promise.all(databases.map((name) => postgresShape(schema.sql, places()[name])))
    const before = await shapes()
    await schema.sql(`DROP TABLE providers, provider_orders, provider_calls, provider_budgets;
      ALTER TABLE members DROP COLUMN removed_at; ALTER TABLE keys DROP COLUMN name, DROP COLUMN used_at;
      DROP TABLE faults, suppressions, suppression_keys; DROP TABLE ${places().state}.suppressions;
      DROP TABLE ${places().state}.suppression_keys;
      DROP TABLE ${places().state}.run_files; DROP INDEX jobs_due;
      CREATE INDEX jobs_due ON jobs (created_at, id) WHERE state IN ('queued', 'running');
      DROP TABLE ${places().state}.turns; DROP INDEX ${places().state}.runs_running;
      DROP TABLE ${places().catalogue}.origins;
      SET search_path = ${places().state}; DROP TABLE spending, passed_work; ${spendingThen};
      ALTER TABLE runs DROP COLUMN workspace; RESET search_path`)
    const then = JSON.parse(readFixture('postgres.json')) as Record<string, string[]>
    for (const name of databases)
      expect([name, await postgresShape(schema.sql, places()[name])]).toEqual([name, then[name]])
    for (const name of databases)
      await schema.sql(`UPDATE ${places()[name]}.schema_version SET version = ${acceptedThen[name]}`)
    await openAll()
    expect(await numbers()).toEqual(
      databases.map((name) => ({ version: String(storedNumber(newestVersion(schemas[name]))) })),
    )
    expect(await shapes()).toEqual(before)
  })
})
