import { describe, expect, it } from 'vitest'
import { ApiError } from '../../src/api/calls/errors.js'
import { operation, operations } from '../../src/api/operations/table.js'
import { wireRequest } from '../../src/client/connection.js'

const names = { network: 'linkedin', premium: 'sales_navigator' }

describe('the request for an operation', () => {
  it('sends the fields of a POST in its body', () => {
    expect(wireRequest(operation('accounts.enrich'), { domain: 'x.example', live: false })).toEqual({
      method: 'POST',
      path: '/accounts/single_enrich',
      body: '{"domain":"x.example","live":false}',
    })
  })

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

  it('builds the method and path of every operation from its row', () => {
    for (const row of operations()) {
      const { method, path } = wireRequest(row, { id: 'i', uuid: 'u', company_network_url: 'x' }, names)
      const pattern = row.path.replace(/\{\w+\}/g, '[iu]').replaceAll('/', '\\/')
      expect([method, path]).toEqual([row.method, expect.stringMatching(new RegExp(`^${pattern}(\\?.*)?$`))])
    }
  })

  it('uses the names of the server in bodies and queries', () => {
    const body = wireRequest(operation('accounts.hiring'), { company_network_url: 'u' }, names).body
    expect(body).toBe('{"company_linkedin_url":"u"}')
    const { path } = wireRequest(operation('accounts.technologies'), { network_id: 7 }, names)
    expect(path).toBe('/accounts/technologies?linkedin_id=7')
  })
})
