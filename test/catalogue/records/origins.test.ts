import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import { loadSample } from '../../../src/catalogue/sample/sample.js'
import { storedNumber } from '../../../src/storage/database/migrate.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { openEmpty, stillClock } from '../open.js'

const now = stillClock.now()
const sample = (catalogue: Catalogue) => loadSample(catalogue, { companies: 30, people: 20, now })
const acme = { domain: 'acme.test', name: 'Acme' }
const jane = {
  network_profile_url: 'https://www.network.example/in/jane-roe',
  full_name: 'Jane Roe',
  company_domain: 'roe.test',
}

const nothingOwn = { ownCompanies: 0, hasOwnPeople: false, importedAt: null }

describe('the origins of a catalogue', () => {
  const catalogue = perTest(openEmpty)

  it('are not there in an empty catalogue, and not after an import that added nothing', async () => {
    await catalogue.importRecords('companies', [{ name: '' }])
    expect(await catalogue.origins()).toBeUndefined()
  })

  it('count the sample once, however often it is loaded', async () => {
    await sample(catalogue)
    await sample(catalogue)
    expect(await catalogue.origins()).toEqual({ sampleCompanies: 30, ...nothingOwn, changedAt: now })
    expect((await catalogue.stats()).companies).toBe(30)
  })

  it('count own companies beside the sample, also those that only people name', async () => {
    await sample(catalogue)
    await catalogue.importRecords('companies', [acme, acme])
    await catalogue.importRecords('people', [jane])
    const found = {
      sampleCompanies: 30,
      ownCompanies: 2,
      hasOwnPeople: true,
      importedAt: now,
      changedAt: now,
    }
    expect(await catalogue.origins()).toEqual(found)
  })

  it('stay those of a sample whose records an import only changes', async () => {
    await sample(catalogue)
    await catalogue.importRecords('companies', [{ domain: 'acme-robotics.example', industry: 'Toys' }])
    expect(await catalogue.origins()).toEqual({ sampleCompanies: 30, ...nothingOwn, changedAt: now })
  })
})

// When it changed last is not on record there.
const ofSample = { sampleCompanies: 30, ...nothingOwn, changedAt: null }
const freelancer = { ...jane, company_domain: undefined }

interface Held {
  readonly what: string
  readonly hasSample?: boolean
  readonly own?: readonly Fields[]
  readonly people?: readonly Fields[]
  readonly found: object | undefined
}

it.each<Held>([
  { what: 'only the sample', hasSample: true, found: ofSample },
  { what: 'the sample and a company', hasSample: true, own: [acme], found: { ...ofSample, ownCompanies: 1 } },
  {
    what: 'the sample and a person without a company',
    hasSample: true,
    people: [freelancer],
    found: { ...ofSample, hasOwnPeople: true },
  },
  {
    what: 'a company of its own with a reserved domain',
    own: [{ domain: 'a.example' }],
    found: { ...ofSample, sampleCompanies: 0, ownCompanies: 1 },
  },
  { what: 'nothing', found: undefined },
])('recognizes what a catalogue of version 1 holds: $what', async ({ hasSample, own, people, found }) => {
  const driver = openSqlite(':memory:')
  const before = await openEmpty({ ...driver, close: async () => {} })
  if (hasSample) await sample(before)
  await before.importRecords('companies', own ?? [])
  await before.importRecords('people', people ?? [])
  await driver.transaction((connection) =>
    connection.exec(`DROP TABLE origins; PRAGMA user_version = ${storedNumber(1)}`),
  )
  const after = await openEmpty(driver)
  expect(await after.origins()).toEqual(found)
  await after.close()
})
