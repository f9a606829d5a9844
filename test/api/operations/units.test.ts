import { describe, expect, it } from 'vitest'
import {
  commandOf,
  creditsCharged,
  type OperationId,
  operation,
  operations,
  unitsOf,
} from '../../../src/api/operations/table.js'
import { casesOf } from '../../support/fixtures.js'

describe('units of a reply', () => {
  it.each(
    casesOf<[OperationId, Record<string, unknown>, Record<string, unknown>, number]>(
      'api/operations/units/are-and-cost',
    ),
  )('%s %j are %j, and cost %i', (id, body, units, credits) => {
    expect(unitsOf(operation(id), body)).toEqual(units)
    expect(creditsCharged(operation(id), body)).toBe(credits)
  })

  it('cost what the server says, when it does', () => {
    const body = { email: 'a@x', email_status: 'valid', credits_used: 2 }
    expect(creditsCharged(operation('contacts.enrich_sync'), body)).toBe(2)
    expect(creditsCharged(operation('contacts.get'), body)).toBe(0)
  })

  it('are zero for a body that is no object, of any operation', () => {
    for (const row of operations())
      for (const body of [null, undefined, [], 'x', 7]) expect(creditsCharged(row, body)).toBe(0)
  })

  it('are counted for every operation that charges with its reply', () => {
    const now = operations().filter(({ price, starts }) => Object.keys(price).length > 0 && !starts)
    const rich = {
      id: 'x',
      name: 'X',
      full_name: 'X',
      email: 'a@x',
      jobs: [{}],
      technologies: ['x'],
      results: [{ reachable: true, id: 'c1' }, null],
    }
    expect(now.filter((row) => creditsCharged(row, rich) === 0).map(({ id }) => id)).toEqual([])
  })
})

it('operations of one command have names of their own in tables', () => {
  const names = operations().map(({ id }) => commandOf(id))
  expect(new Set(names).size).toBe(names.length)
  expect(names).toContain('contacts waterfall --bulk')
})
