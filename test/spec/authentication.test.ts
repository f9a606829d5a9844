import { describe, expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { openService } from './service.js'

const service = perTest(openService)

const invalid = { status: 401, body: { error: 'Invalid API key' } }

describe('authentication', () => {
  it('1: every request carries the header X-API-KEY', async () => {
    expect(await service.ask('credits.show', {}, { key: null })).toMatchObject(invalid)
    expect((await service.ask('credits.show')).status).toBe(200)
  })

  it('1: a key in the query or the body does not count', async () => {
    const given = { 'X-API-KEY': service.key, api_key: service.key }
    expect(await service.ask('lists.list', given, { key: null })).toMatchObject(invalid)
    expect(await service.ask('lists.create', given, { key: null })).toMatchObject(invalid)
  })

  it('2: a key belongs to a user', async () => {
    const key = await service.colleague()
    const { body } = await service.ask('account.show', {}, { key })
    expect(body).toMatchObject({ account: { email: 'colleague@localhost' } })
  })

  it('2: keys of the same user share rate-limit counters', async () => {
    await service.admin.setPlan('Free')
    const { key } = await service.admin.createKey({ member: 'me@localhost' })
    expect((await service.ask('lists.list')).status).toBe(200)
    expect((await service.ask('lists.list', {}, { key })).status).toBe(429)
    expect((await service.ask('lists.list', {}, { key: await service.colleague() })).status).toBe(200)
  })

  it('2: credits belong to the workspace', async () => {
    const key = await service.colleague()
    await service.ask('accounts.enrich')
    const { body } = await service.ask('credits.show', {}, { key })
    expect(body).toMatchObject({ credits: { enrichment: 999 } })
  })

  it.each([
    ['missing', null],
    ['invalid', 'nonsense'],
  ])('3: a key that is %s gives 401 Invalid API key', async (_, key) => {
    expect(await service.ask('accounts.enrich', undefined, { key })).toMatchObject(invalid)
  })

  it('4: a key that lacks access to an endpoint gets 403 without a code', async () => {
    const { key } = await service.admin.createKey({ member: 'me@localhost', scopes: ['lists'] })
    const { status, body } = await service.ask('accounts.enrich', undefined, { key })
    expect([status, Object.keys(body)]).toEqual([403, ['error']])
  })

  it('4: the spending limit of a workspace gets 403 with the code workspace_limit_exceeded', async () => {
    await service.admin.changeMember('me@localhost', { weeklyLimit: 0 })
    const { status, body } = await service.ask('accounts.enrich')
    expect([status, body.code]).toEqual([403, 'workspace_limit_exceeded'])
  })

  it('5: GET /credits with a valid key is a free check that the key works', async () => {
    await service.admin.setCredits(0)
    await service.admin.setPlan('Free')
    for (let count = 0; count < 5; count++) expect((await service.ask('credits.show')).status).toBe(200)
    expect(await service.balance()).toBe(0)
  })

  it('6: endpoints that act on the network depend on a valid session, reported by GET /account', async () => {
    await service.admin.setSession({ network: false })
    expect((await service.ask('account.show')).body).toMatchObject({
      integrations: { network_session_valid: false, premium_session_valid: true },
    })
    expect((await service.ask('locations.find', { name: 'Lyon', source: 'live' })).status).toBe(422)
    expect((await service.ask('locations.find', { name: 'Lyon', source: 'database' })).status).toBe(200)
  })
})
