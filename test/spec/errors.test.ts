import { describe, expect, it } from 'vitest'
import { ApiError } from '../../src/api/calls/errors.js'
import { perTest } from '../support/each.js'
import { requests } from './requests.js'
import { openService } from './service.js'

const service = perTest(openService)

const enrich = () => service.ask('accounts.enrich')
const limitWeek = (weeklyLimit: number) => service.admin.changeMember('me@localhost', { weeklyLimit })

describe('errors: 401', () => {
  it.each([null, 'wrong'])('is the answer to a missing or invalid key: %s', async (key) => {
    const { status, body } = await service.ask('lists.list', {}, { key })
    expect([status, body]).toEqual([401, { error: 'Invalid API key' }])
  })
})

describe('errors: 402', () => {
  it('means too few credits: code, top_up_url and the shortfall; nothing is spent', async () => {
    await service.admin.setCredits(2)
    const { status, body } = await service.ask('accounts.stack')
    expect([status, body]).toEqual([
      402,
      {
        error: 'Insufficient credits: need 3 credits, have 2',
        code: 'insufficient_credits',
        top_up_url: 'http://127.0.0.1:4010/top-up',
      },
    ])
    expect(await service.balance()).toBe(2)
  })

  it('can be retried after topping up', async () => {
    await service.admin.setCredits(0)
    expect((await service.ask('accounts.enrich', undefined, { idempotencyKey: 'k' })).status).toBe(402)
    await service.admin.addCredits(1)
    expect((await service.ask('accounts.enrich', undefined, { idempotencyKey: 'k' })).status).toBe(200)
  })

  it('can also occur after the pre-check, when a concurrent request drains the balance', async () => {
    await service.admin.setCredits(1)
    const held = service.source.hold()
    const slow = enrich()
    const release = await held
    expect((await enrich()).status).toBe(200)
    release()
    expect(await slow).toMatchObject({ status: 402, body: { code: 'insufficient_credits' } })
    expect(await service.balance()).toBe(0)
  })

  it('states the shortfall for operations priced per result: need N credits, have M', async () => {
    await service.admin.setCredits(8)
    const { body } = await service.ask('intents.stack')
    expect(body.error).toBe('Insufficient credits: need 9 credits, have 8')
  })
})

describe('errors: 403', () => {
  it('means that the weekly limit of the workspace is reached: its code and no top_up_url', async () => {
    await limitWeek(1)
    expect((await enrich()).status).toBe(200)
    const { status, body } = await enrich()
    expect([status, body.code, Object.keys(body)]).toEqual([
      403,
      'workspace_limit_exceeded',
      ['error', 'code'],
    ])
  })

  it('is not lifted by buying credits', async () => {
    await limitWeek(0)
    await service.admin.addCredits(1_000)
    expect((await enrich()).status).toBe(403)
  })
})

describe('errors: 409', () => {
  it('means that an idempotency key was reused with a different request', async () => {
    const asking = { idempotencyKey: 'k' }
    expect((await service.ask('accounts.enrich', undefined, asking)).status).toBe(200)
    const { status, body } = await service.ask('accounts.enrich', { domain: 'known-b.example' }, asking)
    expect([status, body.code]).toEqual([409, 'idempotency_key_reused'])
  })

  it('is not the answer to the same request with the same key, which carries Idempotent-Replayed', async () => {
    const asking = { idempotencyKey: 'k' }
    const first = await service.ask('accounts.enrich', undefined, asking)
    const again = await service.ask('accounts.enrich', undefined, asking)
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(again.body).toEqual(first.body)
  })
})

describe('errors: 429', () => {
  it('means that the rate limit is exceeded', async () => {
    await service.admin.setPlan('Free')
    await service.ask('lists.list')
    const { status, body, headers } = await service.ask('lists.list')
    expect([status, body]).toEqual([429, { error: 'Rate limit exceeded. Please wait before retrying.' }])
    expect(headers.get('retry-after')).toBe('60')
  })

  it('occurs when the network itself limits the account', async () => {
    service.source.before = () => {
      throw new ApiError('network_rate_limited')
    }
    const { status, body } = await enrich()
    expect([status, body]).toEqual([
      429,
      { error: 'Rate limited by the network. Please wait a few hours before retrying.' },
    ])
    expect(await service.balance()).toBe(1_000)
  })
})

describe('errors: 500', () => {
  it('is an internal error that reveals nothing of its cause, and spends nothing', async () => {
    service.source.before = () => {
      throw new Error('SELECT secret FROM inside')
    }
    const { status, body } = await enrich()
    expect([status, body]).toEqual([500, { error: 'Internal server error' }])
    expect(await service.balance()).toBe(1_000)
  })
})

describe('errors: body shape', () => {
  it('is { error: integer, message: string } for some operations', async () => {
    const { body } = await service.ask('leads.extract', { ...requests['leads.extract'], limit: 0 })
    expect(body).toEqual({ error: 422, message: 'limit must be a whole number of 1 or more' })
  })
})
