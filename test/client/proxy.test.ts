import { describe, expect, it } from 'vitest'
import { type Environment, proxyOf } from '../../src/client/connection.js'
import { casesOf } from '../support/fixtures.js'

const of = (url: string, env: Environment) => proxyOf(new URL(url), env)?.host

describe('the proxy for a URL', () => {
  it.each([
    ['https://api.example/', { HTTPS_PROXY: 'http://a:1' }, 'a:1'],
    ['https://api.example/', { https_proxy: 'http://a:1', HTTPS_PROXY: 'http://b:2' }, 'a:1'],
    ['https://api.example/', { HTTP_PROXY: 'http://a:1' }, undefined],
    ['http://api.example/', { HTTP_PROXY: 'a:1' }, 'a:1'],
    ['http://api.example/', { http_proxy: 'http://a:1' }, 'a:1'],
    ['https://api.example/', { HTTPS_PROXY: '' }, undefined],
  ] as const)('%s with %j uses proxy %s', (url, env, host) => {
    expect(of(url, env)).toBe(host)
  })

  it.each(casesOf<[string, boolean]>('client/proxy/applies-no-proxy-to'))(
    'applies NO_PROXY=%j to the host, its domain and its port: %s',
    (list, left) => {
      for (const name of ['NO_PROXY', 'no_proxy'])
        expect(of('https://api.example/', { HTTPS_PROXY: 'http://a:1', [name]: list })).toBe(
          left ? undefined : 'a:1',
        )
    },
  )

  it.each([
    'http://localhost:1/',
    'http://127.0.0.1/',
    'http://127.9.9.9/',
    'http://[::1]/',
    'https://LOCALHOST./',
  ])('uses no proxy for this machine: %s', (url) => {
    expect(of(url, { HTTP_PROXY: 'http://a:1', HTTPS_PROXY: 'http://a:1' })).toBeUndefined()
  })

  it('refuses a proxy with an unknown scheme without repeating its password', () => {
    const env = { HTTPS_PROXY: 'ftp://user:secret@a:1' }
    expect(() => of('https://api.example/', env)).toThrow(
      expect.objectContaining({ code: 'proxy.not_address', details: { name: 'HTTPS_PROXY' } }),
    )
  })
})
