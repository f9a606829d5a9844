import { expect, it } from 'vitest'
import { readWrittenName } from '../../../src/catalogue/normalize/written-name.js'

it('a reading of a written name ranks behind those that leave out and spell out less', () => {
  const { folds } = readWrittenName('Acme Intl [DNU]', () => undefined)
  const readings = ['acme intl dnu', 'acme international dnu', 'acme intl', 'acme international']
  expect(readings.map((fold) => folds.get(fold)?.rank)).toEqual([0, 1, 2, 3])
})

it.each([
  ['Zenith Robotics t/a Robotics Shop', 'robotics shop', true],
  ['Big Nova Foods t/a Nova Shop', 'nova shop', true],
  ['Big Sun Foods t/a Sun Shop', 'sun shop', false],
  ['International Business Machines t/a IBM Group', 'ibm group', true],
  ['American Car Makers t/a ACM and Group', 'acm and group', true],
  ['American Car Makers t/a CRM Group', 'crm group', false],
  ['American Car Makers t/a ACX Group', 'acx group', false],
  ['Kale Lime Mango t/a KLM Foods Group', 'klm foods group', false],
])('a trading name is read where it is made of the legal one: %s', (text, fold, isRead) => {
  expect(readWrittenName(text, () => undefined).folds.has(fold)).toBe(isRead)
})

it.each([
  ['Acme EMEA', true],
  ['Acme LATAM', true],
  ['Acme EUROPE', false],
  ['Acme DNU', false],
  ['Acme 12345', true],
  ['Acme 1234', false],
  ['Acme #7', true],
])(
  'a tag without a separator is a word of four or five capitals, or a number of five digits: %s',
  (text, isTag) => {
    expect(readWrittenName(text, () => undefined).folds.has('acme')).toBe(isTag)
  },
)

it.each([
  ['Acme - 1', true],
  ['Acme - 12', false],
  ['Acme - 123', false],
  ['Acme - 1234', true],
  ['Acme, 1234', false],
])(
  'a number behind a dash is a tag with one digit or at least four, and none behind a comma: %s',
  (text, isTag) => {
    expect(readWrittenName(text, () => undefined).folds.has('acme')).toBe(isTag)
  },
)
