import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { catalogueSchema } from '../../src/catalogue/schema/schema.js'
import { engineSchema } from '../../src/engine/tables/schema.js'
import { newestVersion, storedNumber } from '../../src/storage/database/migrate.js'
import { stateSchema } from '../../src/storage/state/open.js'
import { ends, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { acceptedThen, databases, readFixture, storedIn, unpackHome } from '../support/home-0.1.js'

const here = perTest(machine)
beforeEach(() => unpackHome(here.home))

const schemas = { engine: engineSchema, state: stateSchema, catalogue: catalogueSchema }
const stored = () => databases.map((name) => storedIn(here.home, name))

/** Returns the database files of the home with their hashes. */
const contents = () =>
  readdirSync(here.home)
    .filter((name) => name.includes('.db'))
    .map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(here.path(name)))
        .digest('hex'),
    ])

describe('a home from before the first release', () => {
  it('keeps the ledger of a home from before the first release', async () => {
    expect(await here.json('engine ledger verify')).toEqual({ ok: true, movements: 23, problems: [] })
    expect(await here.json('engine ledger')).toEqual(JSON.parse(readFixture('ledger.json')))
    expect(await here.json('credits')).toMatchObject({ credits: { enrichment: 900 } })
    expect(await here.json('ledger check')).toMatchObject({ ledger: 21, target_says: 21, ok: true })
  })

  it('keeps the jobs, lists and personas of a home from before the first release', async () => {
    expect(await here.json('engine jobs list')).toMatchObject([
      { operation: 'contacts.enrich', state: 'finished', credits: 3 },
      { operation: 'lists.create', state: 'finished', done: 13 },
    ])
    expect(JSON.stringify(await here.json('lists list'))).toContain('Targets')
    expect(JSON.stringify(await here.json('personas list'))).toContain('Heads of sales')
  })

  it('lists the runs of an old home, and resumes the stopped one without paying twice', async () => {
    const before = [
      { status: 'stopped', rows: 20, done: 5, credits: 5 },
      { status: 'finished', rows: 13, done: 13, credits: 12 },
    ]
    const [run] = await here.json<{ id: string }[]>('runs list')
    expect(await here.json('runs list')).toMatchObject(before)
    await ends(here.run(`runs resume ${run?.id ?? ''} --max-credits 100`), 0, '5 of 20 rows')
    expect(await here.json('runs list')).toMatchObject([
      { status: 'finished', rows: 20, done: 20, credits: 20 },
      before[1],
    ])
    expect(here.read('more-enriched.csv').trimEnd().split('\n')).toHaveLength(21)
    expect(await here.json('credits')).toMatchObject({ credits: { enrichment: 885 } })
    expect(await here.json('engine ledger verify')).toMatchObject({ ok: true, movements: 38 })
  })

  it('finds the companies and people of an old home', async () => {
    expect(await here.json('data stats')).toMatchObject({ companies: 30, people: 60, jobs: 42, posts: 40 })
    expect(await here.json('accounts enrich --domain birchwood.example')).toMatchObject({
      name: 'Birchwood & Sons Ltd',
    })
    expect(await here.json('accounts search --preview --keyword robot')).toMatchObject({
      total_count: 1,
      preview: [{ company_name: 'Acme Robotics GmbH' }],
    })
  })

  it('upgrades each database to the newest version on first use, which older builds refuse', async () => {
    expect(stored()).toEqual(databases.map((name) => acceptedThen[name]))
    expect(await here.json('engine status')).toMatchObject({ schema_version: newestVersion(engineSchema) })
    await here.json('runs list')
    expect(stored()).toEqual(databases.map((name) => storedNumber(newestVersion(schemas[name]))))
    for (const name of databases) expect(storedIn(here.home, name)).toBeGreaterThan(acceptedThen[name])
  })

  it('doctor warns about an old home and leaves it unchanged', async () => {
    const before = contents()
    const { checks } = await here.json<{ checks: { name: string; status: string; text: string }[] }>('doctor')
    for (const name of databases)
      expect(checks).toContainEqual(
        expect.objectContaining({
          name: `${name} database`,
          status: 'warning',
          text: expect.stringMatching(
            /has schema version 1; its next use (?:marks it with that|upgrades that to \d)/,
          ),
        }),
      )
    expect(contents()).toEqual(before)
  })

  it('backs an old home up in a format that the older build reads', async () => {
    await here.json('engine', 'backup', here.path('before.db'))
    expect(stored()).toEqual(databases.map((name) => acceptedThen[name]))
    await here.json('credits')
    expect((await here.run(['engine', 'restore', here.path('before.db'), '--yes'])).code).toBe(0)
    expect(await here.json('engine ledger verify')).toEqual({ ok: true, movements: 23, problems: [] })
  })
})

it('refuses the home of a newer program and leaves it unchanged', async () => {
  await here.json('engine status')
  await here.json('runs list')
  for (const name of databases) {
    const database = new Database(here.path(`${name}.db`))
    database.pragma(`user_version = ${storedNumber(9)}`)
    database.close()
  }
  const before = contents()
  for (const argv of [
    ['credits'],
    ['engine', 'credits', 'add', '5'],
    ['accounts', 'enrich', '--domain', 'acme-robotics.example'],
    ['data', 'sample'],
    ['runs', 'list'],
  ]) {
    const { code, stderr } = await here.run(argv)
    expect([argv, code, stderr]).toEqual([
      argv,
      10,
      expect.stringMatching(/it has schema version 9, newer than this program's \d; upgrade prospect/),
    ])
    expect(contents()).toEqual(before)
  }
})
