import { describe, expect, test } from 'vitest'
import { Refusal } from '../../../src/api/calls/errors.js'
import { describeMapping } from '../../../src/cli/batch/map-columns.js'
import { describe as sentenceOf } from '../../../src/cli/messages.js'
import { type MappingRequest, mapColumns, parsePins, rowInput } from '../../../src/runs/input/mapping.js'
import { casesOf } from '../../support/fixtures.js'

const companyFields = ['company_network_url', 'name', 'domain', 'country', 'live']
const hiringFields = ['company_domain', 'company_name', 'company_network_url', 'limit']
const personFields = ['network_url', 'first_name', 'last_name', 'company_name', 'domain']

function map(header: readonly string[], more: Partial<MappingRequest> = {}) {
  return mapColumns({ header, fields: companyFields, subject: 'company', ...more })
}

const pairs = (mapping: ReturnType<typeof mapColumns>) =>
  Object.fromEntries(mapping.columns.map(({ field, column }) => [field, column]))

function refusal(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof Refusal) return sentenceOf(error)
    throw error
  }
  throw new Error('nothing was refused')
}

describe('the recognition of columns', () => {
  test.each(casesOf<[string, string]>('runs/input/mapping/recognises-the-of-a'))(
    'recognises the %s of a company in %j',
    (field, column) => {
      expect(pairs(map([column]))).toEqual({ [field]: column })
    },
  )

  test.each(['Country', 'country_code', 'Pays', 'HQ Country', 'Land/Region'])(
    'recognises the country of a company in %j',
    (column) => {
      expect(pairs(map(['domain', column]))).toEqual({ domain: 'domain', country: column })
    },
  )

  test('uses the field names of the operation', () => {
    const mapping = map(['Name', 'Website', 'LinkedIn'], { fields: hiringFields })
    expect(pairs(mapping)).toEqual({
      company_domain: 'Website',
      company_name: 'Name',
      company_network_url: 'LinkedIn',
    })
  })

  test('recognises the columns of a person', () => {
    const header = [
      'Vorname',
      'Surname',
      'Company',
      'Website',
      'LinkedIn Profile',
      'Company LinkedIn Url',
      'Notes',
    ]
    const mapping = map(header, { fields: personFields, subject: 'person' })
    expect(pairs(mapping)).toEqual({
      network_url: 'LinkedIn Profile',
      first_name: 'Vorname',
      last_name: 'Surname',
      company_name: 'Company',
      domain: 'Website',
    })
    expect(mapping.unused).toEqual(['Company LinkedIn Url', 'Notes'])
  })

  test('recognises email addresses and phone numbers', () => {
    expect(pairs(map(['E-Mail'], { fields: ['email'], subject: 'email' }))).toEqual({ email: 'E-Mail' })
    expect(pairs(map(['Tel.'], { fields: ['phone_numbers', 'phone_number'], subject: 'number' }))).toEqual({
      phone_numbers: 'Tel.',
    })
  })
})

