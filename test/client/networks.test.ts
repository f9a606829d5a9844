import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressOf, covers, embeddedIn, isNetwork, kindOf } from '../../src/client/networks.js'

const kind = (text: string) => {
  const address = addressOf(text)
  return address ? kindOf(address) : 'no address'
}

describe('addresses', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2000::1',
    '2001:200::1',
    '2606:4700:4700::1111',
    '2a00::1',
    '3ffe::1',
    '64:ff9b::808:808',
    '::ffff:8.8.8.8',
  ])('treats %s as a public address', (text) => {
    expect(kind(text)).toBeUndefined()
  })

  it.each([
    ['0.0.0.0', 'unspecified'],
    ['0.255.255.255', 'unspecified'],
    ['10.0.0.0', 'private'],
    ['10.255.255.255', 'private'],
    ['100.64.0.0', 'carrier'],
    ['100.127.255.255', 'carrier'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.1', 'reserved'],
    ['192.0.2.1', 'reserved'],
    ['192.88.99.1', 'reserved'],
    ['192.168.0.0', 'private'],
    ['192.168.255.255', 'private'],
    ['198.18.0.0', 'reserved'],
    ['198.19.255.255', 'reserved'],
    ['198.51.100.1', 'reserved'],
    ['203.0.113.1', 'reserved'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.0', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::2', 'reserved'],
    ['::7f00:1', 'reserved'],
    ['::ffff:10.0.0.1', 'private'],
    ['::ffff:0:127.0.0.1', 'reserved'],
    ['64:ff9b:1::1', 'reserved'],
    ['100::1', 'reserved'],
    ['2001::1', 'tunnel'],
    ['2001:2::1', 'reserved'],
    ['2001:20::1', 'reserved'],
    ['2001:1ff::1', 'reserved'],
    ['2001:db8::1', 'reserved'],
    ['2002:7f00:1::', 'tunnel'],
    ['3fff::1', 'reserved'],
    ['4000::1', 'reserved'],
    ['5f00::1', 'reserved'],
    ['fc00::1', 'private'],
    ['fd00:ec2::254', 'private'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['fec0::1', 'reserved'],
    ['ff02::1', 'multicast'],
  ])('does not treat %s as public, because it is %s', (text, word) => {
    expect(kind(text)).toContain(word)
  })

  it.each([
    '',
    '1',
    '127.1',
    '0x7f.0.0.1',
    '127.0.0.01',
    '1.2.3.4.5',
    '256.1.1.1',
    'fe80::1%eth0',
    '::1%lo',
    'a.b',
  ])('does not parse %j as an address', (text) => {
    expect(addressOf(text)).toBeUndefined()
  })
})

describe('IPv4 addresses embedded in IPv6', () => {
  it.each([
    ['::a01:203', '10.1.2.3'],
    ['::ffff:0:10.1.2.3', '10.1.2.3'],
    ['64:ff9b::10.1.2.3', '10.1.2.3'],
    ['64:ff9b:1::10.1.2.3', '10.1.2.3'],
    ['2002:a01:203::1', '10.1.2.3'],
    ['2001:0:a01:203::', '10.1.2.3'],
    ['2001:0:808:808::f5fe:fdfc', '10.1.2.3'],
    ['2606:4700::5efe:10.1.2.3', '10.1.2.3'],
    ['2606:4700::200:5efe:10.1.2.3', '10.1.2.3'],
  ])('finds the embedded IPv4 address in %s: %s', (text, inside) => {
    const address = addressOf(text)
    expect(address && embeddedIn(address).map(String)).toContain(inside)
  })

  it.each(['::', '::1', '2606:4700::1111', '8.8.8.8'])('finds no embedded address in %s', (text) => {
    const address = addressOf(text)
    expect(address && embeddedIn(address)).toEqual([])
  })
})

describe('networks', () => {
  const isIn = (text: string, network: string) => {
    const address = addressOf(text)
    return address !== undefined && covers(network, address)
  }

  it.each([
    ['10.0.0.0/8', '10.255.0.1'],
    ['10.1.2.3', '10.1.2.3'],
    ['0.0.0.0/0', '1.2.3.4'],
    ['10.0.0.0/8', '::ffff:10.1.2.3'],
    ['::ffff:10.0.0.0/104', '10.1.2.3'],
    ['fd00::/8', 'fd12::1'],
    ['::1', '::1'],
  ])('network %s contains %s', (network, text) => {
    expect(isNetwork(network)).toBe(true)
    expect(isIn(text, network)).toBe(true)
  })

  it.each([
    ['10.0.0.0/8', '11.0.0.1'],
    ['10.1.2.3', '10.1.2.4'],
    ['::/0', '1.2.3.4'],
    ['0.0.0.0/0', '::1'],
  ])('network %s does not contain %s', (network, text) => {
    expect(isIn(text, network)).toBe(false)
  })

  it.each([
    '',
    '10/8',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '::/129',
    'example.com',
    '10.0.0.0/1e0',
    '::ffff:10.0.0.0/8',
  ])('does not parse %j as a network', (text) => {
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
