import { describe, expect, it } from 'vitest'
import type { OperationId } from '../../src/api/operations/table.js'
import { perTest } from '../support/each.js'
import { requests } from './requests.js'
import { openService } from './service.js'

const service = perTest(openService)

const webhook_url = 'https://hooks.example/in'
const custom = { campaign: 'spring' }

async function eventsOf(id: OperationId, more: Record<string, unknown> = {}) {
  await service.ask(id, { ...requests[id], webhook_url, ...more })
  return await service.work()
}

describe('events', () => {
  it.each<[string, OperationId, string, string]>([
    ['account import', 'accounts.extract', 'account_import', 'accounts'],
    ['lead search', 'leads.extract', 'lead_search', 'leads'],
    ['advanced lead search', 'leads.advanced_search', 'lead_search', 'leads'],
    ['tech-stack import', 'intents.stack', 'stack_import', 'accounts'],
    ['hiring import', 'intents.hiring', 'hiring_import', 'accounts'],
  ])('%s completes and delivers its records to webhook_url', async (_, id, kind, records) => {
    expect(await eventsOf(id)).toMatchObject([
      { event: `${kind}.completed`, total: 3, [records]: { length: 3 } },
    ])
  })

  it.each<[OperationId, string]>([
    ['accounts.extract', 'account_import'],
    ['leads.extract', 'lead_search'],
  ])('%s with streaming: true delivers each record individually, in order', async (id, kind) => {
    const bodies = await eventsOf(id, { streaming: true })
    expect(bodies.map(({ event, ordinal }) => [event, ordinal])).toEqual([
      [`${kind}.record`, 1],
      [`${kind}.record`, 2],
      [`${kind}.record`, 3],
      [`${kind}.completed`, undefined],
    ])
  })

  it('custom values are returned in the webhook', async () => {
    expect(await eventsOf('leads.extract', { custom, streaming: true })).toMatchObject(
      Array(4).fill({ custom }),
    )
  })

  it('a completed list import notifies webhook_url, and the list goes from pending to completed', async () => {
    const { body } = await service.ask('lists.create', { ...requests['lists.create'], webhook_url })
    expect((await service.ask('lists.get', { id: body.id })).body.status).toBe('pending')
    expect(await service.work()).toMatchObject([
      { event: 'list_import.completed', id: body.id, list: { status: 'completed' } },
    ])
    expect((await service.ask('lists.get', { id: body.id })).body.status).toBe('completed')
  })

  it('a failed list import leaves the list failed', async () => {
    const { body } = await service.ask('lists.create', { ...requests['lists.create'], webhook_url })
    service.source.before = () => {
      throw new Error('unplugged')
    }
    expect(await service.work()).toMatchObject([{ event: 'list_import.failed', list: { status: 'failed' } }])
    expect((await service.ask('lists.get', { id: body.id })).body.status).toBe('failed')
  })

  it('are not sent without webhook_url', async () => {
    await service.ask('leads.extract')
    expect(await service.work()).toEqual([])
  })

  it('an asynchronous enrichment is pending, then finished', async () => {
    const { body } = await service.ask('contacts.enrich', { ...requests['contacts.enrich'], webhook_url })
    const id = body.enrichment_id
    expect((await service.ask('contacts.get', { id })).body.status).toBe('pending')
    const [event] = await service.work()
    expect(event).toMatchObject({ event: 'contact_enrichment.completed', status: 'finished' })
    expect((await service.ask('contacts.get_enrichment', { id })).body).toMatchObject({
      status: 'finished',
      email: 'ada@known.example',
      email_status: 'valid',
    })
  })
})
