import { beforeEach, describe, expect, it } from 'vitest'
import { verify } from '../../../../src/api/webhooks/signature.js'
import { openState } from '../../../../src/storage/state/open.js'
import { eventsOver } from '../../../../src/storage/state/webhook-inbox.js'
import { answering, closeAfterTest, received } from '../../../client/listeners.js'
import { ends, errorOf, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { casesOf } from '../../../support/fixtures.js'

const here = perTest(machine)
beforeEach(() => here.json('init'))

const hourMs = 3_600_000
const now = Date.parse('2026-03-10T12:00:00Z')

/** Stores events an hour apart, the last one received now. */
async function store(...names: readonly (readonly [id: string, event: string, search: string | null])[]) {
  const events = eventsOver(await openState(here.path('state.db')))
  await Promise.all(
    names.map(([id, event, search], at) =>
      events.keep({
        id,
        path: 'path',
        receivedAt: now - (names.length - 1 - at) * hourMs,
        event,
        search,
        verified: at % 2 === 0,
        headers: { 'content-type': 'application/json', 'webhook-id': id },
        body: `{"event":"${event}","at":${at}}`,
      }),
    ),
  )
  await events.close()
}

const three = [
  ['a', 'lead_search.record', 's1'],
  ['b', 'lead_search.completed', 's1'],
  ['c', 'record', null],
] as const

/** Runs a command at the time of the last event. */
const run = (...argv: string[]) => here.run(argv, { clock: { now: () => now } })
const idsOf = async (...argv: string[]) =>
  (await run('events', 'list', '--format', 'ids', ...argv)).stdout.split('\n').slice(0, -1)

describe('events list', () => {
  it('lists the newest events first', async () => {
    await store(...three)
    expect(await here.json('events list')).toMatchObject([
      { id: 'c', event: 'record', search_id: null, verified: true, forwarded: null, bytes: 25 },
      { id: 'b', event: 'lead_search.completed', search_id: 's1', verified: false },
      { id: 'a', received_at: '2026-03-10T10:00:00.000Z' },
    ])
  })

  it.each(casesOf<[string[], string[]]>('cli/commands/events/events/filters-events-by'))(
    'filters events by %j: %j',
    async (options, ids) => {
      await store(...three)
      expect(await idsOf(...options)).toEqual(ids)
    },
  )
})

describe('events show', () => {
  it('prints a whole event', async () => {
    await store(...three)
    expect(JSON.parse((await run('events', 'show', 'b')).stdout)).toEqual({
      id: 'b',
      received_at: '2026-03-10T11:00:00.000Z',
      event: 'lead_search.completed',
      search_id: 's1',
      verified: false,
      headers: { 'content-type': 'application/json', 'webhook-id': 'b' },
      forwards: [],
      body: { event: 'lead_search.completed', at: 1 },
    })
  })

  it.each([['show'], ['replay', '--to', 'http://localhost:9/']])(
    'exits 9 for an unknown id in events %s',
    async (...argv) => {
      const ended = await run('events', ...argv, 'nobody', '--json')
      expect([ended.code, errorOf(ended).code, ended.stdout]).toEqual([9, 'not_found', ''])
    },
  )
})

describe('events replay and forward', () => {
  let target: string
  let got: { id: string; body: string }[]
  let status: (id: string) => number

  beforeEach(async () => {
    got = []
    status = () => 204
    const { port } = closeAfterTest(
      await answering(async (request, response) => {
        const { body } = await received(request)
        const id = String(request.headers['webhook-id'])
        got.push({ id, body })
        response.writeHead(status(id)).end()
      }),
    )
    target = `http://127.0.0.1:${port}/hooks`
    await store(...three)
  })
  it('replays the given events in order and unchanged', async () => {
    const ended = await run('events', 'replay', 'c', 'a', '--to', target)
    expect([ended.code, JSON.parse(ended.stdout)]).toEqual([
      0,
      [
        { id: 'c', event: 'record', delivered: true, answer: '204' },
        { id: 'a', event: 'lead_search.record', delivered: true, answer: '204' },
      ],
    ])
    expect(got).toEqual([
      { id: 'c', body: '{"event":"record","at":2}' },
      { id: 'a', body: '{"event":"lead_search.record","at":0}' },
    ])
    const shown = JSON.parse((await run('events', 'show', 'c')).stdout) as { forwards: unknown[] }
    expect(shown.forwards).toMatchObject([{ target, state: 'delivered', attempts: 1, answer: '204' }])
  })

  it('replays nothing when one id is unknown', async () => {
    expect((await run('events', 'replay', 'a', 'nobody', '--to', target)).code).toBe(9)
    expect(got).toEqual([])
  })

  it.each([['--limit 1', ['a']]])(
    'forwards the events that match %s oldest first: %j',
    async (options, ids) => {
      const ended = await run('events', 'forward', '--to', target, ...options.split(' '))
      expect([ended.code, got.map(({ id }) => id)]).toEqual([0, ids])
    },
  )

  it('continues after a refused event and exits 11', async () => {
    status = (id) => (id === 'a' ? 422 : 200)
    const ended = await run('events', 'forward', '--to', target)
    expect([ended.code, got.map(({ id }) => id)]).toEqual([11, ['a', 'b', 'c']])
    expect(JSON.parse(ended.stdout)).toMatchObject([{ answer: '422' }, { answer: '200' }, { answer: '200' }])
    expect(ended.stderr).toContain('1 of 3 events were refused.')
  })

  it('stops where the receiver fails, and exits 10', async () => {
    status = (id) => (id === 'b' ? 503 : 200)
    const ended = await run('events', 'forward', '--to', target, '--json')
    expect([ended.code, got.map(({ id }) => id)]).toEqual([10, ['a', 'b']])
    expect(errorOf(ended)).toMatchObject({ code: 'unreachable', exit_code: 10 })
  })
})

describe('events trigger', () => {
  it('sends a sample of any event, signed like the deliveries of this workspace', async () => {
    const got: { headers: Record<string, string>; body: string }[] = []
    const receiver = closeAfterTest(
      await answering(async (request, response) => {
        const { body } = await received(request)
        got.push({ headers: request.headers as Record<string, string>, body: String(body) })
        response.end()
      }),
    )
    const event = 'lead_search.completed'
    const { code, json } = await run('events', 'trigger', event, '--to', `${receiver.origin}/hooks`)
    const secret = await here.json<{ secret: string }>('engine webhooks secret')
    const [{ headers = {}, body = '' } = {}] = got
    expect([code, json]).toEqual([0, [expect.objectContaining({ event, answer: '200' })]])
    expect(verify(headers, body, [secret.secret], now).valid).toBe(true)
    expect(JSON.parse(body)).toMatchObject({ event, total: expect.any(Number) })
  })

  it('says that nothing listens', async () => {
    const argv = ['events', 'trigger', 'lead_search.failed', '--to', 'http://127.0.0.1:1/']
    await ends(run(...argv), 10, 'does not accept events')
  })
})
