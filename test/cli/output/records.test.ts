import { describe, expect, it } from 'vitest'
import {
  columnsOf,
  flattened,
  idOf,
  namesOf,
  picked,
  recordsIn,
  valueAt,
} from '../../../src/cli/output/records.js'

describe('records in a body', () => {
  it('are the body when it is a list', () => {
    expect(recordsIn([{ id: 1 }, 'x'])).toEqual({ rows: [{ id: 1 }, { value: 'x' }], isList: true })
  })

  it('are the body itself when it has the columns', () => {
    const contact = { status: 'finished', email: null, phone_details: [{ number: '+33612345678' }] }
    expect(recordsIn(contact, ['status', 'email'])).toEqual({ rows: [contact], isList: false })
  })

  it('are the list whose records have the columns', () => {
    const body = { technologies: ['React'], technologies_with_confidence: [{ name: 'React', slug: 'react' }] }
    expect(recordsIn(body, ['name', 'slug']).from).toBe('technologies_with_confidence')
  })

  it('are an empty list when there is nothing else', () => {
    expect(recordsIn({ total_jobs: 0, jobs: [] }, ['job_title'])).toEqual({
      rows: [],
      isList: true,
      from: 'jobs',
    })
  })

  it('are the body when nothing fits', () => {
    expect(recordsIn({ a: 1 }, ['b'])).toEqual({ rows: [{ a: 1 }], isList: false })
    expect(recordsIn('text').rows).toEqual([{ value: 'text' }])
  })
})

describe('a record', () => {
  const record = { id: 'x', company: { name: 'Acme', size: { from: 1 } }, tags: ['a'], none: {} }

  it('has a column for each part of an object that is named whole', () => {
    expect(columnsOf(['a', 'b', 'c'], ['a.x', 'a.y', 'b', 'ab'])).toEqual(['a.x', 'a.y', 'b', 'c'])
  })

  it('is flattened to dotted names; lists and empty objects stay', () => {
    const flat = { id: 'x', 'company.name': 'Acme', 'company.size.from': 1, tags: ['a'], none: {} }
    expect(flattened(record)).toEqual(flat)
    expect(namesOf([{ id: 1 }, record])).toEqual(Object.keys(flat))
  })

  it('gives the value at a path, also where a name itself has a dot', () => {
    expect([valueAt(record, 'company.size.from'), valueAt({ 'a.b': 1 }, 'a.b')]).toEqual([1, 1])
    expect([valueAt(record, 'company.none.x'), valueAt(null, 'a'), valueAt(record, 'toString')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('is picked without losing its shape', () => {
    expect(picked(record, ['company.name', 'id', 'missing'])).toEqual({
      company: { name: 'Acme' },
      id: 'x',
      missing: null,
    })
  })

  it('cannot be used to change what all objects have', () => {
    picked({}, ['__proto__.polluted'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('has an id, wherever it is', () => {
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
