import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import { sqliteBulk } from '../../../src/catalogue/dialect/sqlite.js'
import type { ImportReport } from '../../../src/catalogue/import/import.js'
import type { RecordKind } from '../../../src/catalogue/kinds/kind.js'
import { isGeneratedId } from '../../../src/catalogue/records/write-person.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { newFolder } from '../../support/new-folder.js'
import { exported, openEmpty } from '../open.js'

/** Records enough for an import to build its indexes at the end. */
const many = 1_010

/** Records among them that may be the same. */
const odds = 60

/** Runs out of its 80 ms with every portion of records. */
const hurried = () => {
  let time = 0
  return { now: () => (time += 80) }
}

const indexes = (driver: Driver) =>
  driver.read((connection) =>
    connection.all<{ name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`,
    ),
  )
const isUnbuilt = (driver: Driver) => driver.read((connection) => sqliteBulk.hasDeferredIndexes(connection))

const people = (from: number, to: number): Fields[] =>
  Array.from({ length: to - from }, (_, at) => ({ email: `p${from + at}@c.example` }))

const companies = (from: number, to: number): Fields[] =>
  Array.from({ length: to - from }, (_, at) => ({
    domain: `c${from + at}.example`,
    name: `Company ${from + at}`,
  }))

describe('an import into an empty table', () => {
  let driver: Driver
  let catalogue: Catalogue
  beforeEach(async () => {
    driver = openSqlite(':memory:')
    catalogue = await openEmpty(driver, hurried())
  })
  afterEach(() => catalogue.close())

  it('drops indexes while it runs, and has built all of them at its end', async () => {
    const before = await indexes(driver)
    let within: unknown
    async function* records() {
      yield* companies(0, 2_500)
      within = await indexes(driver)
      yield* companies(2_500, 3_000)
    }
    await catalogue.importRecords('companies', records())
    expect(within).not.toContainEqual(before.find(({ name }) => name === 'companies_by_name'))
    expect(await indexes(driver)).toEqual(before)
    expect(await isUnbuilt(driver)).toBe(false)
    expect(await catalogue.company({ name: 'Company 2999' })).toMatchObject({ domain: 'c2999.example' })
  })

  it('builds an index as soon as a record is looked up by it', async () => {
    let within: string[] = []
    async function* records() {
      yield* companies(0, 2_000)
      yield { network_url: 'https://network.example/company/acme' }
      yield* companies(2_000, 2_600)
      yield { network_url: 'https://network.example/company/ACME' }
      yield* companies(2_600, 4_100)
      within = (await indexes(driver)).map(({ name }) => name)
    }
    expect(await catalogue.importRecords('companies', records())).toMatchObject({ updated: 1 })
    expect(within).toContain('companies_by_slug')
    expect(within).not.toContain('companies_by_network_id')
  })

  it('builds the indexes also when it fails', async () => {
    const before = await indexes(driver)
    function* records() {
      yield* companies(0, 2_500)
      throw new Error('no more')
    }
    await expect(catalogue.importRecords('companies', records())).rejects.toThrow('no more')
    expect(await indexes(driver)).toEqual(before)
  })

  it('relaxes durability and references while it runs, and no longer', async () => {
    const settings = async () => {
      const values: unknown[] = []
      for (const name of ['foreign_keys', 'synchronous'])
        values.push(await driver.read((connection) => connection.get(`PRAGMA ${name}`)))
      return values
    }
    const before = await settings()
    const within: unknown[] = []
    async function* records(kind: string) {
      yield* kind === 'companies' ? companies(0, 2_500) : people(0, 2_500)
      within.push(await settings())
    }
    await Promise.all([
      catalogue.importRecords('companies', records('companies')),
      catalogue.importRecords('people', records('people')),
    ])
    expect(within).not.toContainEqual(before)
    expect(await settings()).toEqual(before)
  })

  it('keeps the indexes when it is small, or when the table is not empty', async () => {
    const before = await indexes(driver)
    let within: unknown
    async function* records(from: number, to: number) {
      yield* companies(from, to)
      within = await indexes(driver)
    }
    await catalogue.importRecords('companies', records(0, 500))
    expect(within).toEqual(before)
    await catalogue.importRecords('companies', records(500, 3_000))
    expect(within).toEqual(before)
  })
})

describe('during an import into an empty table', () => {
  const slug = (name: string) => `https://network.example/company/${name}`
  const folder = perTest(newFolder)
  let catalogue: Catalogue
  let other: Catalogue
  beforeEach(async () => {
    const file = () => openSqlite(folder.at('catalogue.db'))
    catalogue = await openEmpty(file())
    other = await openEmpty(file())
  })
  afterEach(() => Promise.all([catalogue.close(), other.close()]))

  /** Imports companies while `meanwhile` happens, and then one that it knows the profile of. */
  async function importAround(meanwhile: () => Promise<unknown>): Promise<ImportReport> {
    async function* records() {
      yield* companies(0, 2_500)
      await meanwhile()
      yield { network_url: slug('acme'), city: 'Lyon' }
      yield* companies(2_500, 2_600)
    }
    return await catalogue.importRecords('companies', records())
  }
  const theirs = [{ network_url: slug('acme'), name: 'Acme' }]

  it.each([
    ['the same process', () => catalogue],
    ['another', () => other],
  ])('a writer in %s does not add a record twice', async (_, writer) => {
    const report = await importAround(() => writer().importRecords('companies', theirs))
    expect(report).toMatchObject({ added: 2_600, updated: 1 })
    expect(await other.company({ url: slug('acme') })).toMatchObject({ name: 'Acme', city: 'Lyon' })
    expect((await other.stats()).companies).toBe(2_601)
  })

  it('a reader sees everything that is committed', async () => {
    const seen: unknown[] = []
    await importAround(async () => {
      seen.push((await other.company({ name: 'Company 1999' }))?.domain, (await other.stats()).companies)
    })
    expect(seen).toEqual(['c1999.example', 2_000])
  })

  it('another process that opens the catalogue builds its indexes, and nothing is lost', async () => {
    const driver = openSqlite(folder.at('catalogue.db'))
    const built: boolean[] = []
    await importAround(async () => {
      built.push(await isUnbuilt(driver))
      const third = await openEmpty(openSqlite(folder.at('catalogue.db')))
      await third.close()
      built.push(await isUnbuilt(driver))
    })
    expect(built).toEqual([true, false])
    expect((await catalogue.stats()).companies).toBe(2_601)
    await driver.close()
  })
})

