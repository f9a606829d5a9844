import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressOf, covers, isNetwork, kindOf } from '../../src/client/ssrf-guard.js'
import { casesOf } from '../support/fixtures.js'

const kind = (text: string) => {
  const address = addressOf(text)
  return address ? kindOf(address) : 'no address'
}

describe('addresses', () => {
  it.each(casesOf<string>('client/networks/treats-as-a-public'))('treats %s as a public address', (text) => {
    expect(kind(text)).toBeUndefined()
  })

  it.each(casesOf<[string, string]>('client/networks/does-not-treat-as'))(
    'does not treat %s as public, because it is %s',
    (text, word) => {
      expect(kind(text)).toContain(word)
    },
  )

  it.each(casesOf<string>('client/networks/no-addresses'))('does not parse %j as an address', (text) => {
    expect(addressOf(text)).toBeUndefined()
  })
})

describe('networks', () => {
  const isIn = (text: string, network: string) => {
    const address = addressOf(text)
    return address !== undefined && covers(network, address)
  }

  it.each(casesOf<[string, string, boolean]>('client/networks/contains'))(
    'network %s contains %s: %s',
    (network, text, expected) => {
      expect([isNetwork(network), isIn(text, network)]).toEqual([true, expected])
    },
  )

  it.each(casesOf<string>('client/networks/no-networks'))('does not parse %j as a network', (text) => {
    expect(isNetwork(text)).toBe(false)
    expect(isIn('10.0.0.1', text)).toBe(false)
  })

  it('a network contains exactly the addresses that share its prefix', () => {
    const bits = fc.integer({ min: 0, max: 32 })
    const number = fc.integer({ min: 0, max: 0xffffffff })
    const dotted = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
    fc.assert(
      fc.property(number, number, bits, (one, two, length) => {
        const same = BigInt(one) >> BigInt(32 - length) === BigInt(two) >> BigInt(32 - length)
        expect(isIn(dotted(two), `${dotted(one)}/${length}`)).toBe(same)
      }),
    )
  })
})
