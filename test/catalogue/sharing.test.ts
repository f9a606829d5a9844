import { afterEach, describe, expect, it } from 'vitest'
import type { Fields } from '../../src/api/values/objects.js'
import { type Catalogue, openCatalogue } from '../../src/catalogue/catalogue.js'
import { findIdentifiers } from '../../src/catalogue/erasure/tables.js'
import { openEngine } from '../../src/index.js'
import { openShared } from '../../src/storage/database/open.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { randomIds } from '../support/engine.js'
import { freshDatabase, freshSchema } from '../support/postgres.js'
import { until } from '../support/until.js'
import { longText, stillClock } from './open.js'

const schema = perTest(freshSchema)
const open: Catalogue[] = []
afterEach(async () => {
  for (const catalogue of open.splice(0)) await catalogue.close()
})

/** The catalogue as one more process opens it. */
async function opened(url = schema.url): Promise<Catalogue> {
  const catalogue = await openCatalogue(await openShared(url), { clock: stillClock, ids: randomIds })
  open.push(catalogue)
  return catalogue
}

const company = (number: number): Fields => ({
  domain: `c${number}.example`,
  name: `Company ${number}`,
  technologies: [`tech-${number % 7}`],
})
const person = (number: number): Fields => ({
  full_name: `Person ${number}`,
  email: `p${number}@c${number % 400}.example`,
  company_domain: `c${number % 400}.example`,
})
const from = (first: number, count: number) => Array.from({ length: count }, (_, at) => first + at)

