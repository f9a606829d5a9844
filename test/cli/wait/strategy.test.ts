import { describe, expect, it } from 'vitest'
import { operation } from '../../../src/api/operations/table.js'
import { targetOf } from '../../../src/cli/target/resolve-target.js'
import { waitStrategyOf } from '../../../src/cli/wait/watch.js'

const far = { base_url: 'https://api.example/api/v2' }
const target = (profile: object) => targetOf({}, {}, { profiles: { default: profile } })
const way = (id: 'accounts.search' | 'leads.extract', profile: object, options = {}) =>
  waitStrategyOf(operation(id), {}, target(profile), options)

describe('how a result is received', () => {
  it('receives companies of a remote server through the tunnel of the profile', () => {
    const found = way('accounts.search', { ...far, public_url: 'https://tunnel.example/in' })
    expect(found).toMatchObject({
      receives: true,
      address: { origin: 'https://tunnel.example', prefix: '/in' },
    })
  })

  it('prefers --public-url to the tunnel of the profile', () => {
    const options = { publicUrl: 'https://other.example' }
    const found = way('accounts.search', { ...far, public_url: 'https://tunnel.example' }, options)
    expect(found.address?.origin).toBe('https://other.example')
  })

  it('polls a remote server for people, although the profile has a tunnel', () => {
    const found = way('leads.extract', { ...far, public_url: 'https://tunnel.example' })
    expect(found).toMatchObject({ receives: false, address: undefined })
  })

  it('receives on loopback from a server on this machine without a tunnel', () => {
    const near = { base_url: 'http://127.0.0.1:4010/api/v2', public_url: 'https://tunnel.example' }
    expect(way('accounts.search', near)).toMatchObject({ receives: true, address: undefined })
  })

  it('polls a remote server for companies when there is no tunnel', () => {
    expect(way('accounts.search', far)).toMatchObject({ receives: false, address: undefined })
  })
})
