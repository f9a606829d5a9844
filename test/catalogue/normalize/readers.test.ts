import { describe, expect, test } from 'vitest'
import { bool, decimal, email, employeeRange, texts, wholeNumber } from '../../../src/identity/readers.js'
import { casesOf } from '../../support/fixtures.js'

const readers = { bool, decimal, email, employeeRange, texts, wholeNumber }
type ReaderName = keyof typeof readers

describe('a field of a record', () => {
  test.each(casesOf<[ReaderName, unknown, unknown]>('catalogue/normalize/readers/as-is-read-from'))(
    'as %s is read from %j',
    (name, given, expected) => {
      expect(readers[name](given)).toEqual(expected)
    },
  )

  test.each(Object.keys(readers) as ReaderName[])('as %s is absent when it is blank', (name) => {
    for (const blank of [undefined, null, '', ' ']) expect(readers[name](blank)).toBeUndefined()
  })

  test.each(casesOf<[ReaderName, unknown]>('catalogue/normalize/readers/as-is-refused-when'))(
    'as %s is refused when it is %j',
    (name, given) => {
      expect(() => readers[name](given)).toThrow(expect.objectContaining({ code: 'record.invalid' }))
    },
  )
})