describe('the choice between columns', () => {
  test('takes the columns of its input before those of results, where a file is an output', () => {
    const header = ['Company', 'Website', 'name', 'domain', '_status', '_error', '_credits', '_source']
    const samples = [['Ghost Ltd'], ['ghost.example'], ['Acme'], ['acme.example'], ['found'], [], ['1'], []]
    const request = { header, samples, fields: ['name', 'domain'], subject: 'company' as const }
    expect(mapColumns(request).columns.map(({ column }) => column)).toEqual(['Company', 'Website'])
    const found = { ...request, header: ['Person', ...header.slice(1)].with(1, 'City') }
    expect(mapColumns(found).columns.map(({ column }) => column)).toEqual(['name', 'domain'])
  })

  test('uses the first of two columns for one field, and adds a note', () => {
    const mapping = map(['Website', 'Homepage'])
    expect(pairs(mapping)).toEqual({ domain: 'Website' })
    expect(mapping.notes.map(sentenceOf)).toEqual([
      '"Homepage" could be domain too; "Website" is used. To change that: --map domain="Homepage"',
    ])
    expect(mapping.unused).toEqual(['Homepage'])
  })

  test('prefers the name of the field to its synonyms', () => {
    expect(pairs(map(['Website', 'domain']))).toEqual({ domain: 'domain' })
  })

  test('prefers the profile of a company to a profile of unknown kind, without a note', () => {
    const mapping = map(['LinkedIn Url', 'Company LinkedIn Url'])
    expect(pairs(mapping)).toEqual({ company_network_url: 'Company LinkedIn Url' })
    expect(mapping.notes).toEqual([])
  })

  test('uses an email column as the domain only when there is no better column', () => {
    expect(pairs(map(['Email', 'City']))).toEqual({ domain: 'Email' })
    expect(pairs(map(['Email', 'Company']))).toEqual({ name: 'Company' })
  })

  test('prefers --map, in any spelling of the column, without a note', () => {
    const mapping = map(['Website', 'Corporate Site', 'Name'], { pins: { domain: 'corporate_site' } })
    expect(pairs(mapping)).toEqual({ domain: 'Corporate Site', name: 'Name' })
    expect(mapping.columns.find(({ field }) => field === 'domain')?.by).toBe('pin')
    expect(mapping.notes).toEqual([])
  })

  test('is printed as one line per field', () => {
    expect(describeMapping(map(['Website', 'Homepage', 'Company', '']))).toEqual([
      'name    <-  "Company"',
      'domain  <-  "Website"',
      'Unmapped columns (kept in the output): "Homepage"',
      expect.stringContaining('"Homepage" could be domain too'),
    ])
  })

  test('names fields like their options', () => {
    const fields = ['firstname', 'lastname', 'domain']
    const mapping = map(['Firstname', 'Domain', 'Homepage'], { fields, subject: 'contact' })
    expect(describeMapping(mapping).join(' ')).toMatch(/first_name +<- {2}"Firstname"/)
    expect(refusal(() => map(['x'], { fields, subject: 'contact', pins: { nope: 'x' } }))).toContain(
      '"last_name"',
    )
  })

  test('is printed with a value of each column, cut to the width', () => {
    const mapping = map(['Company', 'Website'], {
      samples: [['Acme', 'B'], [`https://${'a'.repeat(90)}.example`]],
    })
    const [name, domain = ''] = describeMapping(mapping, 60)
    expect(name).toBe('name    <-  "Company", such as Acme')
    expect(domain).toMatch(/^domain {2}<- {2}"Website", such as https:\/\/a+…$/)
    expect(domain).toHaveLength(60)
  })

  test('is printed with the number of unused columns that are not listed', () => {
    const columns = [{ field: 'domain', column: 'Domain', at: 0, by: 'name' as const }]
    const unused = Array.from({ length: 300 }, (_, at) => `c${at}`)
    const [, kept = ''] = describeMapping({ columns, unused, notes: [] })
    expect(kept).toMatch(/^Unmapped columns \(kept in the output\): "c0", .*"c11" and 288 more$/)
  })
})

describe('the values of a column decide', () => {
  const profiles = ['https://www.linkedin.com/in/ada', 'https://www.linkedin.com/in/grace']
  const person = { fields: [...personFields, 'email'], subject: 'person' } as const

  test('that profile URLs below "URL" are no domain', () => {
    const header = ['First Name', 'URL', 'Company']
    const samples = [['Ada', 'Grace'], profiles, ['Acme', 'Beta']]
    expect(pairs(map(header, { ...person, samples }))).toEqual({
      network_url: 'URL',
      first_name: 'First Name',
      company_name: 'Company',
    })
  })

  test('that profiles of people do not identify companies', () => {
    const header = ['LinkedIn Url', 'Company']
    expect(pairs(map(header, { samples: [profiles, ['Acme', 'Beta']] }))).toEqual({ name: 'Company' })
  })

  test('that domains below "Company" are domains', () => {
    const mapping = map(['Company'], { samples: [['acme.example', 'www.beta.example']] })
    expect(mapping.columns).toEqual([
      { field: 'domain', column: 'Company', at: 0, by: 'values', sample: 'acme.example' },
    ])
  })

  test('that names of people below "Name" are no companies', () => {
    const samples = [['Ada Lovelace', 'Grace Hopper', 'Alan Turing'], ['acme.example']]
    expect(pairs(map(['Name', 'Website'], { samples }))).toEqual({ domain: 'Website' })
    expect(pairs(map(['Company', 'Website'], { samples }))).toEqual({ name: 'Company', domain: 'Website' })
  })

  test('that companies below the name of a person are companies', () => {
    const samples = [
      ['Acme GmbH', 'Beta Ltd', 'Gamma SARL'],
      ['Ada', 'Grace', 'Alan'],
    ]
    expect(pairs(map(['Surname', 'Vorname'], { ...person, samples }))).toEqual({
      first_name: 'Vorname',
      company_name: 'Surname',
    })
  })

  test('that countries below "Company" are countries', () => {
    const samples = [['Frankreich', 'Deutschland', 'USA'], ['acme.example']]
    expect(pairs(map(['Company', 'Domain'], { samples }))).toEqual({ country: 'Company', domain: 'Domain' })
  })

  test('that a column without a value comes last, without a note', () => {
    const mapping = map(['Website', 'Homepage'], { samples: [[], ['acme.example']] })
    expect([pairs(mapping), mapping.notes]).toEqual([{ domain: 'Homepage' }, []])
  })

  test('only below a header that is known', () => {
    expect(refusal(() => map(['x', 'y'], { samples: [['acme.example'], ['Acme']] }))).toMatch(/^No column/)
  })

  test('that --map cannot make profiles a domain', () => {
    const samples = [profiles]
    expect(refusal(() => map(['URL'], { samples, pins: { domain: 'URL' } }))).toMatch(
      /^--map fills domain from the column "URL", which has the profile URLs of people, such as .*ada/,
    )
  })
})

