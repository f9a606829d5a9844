import { describe, expect, it } from 'vitest'
import { operation } from '../../../src/api/operations/table.js'
import { targetOf } from '../../../src/cli/target/resolve-target.js'
import { waitStrategyOf } from '../../../src/cli/wait/strategy.js'

const far = { base_url: 'https://api.example/api/v2' }
const target = (profile: object) => targetOf({}, {}, { profiles: { default: profile } })
const way = (id: 'accounts.search' | 'leads.extract', profile: object, options = {}) =>
  waitStrategyOf(operation(id), {}, target(profile), options)

describe('the way a result comes', () => {
  it('is the tunnel of the profile, where a server is elsewhere and cannot be asked', () => {
    const found = way('accounts.search', { ...far, public_url: 'https://tunnel.example/in' })
    expect(found).toMatchObject({
      receives: true,
      known: { origin: 'https://tunnel.example', prefix: '/in' },
    })
  })

  it('is the option before the profile', () => {
    const options = { publicUrl: 'https://other.example' }
    const found = way('accounts.search', { ...far, public_url: 'https://tunnel.example' }, options)
    expect(found.known?.origin).toBe('https://other.example')
  })

  it('is to ask, where that can be done, though the profile has a tunnel', () => {
    const found = way('leads.extract', { ...far, public_url: 'https://tunnel.example' })
    expect(found).toMatchObject({ receives: false, asks: true, known: undefined })
  })

  it('needs no tunnel from a server of this machine', () => {
    const near = { base_url: 'http://127.0.0.1:4010/api/v2', public_url: 'https://tunnel.example' }
    expect(way('accounts.search', near)).toMatchObject({ receives: true, known: undefined })
  })

  it('is missing without a tunnel, and says which setting it is', () => {
    expect(() => way('accounts.search', far)).toThrow(/comes by webhook alone/)
  })
})
