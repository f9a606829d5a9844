import { describe, expect, it } from 'vitest'
import { toCompanyIdentity, toPersonIdentity } from '../../../src/catalogue/normalize/value-kinds.js'

const same = <T>(identity: (fields: T) => string | undefined, spellings: readonly T[]): void => {
  const found = spellings.map(identity)
  expect(found[0]).toBeTypeOf('string')
  expect(new Set(found).size, JSON.stringify(found)).toBe(1)
}

describe('the identity of a company row', () => {
  it('is the profile url in any spelling, whatever else is given', () => {
    same(toCompanyIdentity, [
      { company_network_url: 'https://www.linkedin.com/company/acme/' },
      { network_url: 'fr.linkedin.com/company/ACME?x=1', domain: 'other.example' },
      { url: 'http://network.example/company/acme', name: 'Other', country: 'FR' },
    ])
  })

  it('is the id in a premium url, or the given id', () => {
    same(toCompanyIdentity, [
      { company_network_url: 'https://www.linkedin.com/sales/company/123' },
      { company_network_url: 'https://www.linkedin.com/company/123' },
      { company_network_id: 123 },
    ])
  })

  it('is else the registrable domain, whatever name and country are given', () => {
    same(toCompanyIdentity, [
      { domain: 'acme.example' },
      { domain: 'https://www.Acme.example/x', name: 'Acme', country: 'FR' },
      { company_domain: 'jane@acme.example', country: 'DE' },
      { company_network_url: 'n/a', domain: 'acme.example' },
    ])
  })

  it('is else the folded name with its country', () => {
    same(toCompanyIdentity, [
      { name: 'Acme Inc.', country: 'US' },
      { company_name: 'ACME', country: 'us' },
      { name: 'Acme LLC', country: 'US', domain: 'acme@gmail.com' },
    ])
    expect(toCompanyIdentity({ name: 'Acme', country: 'US' })).not.toBe(
      toCompanyIdentity({ name: 'Acme', country: 'FR' }),
    )
    expect(toCompanyIdentity({ name: 'Acme', country: 'US' })).not.toBe(toCompanyIdentity({ name: 'Acme' }))
  })

  it('is undefined without any identifier', () => {
    expect(toCompanyIdentity({ domain: ' ', country: 'FR' })).toBeUndefined()
  })
})

describe('the identity of a person row', () => {
  it('is the profile url, whatever else is given', () => {
    same(toPersonIdentity, [
      { network_url: 'https://www.linkedin.com/in/jane-doe/' },
      { linkedin_url: 'linkedin.com/in/Jane-Doe', email: 'other@acme.example' },
    ])
  })

  it('is else the email address', () => {
    same(toPersonIdentity, [
      { email: 'Jane@Acme.example' },
      { email: ' jane@acme.example ', full_name: 'Jane Doe' },
    ])
  })

  it('is else the folded name with the company', () => {
    same(toPersonIdentity, [
      { first_name: 'Élodie', last_name: 'Martin', domain: 'acme.example' },
      { firstname: 'elodie', lastname: 'MARTIN', company_domain: 'https://www.acme.example/' },
      { full_name: 'Elodie Martin', domain: 'acme.example', company_name: 'Other' },
    ])
  })

  it('is undefined for a name without a company', () => {
    expect(toPersonIdentity({ full_name: 'Jane Doe' })).toBeUndefined()
  })
})
