import { describe, expect, it } from 'vitest'
import { perTest } from '../../support/each.js'
import { loadPart, openEmpty, stillClock } from '../open.js'

const now = stillClock.now()
const acme = { domain: 'acme.example', name: 'Acme' }
const jane = {
  network_profile_url: 'https://www.network.example/in/jane-roe',
  full_name: 'Jane Roe',
  company_domain: 'roe.example',
}

const nothingOwn = { ownCompanies: 0, hasOwnPeople: false, importedAt: null }

describe('the origins of a catalogue', () => {
  const catalogue = perTest(openEmpty)

  it('are not there in an empty catalogue, and not after an import that added nothing', async () => {
    await catalogue.importRecords('companies', [{ name: '' }])
    expect(await catalogue.origins()).toBeUndefined()
  })

  it('count the sample once, however often it is loaded', async () => {
    await loadPart(catalogue)
    await loadPart(catalogue)
    expect(await catalogue.origins()).toEqual({ sampleCompanies: 30, ...nothingOwn, changedAt: now })
    expect((await catalogue.stats()).companies).toBe(30)
  })

  it('count own companies beside the sample, also those that only people name', async () => {
    await loadPart(catalogue)
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
    await loadPart(catalogue)
    await catalogue.importRecords('companies', [{ domain: 'acme-robotics.example', industry: 'Toys' }])
    expect(await catalogue.origins()).toEqual({ sampleCompanies: 30, ...nothingOwn, changedAt: now })
  })
})
