import { describe, expect, it } from 'vitest'
import { ApiError } from '../../src/api/calls/errors.js'
import { operation } from '../../src/api/operations/table.js'
import { wireRequest } from '../../src/client/connection.js'

describe('the request for an operation', () => {
  it('sends the fields of a GET in the query, repeats lists and omits absent values', () => {
    const { path, body } = wireRequest(operation('searches.list'), {
      enriched: false,
      a: ['1', '2'],
      b: null,
      c: undefined,
    })
    expect([path, body]).toEqual(['/searches?enriched=false&a=1&a=2', undefined])
  })

  it('sends an id as one escaped segment of the path, and not in the query', () => {
    expect(wireRequest(operation('searches.get'), { id: 'a/../b?c#d', page: 2 }).path).toBe(
      '/searches/a%2F..%2Fb%3Fc%23d?page=2',
    )
  })

  it.each(['', '.', '..'])('refuses the id %j, which would change the path', (id) => {
    expect(() => wireRequest(operation('lists.get'), { id })).toThrow(ApiError)
  })

  it('refuses a filter that only the engine applies, because a server would ignore it and find others', () => {
    const refused = () =>
      wireRequest(operation('leads.advanced_search'), { keyword: 'x', max_per_company: 2 })
    expect(refused).toThrow('max_per_company works only with the engine, not at a server')
    const none = { keyword: 'x', max_per_company: null }
    expect(wireRequest(operation('leads.advanced_search'), none).method).toBe('POST')
  })
})