describe('a catalogue in PostgreSQL that several processes share', () => {
  it('is created once, however many processes open it at the same time', async () => {
    const all = await Promise.all(from(0, 8).map(() => opened()))
    await all[0]?.importRecords('companies', [company(1)])
    for (const catalogue of all) expect(await catalogue.stats()).toMatchObject({ companies: 1 })
    const others = await schema.sql(
      `SELECT has_schema_privilege('public', '${schema.name}_catalogue', 'USAGE') AS may`,
    )
    expect(others).toEqual([{ may: false }])
  })

  it('has current planner statistics after a large import', async () => {
    const catalogue = await opened()
    await schema.sql(`ANALYZE ${schema.name}_catalogue.people`)
    await catalogue.importRecords('people', from(0, 1_500).map(person))
    const noted = await schema.sql(
      `SELECT relname AS table, reltuples AS rows FROM pg_class
       WHERE relnamespace = CAST('${schema.name}_catalogue' AS REGNAMESPACE) AND relname IN ('people', 'companies')
       ORDER BY relname`,
    )
    expect(noted).toEqual([
      { table: 'companies', rows: 400 },
      { table: 'people', rows: 1_500 },
    ])
  })

  it('counts full-text matches while it finds the first page', async () => {
    const catalogue = await opened()
    await catalogue.importRecords('people', from(0, 12).map(person))
    const search = { kind: 'people', filters: { keyword: 'person' } } as const
    const first = await catalogue.find(search, { limit: 5, now: stillClock.now() })
    const second = await catalogue.find(search, { limit: 5, now: stillClock.now(), after: first.next })
    expect([first, second].map(({ records, total }) => [records.length, total])).toEqual([
      [5, 12],
      [5, undefined],
    ])
  })

  it('can be read from a read-only replica', async () => {
    const first = await opened()
    await first.importRecords('companies', [company(1), company(2)])
    const readOnly = encodeURIComponent(' -c default_transaction_read_only=on')
    const replica = await opened(`${schema.url}${readOnly}`)
    expect(await replica.company({ domain: 'c2.example' })).toMatchObject({ name: 'Company 2' })
    expect(await replica.stats()).toMatchObject({ companies: 2 })
  })

  it('leaves out texts that its indexes cannot store, and imports the records without them', async () => {
    const catalogue = await opened()
    const long = longText(5_000)
    const date = '2025-01-31'
    const records = [
      { ...company(1), industry: long },
      { ...company(2), name: long, description: long, city: long },
      { ...company(3), industry_id: longText(66), industry: '\ufdfa'.repeat(66), id: longText(66) },
      { ...company(4), headcount_history: [{ date, headcount: 3, department: longText(1_000) }] },
      // As it is compared it is eleven times as long.
      { ...company(5), headcount_history: [{ date, headcount: 3, department: '\ufdfa'.repeat(66) }] },
      { ...company(6), domain: `${'a'.repeat(3_000)}.com` },
    ]
    const companies = await catalogue.importRecords('companies', records)
    expect([companies.added, companies.rejected.map(({ line }) => line)]).toEqual([5, [6]])
    expect(companies.leftOut).toMatchObject([
      { field: 'industry', values: 1 },
      { field: 'headcount_history', values: 1 },
    ])
    const people = [{ ...person(1), company_domain: `${'b'.repeat(3_000)}.com` }, person(2)]
    expect(await catalogue.importRecords('people', people)).toMatchObject({
      added: 2,
      leftOut: [{ field: 'company_domain', values: 1 }],
    })
    const profile = (name: string) => ({ network_profile_url: `https://www.network.example/in/${name}` })
    const engagers = [profile(encodeURIComponent(longText(1_000))), profile('%00'), profile('jo')]
    const posts = [{ post_url: 'https://www.network.example/posts/1', engagers }]
    expect(await catalogue.importRecords('posts', posts)).toMatchObject({
      added: 1,
      leftOut: [{ field: 'engagers', values: 2 }],
    })
  })

  it('accepts lone surrogates in records and in searches', async () => {
    const catalogue = await opened()
    const half = 'half \ud83d'
    const records = [{ ...company(1), name: half, description: half }, company(2)]
    expect(await catalogue.importRecords('companies', records)).toMatchObject({ added: 2, rejectedTotal: 0 })
    const people = [
      { ...person(1), full_name: half, title: half },
      { full_name: half, company_name: half, network_profile_url: 'https://www.network.example/in/h\udc00' },
    ]
    expect(await catalogue.importRecords('people', people)).toMatchObject({ rejectedTotal: 0 })
    expect(await catalogue.company({ domain: 'c1.example' })).toMatchObject({ name: 'half \ufffd' })
    const filters = { included_companies: ['\ud83d'], included_job_titles: ['\ud83d'] }
    expect(await catalogue.count({ kind: 'people', filters }, 0)).toBe(0)
  })

  it('attributes a phone number to a person only when nobody else has it, however many companies there are', async () => {
    const catalogue = await opened()
    const [own, colleagues, company1, far] = ['+33639980077', '+33170189900', '+33170189901', '+33170189902']
    await catalogue.importRecords('companies', [{ ...company(1), phone: company1 }])
    await catalogue.importRecords('people', [
      { ...person(1), phones: [own, colleagues, company1, far] },
      { ...person(401), phones: [colleagues] },
    ] as Fields[])
    await schema.sql(`INSERT INTO ${schema.name}_catalogue.companies (key, domain, words, record)
      VALUES (120001, 'far.example', '', '{"phone":"${far}"}'), (120002, 'not.example', '', '{"about":"${own}"}')`)
    const driver = await openShared(schema.url)
    const traces = await driver
      .read((connection) => findIdentifiers(connection, { email: 'p1@c1.example' }))
      .finally(() => driver.close())
    expect(traces.phones).toEqual([own])
  })

  it('leaves no connection open when it cannot be opened', async () => {
    const database = await freshDatabase()
    try {
      await (await openEngine({ engine: database.url })).close()
      await database.sql('UPDATE public_catalogue.schema_version SET version = 1099')
      await expect(openEngine({ engine: database.url })).rejects.toThrow('upgrade')
      await expect(opened(database.url)).rejects.toThrow('upgrade')
      const left = `SELECT count(*) AS n FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'prospect%'`
      await until(async () => Number((await database.sql(left))[0]?.n) === 0)
    } finally {
      await database.drop()
    }
  })

  it('contains no duplicates after two concurrent imports of the same records', async () => {
    const [one, other] = [await opened(), await opened()]
    const [companies, people, later] = tries([120, 80, 30], [2_500, 1_500, 500])
    const reports = await Promise.all([
      one.importRecords('companies', from(0, companies).map(company)),
      other.importRecords('companies', from(2 * later, companies).map(company)),
    ])
    expect(reports.map(({ rejectedTotal }) => rejectedTotal)).toEqual([0, 0])
    expect(reports[0].added + reports[1].added).toBe(companies + 2 * later)
    await Promise.all([
      one.importRecords('people', from(0, people).map(person)),
      other.importRecords('people', from(later, people).map(person)),
    ])
    expect(await one.stats()).toMatchObject({
      companies: companies + 2 * later,
      people: people + later,
      technologies: 7,
    })
  })
})
