import { expect, test } from 'vitest'
import { normaliseName } from '../../src/csv/names.js'
import { casesOf } from '../support/fixtures.js'

test.each(['Company Name', 'company_name', 'companyName', ' COMPANY-NAME ', 'Còmpany.Náme'])(
  'the normalised form of %j is companyname',
  (name) => {
    expect(normaliseName(name)).toBe('companyname')
  },
)

test.each(casesOf<[string, string]>('csv/names/the-normalised-form-of'))(
  'the normalised form of %j is %j',
  (name, plain) => {
    expect(normaliseName(name)).toBe(plain)
  },
)
