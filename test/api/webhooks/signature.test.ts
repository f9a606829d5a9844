import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import {
  isSecret,
  newSecret,
  type SignatureHeaders,
  sign,
  verify,
} from '../../../src/api/webhooks/signature.js'

const now = Date.parse('2026-03-10T12:00:00.700Z')
const id = 'msg_2f6e1b'
const secret = newSecret(randomBytes(32))
const other = newSecret(randomBytes(32))
const body = JSON.stringify({
  event: 'lead_search.completed',
  leads: 'é'.repeat(400),
  filler: 'x'.repeat(200),
})
const headers = sign(id, now, body, [secret])

const check = (changed: Partial<Record<keyof SignatureHeaders, string>>, given: string | Uint8Array = body) =>
  verify({ ...headers, ...changed }, given, [secret], now)
const reasonOf = (result: ReturnType<typeof verify>) => (result.valid ? undefined : result.reason)

/** A verifier written from the specification alone; it reads neither our code nor the library's. */
function independent(given: SignatureHeaders, text: string, keyText: string, seconds: number): boolean {
  const stamp = given['webhook-timestamp']
  if (!/^\d+$/.test(stamp) || Math.abs(seconds - Number.parseInt(stamp, 10)) > 300) return false
  const key = Buffer.from(keyText.slice('whsec_'.length), 'base64')
  const mac = createHmac('sha256', key)
  mac.update([given['webhook-id'], stamp, text].join('.'))
  const wanted = mac.digest('base64')
  for (const entry of given['webhook-signature'].split(' ')) {
    const [version, value] = entry.split(',')
    if (version === 'v1' && value === wanted) return true
  }
  return false
}

describe('a webhook signature', () => {
  it('is the one of the official library and verified by an independent verifier, whatever is signed', () => {
    const anything = fc.tuple(
      fc.stringMatching(/^[\w-]{1,40}$/),
      fc.string({ unit: 'grapheme' }),
      fc.uint8Array({ minLength: 24, maxLength: 64 }),
    )
    fc.assert(
      fc.property(anything, ([name, text, random]) => {
        const key = newSecret(random)
        const ours = sign(name, now, text, [key])
        expect(ours['webhook-signature']).toBe(new Webhook(key).sign(name, new Date(now), text))
        expect(verify(ours, text, [key], now).valid).toBe(true)
        expect(independent(ours, text, key, now / 1_000)).toBe(true)
      }),
    )
  })

  it('is accepted with its id and time, over the bytes of the body as over its text', () => {
    const accepted = { valid: true, id, timestampMs: Math.floor(now / 1_000) * 1_000 }
    expect([check({}), check({}, Buffer.from(body))]).toEqual([accepted, accepted])
  })

  it('is found in headers of every kind', () => {
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    )
    for (const kind of [new Headers({ ...headers }), upper, { ...headers, 'webhook-id': [id] }])
      expect(verify(kind, body, [secret], now).valid).toBe(true)
  })

  it('of either secret is accepted during a rotation', () => {
    const both = sign(id, now, body, [other, secret])
    for (const known of [secret, other]) {
      expect(verify(both, body, [known], now).valid).toBe(true)
      expect(independent(both, body, known, now / 1_000)).toBe(true)
      expect(verify(sign(id, now, body, [known]), body, [other, secret], now).valid).toBe(true)
    }
    const today = sign(id, Date.now(), body, [other, secret])
    for (const known of [secret, other])
      expect(() => new Webhook(known).verify(body, { ...today })).not.toThrow()
  })
})

