import { describe, expect, test } from 'vitest'
import { describeMapping } from '../../../src/cli/batch/map-columns.js'
import { describe as sentenceOf } from '../../../src/cli/messages.js'
import { type MappingRequest, mapColumns, parsePins, rowInput } from '../../../src/runs/input/mapping.js'
import { casesOf } from '../../support/fixtures.js'
import { inWords } from '../../support/in-words.js'

/** Operations by what is looked up: their fields, and whom their columns are about. */
const kinds = {
  company: [['company_network_url', 'name', 'domain', 'country', 'live'], 'company'],
  hiring: [['company_domain', 'company_name', 'company_network_url', 'limit'], 'company'],
  person: [['network_url', 'first_name', 'last_name', 'company_name', 'domain', 'email'], 'person'],
  contact: [['firstname', 'lastname', 'domain'], 'contact'],
  email: [['email'], 'email'],
  number: [['phone_numbers', 'phone_number'], 'number'],
} as const

interface Case extends Omit<Partial<MappingRequest>, 'fields' | 'notes'> {
  readonly what: string
  readonly header: readonly string[]
  readonly fields?: keyof typeof kinds
}

const map = ({ what: _, fields: kind = 'company', ...request }: Partial<Case> & Pick<Case, 'header'>) =>
  mapColumns({ fields: kinds[kind][0], subject: kinds[kind][1], ...request })

const pairs = (mapping: ReturnType<typeof mapColumns>) =>
  Object.fromEntries(mapping.columns.map(({ field, column }) => [field, column]))

describe('a mapping', () => {
  test.each(casesOf<[string, string]>('runs/input/mapping/recognises-the-of-a'))(
    'recognises the %s of a company in %j',
    (field, column) => {
      expect(pairs(map({ header: [column] }))).toEqual({ [field]: column })
    },
  )

  test.each(casesOf<Case & { fills: object; notes?: string[] }>('runs/input/mapping/fills'))(
    'takes $what',
    ({ fills, notes = [], ...request }) => {
      const mapping = map(request)
      expect([pairs(mapping), mapping.notes.map(sentenceOf)]).toEqual([fills, notes])
    },
  )

  test.each(casesOf<Case & { says: string }>('runs/input/mapping/refuses'))(
    'refuses $what',
    ({ says, ...request }) => {
      expect(() => inWords(() => map(request))).toThrow(new RegExp(says))
    },
  )

  test('is printed as one line per field, with what is unused', () => {
    expect(describeMapping(map({ header: ['Website', 'Homepage', 'Company', 'Firma', ''] }))).toEqual([
      'name    <-  "Company"',
      'domain  <-  "Website", else "Homepage"',
      'Unmapped columns (kept in the output): "Firma"',
      expect.stringContaining('"Firma" could be name too'),
    ])
  })

  test('is printed with fields named like their options', () => {
    const mapping = map({ header: ['Firstname', 'Domain', 'Homepage'], fields: 'contact' })
    expect(describeMapping(mapping).join(' ')).toMatch(/first_name +<- {2}"Firstname"/)
  })

  test('is printed with a value of each column, cut to the width', () => {
    const samples = [['Acme', 'B'], [`https://${'a'.repeat(90)}.example`]]
    const [name, domain = ''] = describeMapping(map({ header: ['Company', 'Website'], samples }), 60)
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

describe('--map', () => {
  test.each(['domain', '=x'])('refuses %s', (pair) => {
    expect(() => inWords(() => parsePins([pair]))).toThrow('field=Column')
  })

  test('without a column leaves a field to no column, and changes nothing else', () => {
    const given = { header: ['Company', 'Website', 'Country'] }
    const { columns, unused, notes } = map({ ...given, pins: { country: '' } })
    expect(columns).toEqual(map(given).columns.filter(({ field }) => field !== 'country'))
    expect([unused, notes]).toEqual([['Country'], [{ code: 'map.left', details: { name: 'country' } }]])
  })

  test('is split at the first equals sign', () => {
    expect(parsePins(['domain=Site = main'])).toEqual({ domain: 'Site = main' })
  })
})

describe('the input of a row', () => {
  const mapping = map({ header: ['Company', 'Website', 'Country', 'x'] })

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
