import { describe, expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { openService } from './service.js'

const service = perTest(openService)

const limitWeek = (weeklyLimit: number) => service.admin.changeMember('me@localhost', { weeklyLimit })

/** As rule 2 lists them; the reverse lookup joins them. */
const endpoints = [
  'POST /contacts/single_enrich',
  'POST /contacts/sync_single_enrich',
  'POST /contacts/bulk_enrich',
  'POST /accounts/company_hiring',
  'POST /accounts/company_stack',
  'POST /intents/accounts/hiring',
  'POST /intents/accounts/stack',
  'POST /messenger_validations',
  'POST /accounts/single_enrich',
  'POST /leads/single_enrich',
  'POST /contacts/reverse_lookup',
]

describe('errors: rules', () => {
  it.each(endpoints)('1: %s with both the balance too low and the weekly limit reached: 402', async (at) => {
    await service.admin.setCredits(0)
    await limitWeek(0)
    expect((await service.at(at)).status).toBe(402)
  })

  it.each(endpoints)('2: %s returns the code of 402', async (at) => {
    await service.admin.setCredits(0)
    const { status, body } = await service.at(at)
    expect([status, body.code, typeof body.top_up_url]).toEqual([402, 'insufficient_credits', 'string'])
  })

  it.each(endpoints)('2: %s returns the code of 403', async (at) => {
    await limitWeek(0)
    const { status, body } = await service.at(at)
    expect([status, body.code]).toEqual([403, 'workspace_limit_exceeded'])
  })

  it.each([402, 403])(
    '3: the synchronous waterfall refuses with %i before any provider is called',
    async (status) => {
      let called = 0
      service.source.ladder = [{ name: 'counting', email: () => void called++ }]
      if (status === 402) await service.admin.setCredits(2)
      else await limitWeek(2)
      expect((await service.ask('contacts.enrich_sync')).status).toBe(status)
      expect(called).toBe(0)
      await service.admin.setCredits(3)
      await limitWeek(3)
      expect((await service.ask('contacts.enrich_sync')).status).toBe(200)
      expect(called).toBe(1)
    },
  )

  it.each([
    ['422', 'POST /contacts/single_enrich'],
    ['422', 'POST /messenger_validations'],
    ['422', 'POST /accounts/company_hiring'],
    ['422', 'POST /accounts/company_stack'],
    ['401', 'POST /intents/accounts/hiring'],
    ['401', 'POST /intents/accounts/stack'],
  ])('4: an empty balance is no longer reported as %s by %s', async (_, at) => {
    await service.admin.setCredits(0)
    expect((await service.at(at)).status).toBe(402)
  })
})
