import { describe, expect, it } from 'vitest'
import { ApiError } from '../../src/api/calls/errors.js'
import { openapi } from '../../src/reference/openapi.js'
import { perTest } from '../support/each.js'
import { openService } from './service.js'

const service = perTest(openService)

// What a field may hold is a fixture of test/api, and who may ask is told in test/http.

describe('errors', () => {
  it('429 is the answer when the network itself limits the account, and nothing is spent', async () => {
    service.source.before = () => {
      throw new ApiError('network_rate_limited')
    }
    const error = 'Rate limited by the network. Please wait a few hours before retrying.'
    expect(await service.ask('accounts.enrich')).toMatchObject({ status: 429, body: { error } })
    expect(await service.balance()).toBe(1_000)
  })

  it('500 reveals nothing of its cause, and spends nothing', async () => {
    service.source.before = () => {
      throw new Error('SELECT secret FROM inside')
    }
    const { status, body } = await service.ask('accounts.enrich')
    expect([status, body]).toEqual([500, { error: 'Internal server error' }])
    expect(await service.balance()).toBe(1_000)
  })

  it('422 is the answer where the network is asked without a valid session, which GET /account reports', async () => {
    await service.admin.setSession({ network: false })
    expect((await service.ask('account.show')).body).toMatchObject({
      integrations: { network_session_valid: false, premium_session_valid: true },
    })
    expect((await service.ask('locations.find', { name: 'Lyon', source: 'live' })).status).toBe(422)
    expect((await service.ask('locations.find', { name: 'Lyon', source: 'database' })).status).toBe(200)
  })
})

it('the version is in the path, and the description of the interface is labelled 1.0.0', async () => {
  const { servers, info } = (await openapi({ version: 'test' })) as {
    servers: { url: string }[]
    info: { version: string }
  }
  expect([servers[0]?.url, info.version]).toEqual([expect.stringMatching(/\/api\/v2$/), '1.0.0'])
})
