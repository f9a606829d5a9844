import { describe, expect, it } from 'vitest'
import type { Targets } from '../../src/api/ports/ports.js'
import { destinationOf } from '../../src/client/ssrf-guard.js'
import { casesOf } from '../support/fixtures.js'
import { resolveKnown } from './targets.js'

const none: Targets = { allow: [], loopback: false }
const ask = (url: string, targets: Partial<Targets> = {}) =>
  destinationOf(url, { ...none, ...targets }, resolveKnown)
const refusal = async (url: string, targets: Partial<Targets> = {}) => {
  const found = await ask(url, targets)
  return 'refused' in found ? found.refused : undefined
}

describe('the addresses of a webhook URL', () => {
  it('returns all addresses of a name', async () => {
    expect(await ask('https://public.example/hook')).toMatchObject({
      addresses: ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
    })
  })

  it('returns the address that a URL spells without a lookup', async () => {
    const never = () => Promise.reject(new Error('looked up'))
    for (const host of ['134744072', '0x8080808', '8.8.2056', '[::ffff:8.8.8.8]', '８.８.８.８'])
      expect(await destinationOf(`https://${host}/`, none, never)).toMatchObject({ addresses: ['8.8.8.8'] })
  })

  it('looks a name up once', async () => {
    const looked: string[] = []
    const resolve = async (name: string) => {
      looked.push(name)
      return looked.length === 1 ? ['93.184.215.14'] : ['127.0.0.1']
    }
    expect(await destinationOf('https://rebinding.example/', none, resolve)).toMatchObject({
      addresses: ['93.184.215.14'],
    })
    expect(looked).toEqual(['rebinding.example'])
  })

  it('throws when a name does not resolve', async () => {
    await expect(ask('https://unknown.example/')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    await expect(destinationOf('https://empty.example/', none, async () => [])).rejects.toMatchObject({
      code: 'ENODATA',
    })
  })
})

describe('refusal messages', () => {
  const adviceToAllow = (networks: readonly string[]) => `Allow ${networks.join(' and ')}.`

  it.each([
    ['http://2130706433:8080/', 'Webhooks to this machine are blocked. Allow 127.0.0.1/32.'],
    ['http://[::1]/', 'Webhooks to this machine are blocked. Allow ::1/128.'],
    ['http://localhost/', 'Webhooks to this machine are blocked. Allow 127.0.0.1/32 and ::1/128.'],
    [
      'https://10.1.2.3/',
      'Webhooks to 10.1.2.3 are blocked, because it is a private address. Allow 10.1.2.3/32.',
    ],
    ['http://8.8.8.8/', '8.8.8.8 is a public address, which takes https. Allow 8.8.8.8/32.'],
  ])('names the networks that would have to be allowed for %s', async (url, sentence) => {
    expect(await refusal(url, { adviceToAllow })).toBe(sentence)
  })

  it('does not reveal the internal address of a name', async () => {
    const blocked = 'are blocked, because it has a private address.'
    expect(await refusal('https://private.example/')).toBe(`Webhooks to private.example ${blocked}`)
    expect(await refusal('http://private-and-public.example/', { adviceToAllow })).toBe(
      `Webhooks to private-and-public.example ${blocked} Allow NETWORK.`,
    )
  })

  it('suggests no option for an address that is never permitted', async () => {
    expect(await refusal('https://169.254.169.254/')).toBe(
      '169.254.169.254 is a link-local address, which is never permitted',
    )
  })

  it('asks for https when that is all that is missing', async () => {
    expect(await refusal('http://public.example/')).toMatch(/https/)
    expect(await refusal('http://8.8.8.8/')).toMatch(/https/)
    expect(await refusal('https://8.8.8.8/')).toBeUndefined()
  })

  it('does not repeat a password from the URL', async () => {
    expect(await refusal('https://user:hunter2@public.example/')).not.toMatch(/user:|hunter2/)
  })

  it('accepts a URL of a million characters', async () => {
    const long = `https://public.example/${':'.repeat(1_000_000)}`
    expect(await refusal(long)).toBeUndefined()
  })
})

describe('--allow-target', () => {
  it.each(casesOf<[string, string[]]>('client/ssrf-guard/allow-target-permits-with'))(
    '--allow-target permits %s with %j',
    async (url, allow) => {
      expect(await refusal(url, { allow })).toBeUndefined()
    },
  )

  it.each(casesOf<[string, string[]]>('client/ssrf-guard/allow-target-does-not'))(
    '--allow-target does not permit %s with %j',
    async (url, allow) => {
      expect(await refusal(url, { allow })).toBeDefined()
    },
  )
})

describe('permitted loopback', () => {
  const loopback = true

  it.each(casesOf<[string, boolean]>('client/ssrf-guard/as-loopback'))(
    'permits %s as loopback: %s',
    async (url, isPermitted) => {
      expect((await refusal(url, { loopback })) === undefined).toBe(isPermitted)
    },
  )
})
