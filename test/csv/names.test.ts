import { expect, test } from 'vitest'
import { normaliseName } from '../../src/csv/names.js'

test.each(['Company Name', 'company_name', 'companyName', ' COMPANY-NAME ', 'Còmpany.Náme'])(
  'the normalised form of %j is companyname',
  (name) => {
    expect(normaliseName(name)).toBe('companyname')
  },
)

test.each([
  ["Chiffre d'affaires", 'chiffredaffaires'],
  ['# Employees', 'employees'],
  ['Straße', 'strasse'],
  ['Œuvre', 'oeuvre'],
  ['会社', '会社'],
  ['lead.first_name', 'firstname'],
  ['Lead', 'lead'],
  ['company.name', 'companyname'],
  [' - ', ''],
])('the normalised form of %j is %j', (name, plain) => {
  expect(normaliseName(name)).toBe(plain)
})
