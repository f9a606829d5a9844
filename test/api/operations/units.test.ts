import { describe, expect, it } from 'vitest'
import { creditsCharged, operation, operations, unitsOf } from '../../../src/api/operations/table.js'

describe('units of a reply', () => {
  it.each([
    ['accounts.enrich', { id: 'x', name: 'X' }, { company: 1 }, 1],
    ['accounts.enrich', { id: null, name: null }, {}, 0],
    ['accounts.hiring', { total_jobs: 9, jobs: [{}, {}] }, { job: 2 }, 2],
    ['accounts.hiring', { total_jobs: 0, jobs: [] }, { job: 0 }, 0],
    ['accounts.stack', { technologies: ['React'] }, { company: 1 }, 3],
    ['accounts.stack', { technologies: [], technologies_with_confidence: [] }, { company: 0 }, 0],
    ['leads.enrich', { full_name: 'A B' }, { person: 1 }, 1],
    ['contacts.reverse_lookup', { full_name: 'A B' }, { person: 1 }, 1],
    [
      'contacts.enrich_sync',
      { email: 'a@x', email_status: 'risky' },
      { email: 1, personal_email: 0, phone: 0 },
      3,
    ],
    [
      'contacts.enrich_sync',
      { email: 'a@x', email_status: 'invalid', phone: ['1', '2'] },
      { email: 0, personal_email: 0, phone: 1 },
      30,
    ],
    [
      'contacts.enrich_sync',
      { personal_email: 'a@x', phone: [] },
      { email: 0, personal_email: 1, phone: 0 },
      3,
    ],
    ['messenger.validate', { results: [{ reachable: true }, { reachable: false }, 7] }, { number: 1 }, 1],
    ['contacts.enrich', { enrichment_id: 'x', status: 'pending' }, {}, 0],
    ['intents.stack', { id: 'x', total_count: 9 }, {}, 0],
    ['credits.show', { credits: { enrichment: 1 } }, {}, 0],
  ] as const)('%s %j are %j, and cost %i', (id, body, units, credits) => {
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