describe('an import into an empty table', () => {
  /** Whatever is made at random: its form is compared, not its value. */
  const comparable = ({ id: _, network_id, ...record }: Fields): Fields => ({
    ...record,
    ...(typeof network_id === 'string'
      ? { network_id: isGeneratedId(network_id) ? 'made' : network_id }
      : {}),
  })

  /** Imports records into a catalogue with another record, or into an empty one; answers all that can be asked. */
  async function resultOf(kind: RecordKind, records: readonly Fields[], first: readonly Fields[]) {
    const driver = openSqlite(':memory:')
    const catalogue = await openEmpty(driver, hurried())
    if (kind === 'people') await catalogue.importRecords('companies', companies(0, 3))
    await catalogue.importRecords(kind, first)
    const { added, updated, rejected, companies: made } = await catalogue.importRecords(kind, records)
    const all = (await exported(catalogue, kind)).slice(first.length)
    const found = await driver.read((connection) =>
      connection.all(
        `SELECT rowid - ${first.length} AS n FROM ${kind}_text WHERE ${kind}_text MATCH 'acme OR jo'`,
      ),
    )
    await catalogue.close()
    return { added, updated, rejected, made, all: all.map(comparable), found }
  }

  const maybe = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined, freq: 2 })
  const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  const oneOf = (prefix: string, suffix = '') =>
    maybe(...letters.map((letter) => `${prefix}${letter}${suffix}`))
  const company = fc.record({
    domain: oneOf('', '.example'),
    network_id: oneOf('1'),
    network_url: oneOf('https://network.example/company/'),
    name: maybe('Acme', 'Birch'),
    city: maybe('Lyon', 'Paris'),
    technologies: maybe('go', 'react;go'),
    technology_details: maybe([{ slug: 'go', confidence: 0.5 }]),
  })
  const person = fc.record({
    network_id: oneOf('ACwAAAA'),
    network_profile_url: oneOf('https://network.example/in/'),
    email: oneOf('', '@a.example'),
    full_name: maybe('Jo Doe', 'Al Roe'),
    company_domain: maybe('c0.example', 'new.example'),
    company_name: maybe('Company 1', 'Unknown'),
    title: maybe('CTO', 'CFO'),
    phones: maybe(['+33612345678'], ['+33612345679', '+33612345678']),
  })
  const filler: Record<'companies' | 'people', (at: number) => Fields> = {
    companies: (at) => ({ domain: `filler${at}.example`, network_id: `9${at}`, name: 'Filler' }),
    people: (at) => ({ network_profile_url: `https://network.example/in/filler${at}`, full_name: 'Fil Ler' }),
  }

  it.each<['companies' | 'people', fc.Arbitrary<Fields>]>([
    ['companies', company],
    ['people', person],
  ])('has the same result for %s as one into a table that is not empty', async (kind, record) => {
    const places = fc.array(fc.integer({ min: 0, max: many }), { minLength: odds, maxLength: odds })
    const odd = fc.array(record, { minLength: odds, maxLength: odds })
    await fc.assert(
      fc.asyncProperty(odd, places, async (odd, places) => {
        const records = Array.from({ length: many }, (_, at) => filler[kind](at))
        odd.forEach((one, at) => {
          records.splice(places[at] ?? 0, 0, one)
        })
        const first = [filler[kind](many)]
        expect(await resultOf(kind, records, [])).toEqual(await resultOf(kind, records, first))
      }),
      { numRuns: tries(1, 6) },
    )
  })
})
