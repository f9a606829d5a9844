import { describe, expect, test } from 'vitest'
import { createLayout, findOnlyMissing, hasResult } from '../../../src/runs/output/columns.js'
import { inWords } from '../../support/in-words.js'
import { outputRow } from '../fakes.js'

const columns = ['phone', 'at.year'].map((name) => ({ name, path: name.split('.') }))
describe('an --only-missing result', () => {
  test.each([
    ['phone', ['a', 'phone'], 1],
    ['phone', ['Phone ', 'x'], 0],
    ['phone=Handy', ['x', 'handy'], 1],
    ['phone = a=b', ['x', 'a=b'], 1],
    ['at.year', ['At Year'], 0],
  ])('%j uses its column in %j', (text, header, at) => {
    expect(findOnlyMissing(text, columns, header).at).toBe(at)
  })

  test.each([
    ['phnoe', ['phone'], /"phnoe".*which the result does not have\. Did you mean phone\?/],
    ['x', ['x'], /It has: phone, at\.year\./],
    ['phone', ['phones', 'b'], /no column "phone"\. Did you mean "phones"\?.*--only-missing phone="phones"/],
    ['phone=Handy', ['a', 'b'], /no column "Handy"\. It has: "a", "b"\./],
  ])('%j is refused for the header %j', (text, header, message) => {
    expect(() => inWords(() => findOnlyMissing(text, columns, header))).toThrow(message)
  })

  test('is present when its cell has a value, and never in a ragged row', () => {
    const header = ['a', 'phone']
    const skip = hasResult(findOnlyMissing('phone', columns, header), header)
    const rows = [['a', '1'], ['a', ' '], ['a', ''], ['a', 'N/A'], ['a', '-'], ['a'], ['a', '1', '2']]
    expect(rows.filter(skip)).toEqual([['a', '1']])
  })

  test('stays in its input column, and is filled there', () => {
    const header = ['a', 'Phone']
    const layout = createLayout(header, columns, findOnlyMissing('phone', columns, header))
    const body = { phone: '+1555', at: { year: 1 } }
    expect(layout.header.slice(0, 3)).toEqual(['a', 'Phone', 'at.year'])
    expect(layout.cells(outputRow(['x', 'old'], body)).slice(0, 3)).toEqual(['x', 'old', '1'])
    expect(layout.cells(outputRow(['x', ''], body)).slice(0, 3)).toEqual(['x', '+1555', '1'])
    expect(layout.cells(outputRow(['x', ' '])).slice(0, 3)).toEqual(['x', '', ''])
    expect(layout.cells(outputRow(['x', 'n/a'], body)).slice(0, 3)).toEqual(['x', '+1555', '1'])
    expect(layout.cells(outputRow(['x', 'n/a'])).slice(0, 3)).toEqual(['x', 'n/a', ''])
    expect(layout.record(outputRow(['x', ''], body))).toMatchObject({
      a: 'x',
      Phone: '+1555',
      at: { year: 1 },
    })
    expect(layout.record(outputRow(['x', 'old'], body))).toMatchObject({ Phone: 'old' })
    expect(layout.record(outputRow(['x', ''], body))).not.toHaveProperty('phone')
  })
})
