import { statSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ReceivedDelivery } from '../../../src/api/webhooks/events.js'
import { openState } from '../../../src/storage/state/open.js'
import { type Events, eventsOver } from '../../../src/storage/state/webhook-inbox.js'
import { perTest } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'

const hourMs = 3_600_000
const start = Date.parse('2026-03-10T12:00:00Z')
const target = 'http://localhost:3000/hooks'

const folder = perTest(newFolder)
let events: Events

const open = async () => eventsOver(await openState(folder.at('state.db')))

beforeEach(async () => {
  events = await open()
})
afterEach(() => events.close())

const delivery = (id: string, change: Partial<ReceivedDelivery> = {}): ReceivedDelivery => ({
  id,
  path: 'path',
  receivedAt: start,
  event: 'lead_search.record',
  search: null,
  verified: true,
  headers: { 'webhook-id': id },
  body: '{}',
  ...change,
})

const ids = async (...asked: Parameters<Events['list']>) => (await events.list(...asked)).map(({ id }) => id)

describe('received events', () => {
  it('are stored byte for byte, in a file that only its owner can read', async () => {
    const given = delivery('a', { search: 's', body: '\ufeff{ "a": "é\\u0000" }\n', headers: { a: 'b' } })
    expect(await events.keep(given)).toBe(true)
    await events.close()
    events = await open()
    expect(await events.find('a')).toEqual({ ...given, seq: 1, forwards: [] })
    expect(statSync(folder.at('state.db')).mode & 0o777).toBe(0o600)
  })

  it('are stored once, however many arrive at the same time', async () => {
    const kept = await Promise.all(Array.from({ length: 50 }, () => events.keep(delivery('a'))))
    expect(kept.filter((isNew) => isNew)).toHaveLength(1)
    expect(await events.keep(delivery('a', { receivedAt: start + 1_000 * hourMs, body: '[]' }))).toBe(false)
    expect(await events.find('a')).toMatchObject({ receivedAt: start, body: '{}' })
  })

  it('are stored twice when one id came on two paths', async () => {
    expect(await events.keep(delivery('a'))).toBe(true)
    expect(await events.keep(delivery('a', { path: 'other' }))).toBe(true)
    expect(await events.find('a')).toMatchObject({ path: 'other' })
  })

  it.each([
    [79.99, false],
    [80.01, true],
  ])('are recognised for 80 hours after deletion: after %d hours one is new: %s', async (hours, isNew) => {
    await events.keep(delivery('a'))
    expect(await events.purge(start + 1, start + hourMs)).toBe(1)
    expect(await events.find('a')).toBeUndefined()
    expect(await events.keep(delivery('b', { receivedAt: start + hours * hourMs }))).toBe(true)
    expect(await events.keep(delivery('a', { receivedAt: start + hours * hourMs }))).toBe(isNew)
  })

  it('are deleted only before the given time', async () => {
    await events.keep(delivery('a'))
    await events.keep(delivery('b', { receivedAt: start + 1 }))
    expect(await events.purge(start + 1, start + 2)).toBe(1)
    expect(await ids({}, 'oldest', 10)).toEqual(['b'])
  })

  it('are listed by either half of their name, or by time', async () => {
    const given: [string, string, string | null][] = [
      ['a', 'lead_search.record', 's1'],
      ['b', 'lead_search.completed', 's1'],
      ['c', 'stack_import.completed', 's2'],
      ['d', 'completed', null],
      ['e', 'leadXsearch.record', null],
    ]
    for (const [at, [id, event, search]] of given.entries())
      await events.keep(delivery(id, { event, search, receivedAt: start + at }))
    const all = (filter: Parameters<Events['list']>[0]) => ids(filter, 'oldest', 10)
    expect(await all({})).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(await all({ event: 'lead_search.record' })).toEqual(['a'])
    expect(await all({ event: 'lead_search' })).toEqual(['a', 'b'])
    expect(await all({ search: 's1' })).toEqual(['a', 'b'])
    expect(await all({ event: 'completed' })).toEqual(['b', 'c', 'd'])
    expect(await all({ event: 'search' })).toEqual([])
    expect(await all({ since: start + 1, until: start + 3 })).toEqual(['b', 'c'])
  })

  it('are listed page by page, in both orders', async () => {
    for (const id of ['a', 'b', 'c']) await events.keep(delivery(id, { body: '"éé"' }))
    expect(await ids({}, 'newest', 2)).toEqual(['c', 'b'])
    expect(await ids({}, 'newest', 2, 2)).toEqual(['a'])
    expect(await ids({}, 'oldest', 2, 1)).toEqual(['b', 'c'])
    expect(await events.list({}, 'oldest', 1)).toMatchObject([{ seq: 1, bytes: 6, forwarded: null }])
  })

  it('are refused while the disk is full, and accepted when it is not', async () => {
    const driver = await openState(folder.at('small.db'))
    const small = eventsOver(driver)
    const room = (pages: number) =>
      driver.read((connection) => connection.get(`PRAGMA max_page_count = ${pages}`))
    const large = delivery('a', { body: JSON.stringify('x'.repeat(1_000_000)) })
    try {
      await room(30)
      await expect(small.keep(large)).rejects.toMatchObject({ code: 'storage_failed', status: 503 })
      expect(await small.find('a')).toBeUndefined()
      await room(1_000_000)
      expect(await small.keep(large)).toBe(true)
    } finally {
      await small.close()
    }
  })

  it('have one path, whichever process asks first', async () => {
    expect(await events.token('first')).toBe('first')
    expect(await events.token('second')).toBe('first')
  })
})

