import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Catalogue, openCatalogue } from '../../src/catalogue/catalogue.js'
import type { Given } from '../../src/catalogue/kind.js'
import { openShared } from '../../src/storage/catalogue-database.js'
import { randomIds } from '../helpers/engine.js'
import { freshSchema, type TestDatabase } from '../support/postgres.js'
import { stillClock } from './open.js'

let schema: TestDatabase
const open: Catalogue[] = []

beforeEach(async () => {
  schema = await freshSchema()
}, 60_000)

afterEach(async () => {
  for (const catalogue of open.splice(0)) await catalogue.close()
  await schema.drop()
}, 60_000)

/** The catalogue as one more process opens it. */
async function opened(url = schema.url): Promise<Catalogue> {
  const catalogue = await openCatalogue(await openShared(url), { clock: stillClock, ids: randomIds })
  open.push(catalogue)
  return catalogue
}

const company = (number: number): Given => ({
  domain: `c${number}.example`,
  name: `Company ${number}`,
  technologies: [`tech-${number % 7}`],
})
const person = (number: number): Given => ({
  full_name: `Person ${number}`,
  email: `p${number}@c${number % 400}.example`,
  company_domain: `c${number % 400}.example`,
})
const from = (first: number, count: number) => Array.from({ length: count }, (_, at) => first + at)

describe('a catalogue that several processes share', () => {
  it('is made by one of them, however many begin at once', { timeout: 120_000 }, async () => {
    const all = await Promise.all(from(0, 8).map(() => opened()))
    await all[0]?.importRecords('companies', [company(1)])
    for (const catalogue of all) expect(await catalogue.stats()).toMatchObject({ companies: 1 })
    const others = await schema.sql(
      `SELECT has_schema_privilege('public', '${schema.name}_catalogue', 'USAGE') AS may`,
    )
    expect(others).toEqual([{ may: false }])
  })

  it('answers from a replica, where nothing can be written', { timeout: 120_000 }, async () => {
    const first = await opened()
    await first.importRecords('companies', [company(1), company(2)])
    const readOnly = encodeURIComponent(' -c default_transaction_read_only=on')
    const replica = await opened(`${schema.url}${readOnly}`)
    expect(await replica.company({ domain: 'c2.example' })).toMatchObject({ name: 'Company 2' })
    expect(await replica.stats()).toMatchObject({ companies: 2 })
  })

  it('rejects what an index cannot hold, and goes on', { timeout: 120_000 }, async () => {
    const catalogue = await opened()
    const long = Array.from({ length: 5_000 }, (_, at) =>
      String.fromCodePoint(0x4e00 + ((at * 7_919) % 20_000)),
    ).join('')
    const records = [
      company(1),
      { ...company(2), industry: long },
      { ...company(3), name: long, description: long },
    ]
    const { added, rejected } = await catalogue.importRecords('companies', records)
    expect(added).toBe(2)
    expect(rejected).toMatchObject([{ line: 2 }])
  })

  it('has no record twice when two import the same at once', { timeout: 120_000 }, async () => {
    const [one, other] = [await opened(), await opened()]
    const reports = await Promise.all([
      one.importRecords('companies', from(0, 2_500).map(company)),
      other.importRecords('companies', from(1_000, 2_500).map(company)),
    ])
    expect(reports.map(({ rejectedTotal }) => rejectedTotal)).toEqual([0, 0])
    expect(reports[0].added + reports[1].added).toBe(3_500)
    await Promise.all([
      one.importRecords('people', from(0, 1_500).map(person)),
      other.importRecords('people', from(500, 1_500).map(person)),
    ])
    expect(await one.stats()).toMatchObject({ companies: 3_500, people: 2_000, technologies: 7 })
  })
})
