import { describe, expect, it } from 'vitest'
import { operation } from '../../../src/api/operations/table.js'
import { receivingAddress } from '../../../src/cli/call/receive.js'
import { targetOf } from '../../../src/cli/target/resolve-target.js'

const far = { base_url: 'https://api.example/api/v2' }
const tunnel = { ...far, public_url: 'https://tunnel.example/in' }
const target = (profile: object) => targetOf({}, {}, { profiles: { default: profile } })
const at = (id: 'accounts.search' | 'leads.extract', profile: object, options = {}, input = {}) =>
  receivingAddress(target(profile), { operation: operation(id), input, invocation: { args: [], options } })

describe('how a result is received', () => {
  it('receives companies of a remote server through --public-url or the tunnel of the profile', () => {
    expect(at('accounts.search', tunnel)).toMatchObject({ origin: 'https://tunnel.example', prefix: '/in' })
    const publicUrl = 'https://other.example'
    expect(at('accounts.search', tunnel, { publicUrl })?.origin).toBe(publicUrl)
  })

  it.each([
    ['people, although the profile has a tunnel', 'leads.extract', tunnel, {}],
    [
      'a server on this machine',
      'accounts.search',
      { ...tunnel, base_url: 'http://127.0.0.1:4010/api/v2' },
      {},
    ],
    ['companies without a tunnel', 'accounts.search', far, {}],
    ['a webhook of your own', 'accounts.search', tunnel, { webhook_url: 'https://hooks.example/in' }],
  ] as const)('polls for %s', (_, id, profile, input) => {
    expect(at(id, profile, {}, input)).toBeUndefined()
  })
})
