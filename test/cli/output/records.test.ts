import { describe, expect, it } from 'vitest'
import {
  columnsOf,
  flatten,
  namesOf,
  pickFields,
  recordsIn,
  toView,
  valueAt,
} from '../../../src/cli/output/records.js'
import { idOf } from '../../../src/runs/output/formats.js'

describe('finding the records in a body', () => {
  it('returns the items of a list', () => {
    expect(recordsIn([{ id: 1 }, 'x'])).toEqual({ rows: [{ id: 1 }, { value: 'x' }], isList: true })
  })

  it('returns the body itself when it has the expected columns', () => {
    const contact = { status: 'finished', email: null, phone_details: [{ number: '+33612345678' }] }
    expect(recordsIn(contact, ['status', 'email'])).toEqual({ rows: [contact], isList: false })
  })

  it('returns the list whose records have the expected columns', () => {
    const body = { technologies: ['React'], technologies_with_confidence: [{ name: 'React', slug: 'react' }] }
    expect(recordsIn(body, ['name', 'slug']).from).toBe('technologies_with_confidence')
  })

  it('returns an empty list when the body has no records', () => {
    expect(recordsIn({ total_jobs: 0, jobs: [] }, ['job_title'])).toEqual({
      rows: [],
      isList: true,
      from: 'jobs',
    })
  })

  it('returns the body as one record when nothing matches', () => {
    expect(recordsIn({ a: 1 }, ['b'])).toEqual({ rows: [{ a: 1 }], isList: false })
    expect(recordsIn('text').rows).toEqual([{ value: 'text' }])
  })
})

describe('reading a record', () => {
  const record = { id: 'x', company: { name: 'Acme', size: { from: 1 } }, tags: ['a'], none: {} }

  it('expands an object field to its dotted columns', () => {
    expect(columnsOf(['a', 'b', 'c'], ['a.x', 'a.y', 'b', 'ab'])).toEqual(['a.x', 'a.y', 'b', 'c'])
  })

  it('flattens a record to dotted names, except lists and empty objects', () => {
    const flat = { id: 'x', 'company.name': 'Acme', 'company.size.from': 1, tags: ['a'], none: {} }
    expect(flatten(record)).toEqual(flat)
    expect(namesOf([{ id: 1 }, record])).toEqual(Object.keys(flat))
  })

  it('reads the value at a path, also when a name contains a dot', () => {
    expect([valueAt(record, 'company.size.from'), valueAt({ 'a.b': 1 }, 'a.b')]).toEqual([1, 1])
    expect([valueAt(record, 'company.none.x'), valueAt(null, 'a'), valueAt(record, 'toString')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('selects fields without changing the shape of the record', () => {
    expect(pickFields(record, ['company.name', 'id', 'missing'])).toEqual({
      company: { name: 'Acme' },
      id: 'x',
      missing: null,
    })
  })

  it('does not pollute the prototype of objects', () => {
    pickFields({}, ['__proto__.polluted'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('finds the id of a record at any of its places', () => {
    expect(
      [
        { id: 'a' },
        { message: { id: 'b' } },
        { lead: { network_profile_url: 'u', id: 'c' } },
        { slug: 'd' },
        {},
      ].map(idOf),
    ).toEqual(['a', 'b', 'c', 'd', undefined])
  })
})

it('the view of a stored thing has the named fields in snake case and in order, and moments as ISO time', () => {
  const key = { id: 'a', memberId: 'b', expiresAt: null, createdAt: 0, hash: 'secret', spent: 3 }
  const view = toView(key, ['createdAt', 'memberId', 'expiresAt', 'spent'])
  expect(Object.entries(view)).toEqual([
    ['created_at', '1970-01-01T00:00:00.000Z'],
    ['member_id', 'b'],
    ['expires_at', null],
    ['spent', 3],
  ])
})
