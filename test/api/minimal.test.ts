import { describe, expect, it } from 'vitest'
import { type OperationId, operations } from '../../src/api/operations/table.js'
import { casesOf } from '../support/fixtures.js'
import { refusalOf } from './refusal.js'

/** The least that each operation accepts, in every way it may be asked. */
const least = new Map(
  casesOf<[OperationId, ...inputs: Record<string, unknown>[]]>('api/minimal').map(([id, ...inputs]) => [
    id,
    inputs,
  ]),
)

describe.each(operations())('$id', ({ id }) => {
  it.each(least.get(id) ?? [])('accepts %j', async (input) => {
    expect(await refusalOf(id, input)).toBe('accepted')
  })
})

it('every operation has such a request', () => {
  expect(operations().filter(({ id }) => !least.has(id))).toEqual([])
})