describe('a delivery is refused', () => {
  it('when any bit of a body of 1 kB is flipped', () => {
    const bytes = Buffer.from(body)
    expect(bytes.length).toBeGreaterThan(1_000)
    const accepted = [...Array(bytes.length * 8).keys()].filter((bit) => {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      return check({}, flipped).valid
    })
    expect(accepted).toEqual([])
  })

  it.each([301, -301, 86_400])('when it was signed %i s earlier', (seconds) => {
    const result = verify(headers, body, [secret], now + seconds * 1_000)
    expect(reasonOf(result)).toMatch(/300 s are allowed/)
  })

  it.each([299, -299, 300, -300])('but not when it was signed %i s earlier', (seconds) => {
    expect(verify(headers, body, [secret], now + seconds * 1_000).valid).toBe(true)
  })

  it('when it is older than a custom tolerance', () => {
    expect(verify(headers, body, [secret], now + 11_000, 10_000).valid).toBe(false)
  })

  it.each(['', ' ', '1e9', '-5', '0x65f', '17.5', '1773144000x', '９', '9'.repeat(13)])(
    'when its timestamp is %j, even well signed',
    (timestamp) => {
      const mac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      const signature = `v1,${mac.update(`${id}.${timestamp}.${body}`).digest('base64')}`
      const result = check({ 'webhook-timestamp': timestamp, 'webhook-signature': signature })
      expect(reasonOf(result)).toContain('webhook-timestamp')
    },
  )

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const)('without %s', (name) => {
    const { [name]: _, ...rest } = headers
    expect(reasonOf(verify(rest, body, [secret], now))).toContain(name)
    expect(reasonOf(check({ [name]: '' }))).toContain(name)
  })

  it('when a header was sent twice', () => {
    expect(verify({ ...headers, 'webhook-id': [id, id] }, body, [secret], now).valid).toBe(false)
  })

  const [version = '', value = ''] = headers['webhook-signature'].split(',')
  it.each([
    ['of version v0', `v0,${value}`],
    ['of version v1a', `v1a,${value}`],
    ['of no version', value],
    ['that is cut off', `${version},${value.slice(0, -1)}`],
    ['that is cut off at its padding', `${version},${value.slice(0, -2)}`],
    ['that is cut off to nothing', `${version},`],
    ['with more behind it', `${version},${value}A`],
    ['in the other base64', `${version},${value.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')}`],
    ['in hexadecimal', `${version},${Buffer.from(value, 'base64').toString('hex')}`],
    ['of another secret', sign(id, now, body, [other])['webhook-signature']],
  ])('with a signature %s', (_, signature) => {
    expect(check({ 'webhook-signature': signature }).valid).toBe(false)
  })

  it('when its JSON was parsed and written again', () => {
    const spaced = '{ "event": "x", "n": 1.0 }'
    const signed = sign(id, now, spaced, [secret])
    expect(verify(signed, spaced, [secret], now).valid).toBe(true)
    expect(verify(signed, JSON.stringify(JSON.parse(spaced)), [secret], now).valid).toBe(false)
  })

  it('with the id or the time of another delivery', () => {
    expect(check({ 'webhook-id': 'msg_other' }).valid).toBe(false)
    expect(check({ 'webhook-timestamp': String(Math.floor(now / 1_000) + 1) }).valid).toBe(false)
  })

  it('when no secret can have signed it', () => {
    expect(verify(headers, body, [], now).valid).toBe(false)
    expect(verify(headers, body, ['whsec_', 'not a secret'], now).valid).toBe(false)
  })

  it('in words that contain neither secret nor signature', () => {
    const reason = reasonOf(verify(headers, body, [other], now)) ?? ''
    expect(reason).not.toContain(value)
    expect(reason).not.toContain(other.slice(6))
  })
})

describe('a webhook secret', () => {
  it.each([24, 32, 64])('may have %i bytes', (size) => {
    const random = randomBytes(size)
    expect(newSecret(random)).toBe(`whsec_${random.toString('base64')}`)
    expect(isSecret(newSecret(random))).toBe(true)
  })

  it.each([0, 23, 65])('may not have %i bytes', (size) => {
    expect(() => newSecret(randomBytes(size))).toThrow(RangeError)
    expect(isSecret(`whsec_${randomBytes(size).toString('base64')}`)).toBe(false)
  })

  it.each([secret.slice(6), `whsec_${'é'.repeat(40)}`, `${secret} `, secret.toUpperCase(), ''])(
    'is not %j',
    (text) => {
      expect(isSecret(text)).toBe(false)
      expect(() => sign(id, now, body, [text])).toThrow(RangeError)
    },
  )
})
