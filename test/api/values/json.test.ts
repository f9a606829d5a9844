import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseExact, parseJson, toJson } from '../../../src/api/values/json.js'
import { tries } from '../../support/effort.js'

describe('JSON with whole numbers of any size', () => {
  it.each([
    '{"network_list_id":9007199254740993}',
    '[12345678901234567890,-12345678901234567890,1]',
    '{"text":"9007199254740993 and #9007199254740993","id":9007199254740993}',
    '{"a":"\\u00239007199254740993","b":9007199254740993}',
    '{"9007199254740993":{"#":9007199254740993}}',
    '{"quoted":"\\"9007199254740993","back":"\\\\","id":9007199254740993}',
  ])('comes back with the same digits: %s', (text) => {
    expect(toJson(parseExact(text))).toBe(
      JSON.stringify(JSON.parse(text))
        .replaceAll('9007199254740992', '9007199254740993')
        .replaceAll('12345678901234567000', '12345678901234567890'),
    )
  })

  it('equals JSON.parse when every number is safe', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(parseExact(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('keeps every integer, wherever it is and whatever text is around it', () => {
    const exact = fc
      .bigInt({ min: -(10n ** 30n), max: 10n ** 30n })
      .filter((one) => String(Number(one)) !== String(one))
    const text = fc.oneof(fc.string(), fc.constantFrom('#', '##', '#1', '\\', '"', '9007199254740993'))
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(exact, text, fc.array(exact))), (value) => {
        expect(parseExact(toJson(value))).toEqual(
          JSON.parse('{}') && Object.fromEntries(Object.entries(value)),
        )
      }),
    )
  })

  it('reads escaped keys correctly, whatever keys were read before', () => {
    const key = fc.oneof(fc.string(), fc.constantFrom('\\', '"', '\n', 'a\\', 'a"', '\\"', '\u0001'))
    fc.assert(
      fc.property(fc.dictionary(key, fc.string()), (value) => {
        const text = JSON.stringify(value)
        expect([JSON.stringify(parseExact(text)), JSON.stringify(parseJson(text))]).toEqual([text, text])
      }),
      { numRuns: tries(1_250, 5_000) },
    )
  })

  it('is formatted as JSON.stringify does', () => {
    expect(toJson({ id: 9007199254740993n, list: [1] }, 2)).toBe(
      '{\n  "id": 9007199254740993,\n  "list": [\n    1\n  ]\n}',
    )
    expect(toJson(undefined)).toBe('null')
  })

  it.each(['', '{', '{"a":9007199254740993', '9007199254740993x', "{'a':1}"])('refuses %j', (text) => {
    expect(() => parseExact(text)).toThrow(SyntaxError)
  })
})