describe('the checks of a mapping', () => {
  test('refuse an unknown field, suggest the nearest one and list all', () => {
    expect(refusal(() => map(['a'], { pins: { domian: 'a' } }))).toMatch(
      /"domian".*mean "domain"\?.*"country"/,
    )
  })

  test('refuse an unknown column, suggest the nearest one and list all', () => {
    const message = refusal(() => map(['Company Site', 'Name'], { pins: { domain: 'Compny Site' } }))
    expect(message).toMatch(/"Compny Site".*mean "Company Site"\?.*"Name"/)
  })

  test('refuse a file without a usable column, and show its header, the fields and an example of --map', () => {
    const message = refusal(() => map(['Foo', 'Country']))
    expect(message).toMatch(
      /company_network_url, domain, name.*"Foo", "Country".*--map company_network_url="Foo"/,
    )
  })

  test('refuse it with an example that fits the values, where there is one', () => {
    const samples = [
      ['Acme', 'Beta'],
      ['acme.example', 'www.beta.example'],
    ]
    expect(refusal(() => map(['Column 1', 'Column 2'], { samples }))).toContain('--map domain="Column 2"')
  })

  test('accept a constant instead of a column', () => {
    expect(map(['Foo'], { constants: { domain: 'acme.example' } }).columns).toEqual([])
  })

  test.each(['domain', 'domain=', '=x'])('refuse --map %s', (pair) => {
    expect(refusal(() => parsePins([pair]))).toContain('field=Column')
  })

  test('split --map at the first equals sign', () => {
    expect(parsePins(['domain=Site = main'])).toEqual({ domain: 'Site = main' })
  })
})

describe('the input of a row', () => {
  const mapping = map(['Company', 'Website', 'Country', 'x'])

  test('has trimmed values without empty cells, and the constants', () => {
    expect(rowInput(mapping, { live: false })([' Acme ', '', ' ', 'y'])).toEqual({
      name: 'Acme',
      live: false,
    })
  })

  test('has cells converted by field', () => {
    const convert = (field: string, cell: string) =>
      field === 'country' ? cell.slice(0, 2).toUpperCase() : cell
    expect(rowInput(mapping, {}, convert)(['A', '', 'france', ''])).toEqual({ name: 'A', country: 'FR' })
  })
})

describe('columns without a name', () => {
  const unnamed = (samples: readonly (readonly string[])[], more: Partial<MappingRequest> = {}) =>
    map(
      samples.map((_, at) => `column_${at + 1}`),
      { samples, ...more },
    )

  test('fill the fields that their values are', () => {
    const samples = [['Acme'], ['acme.example'], ['DE', 'FR', 'IT']]
    expect(pairs(unnamed(samples))).toEqual({ domain: 'column_2', country: 'column_3' })
    expect(pairs(unnamed([['ada@acme.example']]))).toEqual({ domain: 'column_1' })
  })

  test('are names of companies where nothing else says which company is meant', () => {
    expect(pairs(unnamed([['Acme'], ['Berlin']]))).toEqual({ name: 'column_1' })
  })

  test('are named by their numbers', () => {
    expect(pairs(unnamed([['Berlin'], ['Acme']], { pins: { name: '2' } }))).toEqual({ name: 'column_2' })
  })

  test('are suggested where no name of a column is known, before the first row would be lost', () => {
    const said = refusal(() => map(['Acme Inc.'], { samples: [['Bolt GmbH']] }))
    expect(said).toContain(
      'If its first row is data, add --no-header; if the header is further down, --skip-lines N. ' +
        'If it names the columns, choose one',
    )
    expect(said).toContain('--map name="Acme Inc."')
    const pinned = map(['Acme Inc.'], { samples: [['Bolt GmbH']], pins: { name: 'Acme Inc.' } })
    expect(pinned.notes.map(sentenceOf)).toEqual([
      '"Acme Inc." is read as the name of a column. If it is data, add --no-header.',
    ])
  })
})
