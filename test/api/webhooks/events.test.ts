import { describe, expect, it } from 'vitest'
import { type OperationId, operations } from '../../../src/api/operations/table.js'
import { type EventName, eventBody, eventNames, eventOf, events } from '../../../src/api/webhooks/events.js'
import { casesOf } from '../../support/fixtures.js'

const fieldsOf = (name: (typeof names)[number]) => Object.keys(eventBody(name).shape)
const names = eventNames()
const common = ['event', 'id', 'created_at', 'custom']

describe('webhook events', () => {
  it('are these, in this order, and carry these fields', () => {
    expect(names.map((name) => [name, fieldsOf(name)])).toEqual(
      casesOf<[EventName, string[]]>('api/webhooks/events/carries').map(([name, carried]) => [
        name,
        [...common, ...carried],
      ]),
    )
  })

  it('exist for every operation that starts work, and for no other', () => {
    const telling = operations().filter(({ id }) => eventOf(id) !== undefined)
    expect(telling.map(({ id }) => id)).toEqual(
      operations()
        .filter(({ starts }) => starts)
        .map(({ id }) => id),
    )
  })

  it.each<[OperationId, string]>([
    ['accounts.search', 'account_import'],
    ['intents.post_engagers', 'lead_search'],
    ['leads.search', 'lead_search'],
    ['contacts.bulk_enrich', 'contact_enrichment'],
    ['lists.create', 'list_import'],
  ])('%s sends %s', (id, kind) => {
    expect(eventOf(id)).toBe(kind)
  })

  it('of people come from every operation with the profiles quota', () => {
    const profiles = operations().filter(({ quota }) => quota === 'profiles')
    expect(profiles.map(({ id }) => id)).toEqual([...events.lead_search.from])
  })
})