describe('the outbox of forwarded events', () => {
  const taken = async (now: number, limit = 10) => {
    const forwards = await events.outbox(target).take(now, limit, 30_000)
    return forwards.map(({ delivery: { headers } }) => headers['webhook-id'])
  }
  const settle = async (now: number, ok: boolean, retryAt?: number) => {
    const outbox = events.outbox(target)
    const [forward] = await outbox.take(now, 1, 30_000)
    if (forward) await outbox.settle(forward, { ok, answer: ok ? '200' : '500' }, now, retryAt)
  }
  const keep = (id: string, search: string | null = null) => events.keep(delivery(id, { search }), target)
  const states = async (...some: string[]) =>
    (await Promise.all(some.map((id) => events.find(id)))).map((event) => event?.forwards[0]?.state)

  it('hands out one event per search at a time, and all events without a search', async () => {
    for (const [id, search] of [['a1', 'a'], ['a2', 'a'], ['b1', 'b'], ['x'], ['y']] as const)
      await keep(id, search)
    expect(await taken(start)).toEqual(['a1', 'b1', 'x', 'y'])
    expect(await taken(start)).toEqual([])
  })

  it('hands out the next event of a search after the first attempt of the previous one, whatever its result', async () => {
    for (const id of ['a1', 'a2', 'a3', 'a4']) await keep(id, 'a')
    await settle(start, true)
    expect(await states('a1', 'a2', 'a3')).toEqual(['delivered', 'waiting', 'waiting'])
    await settle(start, false, start + 5_000)
    await settle(start, false)
    expect(await states('a1', 'a2', 'a3', 'a4')).toEqual(['delivered', 'waiting', 'failed', 'waiting'])
    expect(await taken(start)).toEqual(['a4'])
    expect(await taken(start + 4_999)).toEqual([])
    expect(await taken(start + 5_000)).toEqual(['a2'])
  })

  it('hands out one untried event per search, also while another one is retried', async () => {
    for (const id of ['a1', 'a2', 'a3']) await keep(id, 'a')
    await settle(start, false, start + 5)
    expect(await taken(start)).toEqual(['a2'])
    await settle(start + 5, false, start + 10)
    expect(await taken(start + 5)).toEqual([])
    await keep('a4', 'a')
    expect(await taken(start + 6)).toEqual([])
  })

  it('hands out events of a dead process again when their lease expires', async () => {
    await keep('a')
    await taken(start)
    expect(await taken(start + 30_000)).toEqual([])
    const other = await openState(folder.at('state.db'))
    await other.transaction((tx) => tx.run('UPDATE forwards SET lease_until = 0'))
    await other.close()
    expect(await taken(start)).toEqual(['a'])
  })

  it('does not let a process that slept settle an event that another one has taken over', async () => {
    await keep('a')
    const outbox = events.outbox(target)
    const [slept] = await outbox.take(start, 1, 30_000)
    const other = await openState(folder.at('state.db'))
    await other.transaction((tx) => tx.run('UPDATE forwards SET lease_until = 0'))
    await other.close()
    const [taken] = await outbox.take(start, 1, 30_000)
    if (slept) await outbox.settle(slept, { ok: false, answer: '500' }, start)
    expect(await states('a')).toEqual(['waiting'])
    if (taken) await outbox.settle(taken, { ok: true, answer: '200' }, start)
    expect(await states('a')).toEqual(['delivered'])
  })

  it('hands out an event again that was released before its attempt', async () => {
    await keep('a')
    const outbox = events.outbox(target)
    const [forward] = await outbox.take(start, 1, 30_000)
    if (forward) await outbox.release(forward)
    expect(await taken(start + 1)).toEqual(['a'])
    expect(await events.find('a')).toMatchObject({ forwards: [{ attempts: 0, state: 'waiting' }] })
  })

  it('continues when the first event of a search was deleted', async () => {
    await keep('a1', 'a')
    await events.keep(delivery('a2', { search: 'a', receivedAt: start + 5 }), target)
    await events.purge(start + 1, start + 10)
    expect(await taken(start + 10)).toEqual(['a2'])
  })

  /** Notes what came of an event that was forwarded by hand. */
  const byHand = (answer: string, to = target) =>
    events.noteForward({ seq: 1, search: 'a' }, to, { ok: answer === '200', answer }, start)

  it('continues when the first event of a search was forwarded by hand, and keeps a success after a later failure', async () => {
    for (const id of ['a1', 'a2']) await keep(id, 'a')
    await byHand('500')
    expect(await states('a1', 'a2')).toEqual(['waiting', 'waiting'])
    await byHand('200')
    expect(await taken(start)).toEqual(['a2'])
    await byHand('connection refused')
    expect(await events.find('a1')).toMatchObject({
      forwards: [{ state: 'delivered', attempts: 3, answer: 'connection refused', nextAt: null }],
    })
  })

  it('lists each event with the worst state of its targets', async () => {
    await keep('a', 'a')
    const forwarded = async () => (await events.list({}, 'oldest', 1))[0]?.forwarded
    expect(await forwarded()).toBe('waiting')
    await settle(start, true)
    expect(await forwarded()).toBe('delivered')
    await byHand('410', 'http://other.example/')
    expect(await forwarded()).toBe('failed')
  })

  it('keeps targets apart', async () => {
    await keep('a')
    expect(await events.outbox('http://other.example/').take(start, 10, 30_000)).toEqual([])
  })
})
