import { expect, it } from 'vitest'
import { readWrittenName } from '../../../src/identity/written-name.js'
import { casesOf } from '../../support/fixtures.js'

it('a reading of a written name ranks behind those that leave out and spell out less', () => {
  const { folds } = readWrittenName('Acme Intl [DNU]', () => undefined)
  const readings = ['acme intl dnu', 'acme international dnu', 'acme intl', 'acme international']
  expect(readings.map((fold) => folds.get(fold)?.rank)).toEqual([0, 1, 2, 3])
})

it.each(casesOf<[string, string, string, boolean]>('catalogue/normalize/written-name/is-read'))(
  '%s is read: %s as %s, %s',
  (_, text, fold, isRead) => {
    expect(readWrittenName(text, () => undefined).folds.has(fold)).toBe(isRead)
  },
)
