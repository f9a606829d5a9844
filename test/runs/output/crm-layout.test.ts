import { describe, expect, it, test } from 'vitest'
import { countries } from '../../../src/api/values/dates.js'
import { toCountryCode } from '../../../src/identity/country.js'
import { createLayout } from '../../../src/runs/output/columns.js'
import { crmColumns, withCrmColumns } from '../../../src/runs/output/crm-layout.js'
import { crmNames } from '../../../src/runs/output/crm-names.js'
import { outputRow } from '../fakes.js'

const codes = countries.split(' ')

/** The cells of a record, by column. */
function cellsOf(crm: string, kind: 'companies' | 'people', record: object): Record<string, string> {
  const { header, cells } = crmColumns(crm, kind)
  return Object.fromEntries(cells(record).map((cell, at) => [header[at] ?? '', cell]))
}

describe('a person in the layout of a CRM', () => {
  const lead = {
    full_name: 'Ada Byron',
    first_name: 'Ada',
    last_name: 'Byron',
    title: 'CTO',
    most_probable_email: 'ada@acme.example',
    most_probable_email_status: 'risky',
    phones: ['+33612345678', '+33142345678'],
    network_profile_url: 'https://www.network.example/in/ada',
  }
  const company = { name: 'Acme', domain: 'acme.example' }

  it('has the columns of each system, from a search', () => {
    for (const crm of crmNames) expect(cellsOf(crm, 'people', { lead, company })).toMatchSnapshot(crm)
  })

  it('has a mobile number apart from another one', () => {
    const phones = (phone: unknown) => {
      const cells = cellsOf('hubspot', 'people', { phone })
      return [cells['Phone Number'], cells['Mobile Phone Number']]
    }
    expect(phones(['+33142345678', '+33612345678'])).toEqual(['+33142345678', '+33612345678'])
    expect(phones('+33612345678')).toEqual(['', '+33612345678'])
    expect(phones(null)).toEqual(['', ''])
  })

  it.each([
    [{ email: 'a@x.example', email_status: 'valid' }, 'a@x.example', 'valid'],
    [{ email: 'a@x.example', email_status: 'invalid' }, '', 'invalid'],
    [{ email: 'a@x.example', email_status: 'catch-all' }, 'a@x.example', 'risky'],
    [{ email: 'a@x.example', email_status: 'N/A' }, 'a@x.example', ''],
    [{ email: 'a@x.example', email_status: null, personal_email_status: 'invalid' }, 'a@x.example', ''],
    [{ email: null, personal_email: 'p@y.example', personal_email_status: 'valid' }, 'p@y.example', 'valid'],
  ])('with %j has the address and status %j, %j', (record, email, status) => {
    const cells = cellsOf('salesforce', 'people', record)
    expect([cells.Email, cells['Email Status']]).toEqual([email, status])
  })
})

describe('a company in the layout of a CRM', () => {
  it('has the columns of each system', () => {
    const record = {
      name: 'Acme',
      domain: 'acme.example',
      website: null,
      headcount: 12,
      revenue: 3_000_000,
      country: 'GB',
      city: 'Leeds',
      location: null,
      industry: 'Robots',
      phone: null,
    }
    for (const crm of crmNames) expect(cellsOf(crm, 'companies', record)).toMatchSnapshot(crm)
  })

  it('has the English name of its country where it is read back as that country, else the code', () => {
    const written = codes.map((country) => cellsOf('hubspot', 'companies', { country })['Country/Region'])
    expect(written.map((name) => toCountryCode(name ?? ''))).toEqual(codes)
    expect(written.filter((name) => name?.length === 2).length).toBeLessThan(20)
  })
})

test('columns of the input come after those of the layout, fill them where the result lacks them, and keep no equal name', () => {
  const input = ['first name', 'LAST NAME', 'Firma', 'Land']
  const columns = crmColumns('salesforce', 'people')
  const layout = withCrmColumns(columns, 'people', createLayout(input, []), { company_name: [2] }, true)
  expect(layout.header.slice(columns.header.length).join()).toBe(
    'input.first name,input.LAST NAME,Firma,Land,_status,_error,_credits,_source',
  )
  const row = outputRow(['Ada', '', 'Acme', 'Frankreich'], { last_name: 'Byron', email: '=1' })
  expect(layout.record(row)).toMatchObject({
    'First Name': 'Ada',
    'Last Name': 'Byron',
    Company: 'Acme',
    Email: '=1',
    Country: 'France',
    'input.first name': 'Ada',
    'input.LAST NAME': '',
    _status: 'found',
  })
})
