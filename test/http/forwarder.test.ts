import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Forward, Outbox, Passed, ReceivedDelivery } from '../../src/api/webhooks/events.js'
import { forwardPausesMs, passOn, startForwarder } from '../../src/http/forwarder.js'
import { openState } from '../../src/storage/state/open.js'
import { type Events, eventsOver } from '../../src/storage/state/webhook-inbox.js'
import { answering, type Listener, received } from '../client/listeners.js'
import { until } from '../support/until.js'

interface Got {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

let server: Listener
let target: string
let got: Got[]
/** The status that the target answers; `undefined` leaves the request unanswered. */
let answer: (body: string) => number | undefined
let events: Events
let over: AbortController
let running: Promise<void>

beforeEach(async () => {
  got = []
  answer = () => 200
  server = await answering(async (request, response) => {
    const { body } = await received(request)
    got.push({ headers: request.headers, body })
    const status = answer(body)
    if (status !== undefined) response.writeHead(status, { location: '/elsewhere' }).end('x')
  })
  target = `http://127.0.0.1:${server.port}/hooks`
  events = eventsOver(await openState(':memory:'))
  over = new AbortController()
  running = Promise.resolve()
})
afterEach(async () => {
  over.abort()
  await running
  await events.close()
  await server.close()
})

const delivery = (id: string, search: string | null = null): ReceivedDelivery => ({
  id,
  path: 'path',
  receivedAt: Date.now(),
  event: 'record',
  search,
  verified: false,
  headers: {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': '12',
    'webhook-signature': 'v1,x',
  },
  body: `{ "name": "${id}" }`,
})

/** Starts a forwarder with very short pauses. Returns the results it reports. */
function start(
  pausesMs: readonly number[] = [0, 0, 0, 0],
  outbox: Outbox = events.outbox(target),
  report: (error: unknown) => void = () => {},
  pass: Parameters<typeof startForwarder>[0]['pass'] = (each, signal) => passOn(target, each, signal),
) {
  const told: [string, boolean, boolean][] = []
  const options: Parameters<typeof startForwarder>[0] = {
    outbox,
    pass,
    clock: { now: () => Date.now() },
    pausesMs,
    report,
    passed: ({ delivery: { headers } }, { ok }, isLast) =>
      told.push([headers['webhook-id'] ?? '', ok, isLast]),
  }
  const { ended, wake } = startForwarder(options, over.signal)
  running = ended
  return { told, wake }
}

const stateOf = async (id: string) => (await events.find(id))?.forwards[0]

/** Gives a forwarder no time of its own: what it waits for comes when a test says so. */
function stopTime() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** Lets the pauses of a forwarder go by until a condition holds. */
const untilLater = (holds: () => boolean | Promise<boolean>) =>
  until(() => {
    vi.advanceTimersByTime(1_000)
    return holds()
  })

describe('forwarding deliveries', () => {
  it('forwards the body and the headers of a delivery unchanged', async () => {
    await events.keep(delivery('a'), target)
    start()
    await until(() => got.length > 0)
    expect(got[0]).toMatchObject({ body: delivery('a').body, headers: delivery('a').headers })
  })

  it('goes on after the outbox could not be read', async () => {
    await events.keep(delivery('a'), target)
    const outbox = events.outbox(target)
    const [broken, errors] = [new Error('disk full'), [] as unknown[]]
    const take: Outbox['take'] = (...given) =>
      errors.length === 0 ? Promise.reject(broken) : outbox.take(...given)
    stopTime()
    start([1], { ...outbox, take }, (error) => errors.push(error))
    await untilLater(() => got.length > 0)
    expect(errors).toEqual([broken])
  })

  it('goes on after a delivery could not be tried, and tries it again', async () => {
    for (const id of ['a', 'b']) await events.keep(delivery(id), target)
    const outbox = events.outbox(target)
    const [broken, errors] = [new Error('no database'), [] as unknown[]]
    let failures = 1
    const pass = async (each: Forward['delivery'], signal: AbortSignal) => {
      if (failures-- > 0) throw broken
      return passOn(target, each, signal)
    }
    // A lease that has expired when it is looked for again.
    const take: Outbox['take'] = (now, room) => outbox.take(now, room, 1)
    stopTime()
    start([1], { ...outbox, take }, (error) => errors.push(error), pass)
    for (const id of ['a', 'b']) await untilLater(async () => (await stateOf(id))?.state === 'delivered')
    expect(errors).toEqual([broken])
  })

  it('sends the first attempts of a search in order, and retries those that failed', async () => {
    let failures = 3
    answer = (body) => (body.includes('a1') && failures-- > 0 ? 500 : 200)
    for (const id of ['a1', 'a2', 'a3']) await events.keep(delivery(id, 'a'), target)
    start()
    await until(async () => (await stateOf('a1'))?.state === 'delivered')
    await until(async () => (await stateOf('a3'))?.state === 'delivered')
    const ids = got.map(({ headers }) => headers['webhook-id'])
    expect([...new Set(ids)]).toEqual(['a1', 'a2', 'a3'])
    expect(ids.sort()).toEqual(['a1', 'a1', 'a1', 'a1', 'a2', 'a3'])
    expect(await stateOf('a1')).toMatchObject({ state: 'delivered', attempts: 4, answer: '200' })
  })

  it('does not hold up the other deliveries of a search when one fails', async () => {
    answer = (body) => (body.includes('"r3"') ? 500 : 200)
    const ids = Array.from({ length: 50 }, (_, at) => `r${at}`)
    for (const id of ids) await events.keep(delivery(id, 'a'), target)
    const { told } = start([86_400_000])
    await until(async () => (await stateOf('r49'))?.state === 'delivered')
    expect(told.map(([id]) => id)).toEqual(ids)
    expect(await stateOf('r3')).toMatchObject({ state: 'waiting', attempts: 1, answer: '500' })
  })

  it.each([500, 404, 301, 429])('gives up after five answers of %i', async (status) => {
    answer = (body) => (body.includes('a1') ? status : 200)
    for (const id of ['a1', 'a2']) await events.keep(delivery(id, 'a'), target)
    const { told } = start()
    await until(async () => (await stateOf('a1'))?.state === 'failed')
    await until(async () => (await stateOf('a2'))?.state === 'delivered')
    expect(await stateOf('a1')).toMatchObject({ state: 'failed', attempts: 5, answer: String(status) })
    await until(() => told.length === 6)
    expect(told.filter(([id]) => id === 'a1')).toEqual([
      ...Array.from({ length: 4 }, () => ['a1', false, false]),
      ['a1', false, true],
    ])
    expect(told.filter(([id]) => id === 'a2')).toEqual([['a2', true, true]])
  })

  it('pauses longer before each retry', () => {
    expect(forwardPausesMs).toHaveLength(4)
    expect([...forwardPausesMs].sort((one, other) => one - other)).toEqual([...forwardPausesMs])
  })

  it('does not hold up a search when the deliveries of another one hang', async () => {
    answer = (body) => (body.includes('slow') ? undefined : 200)
    await events.keep(delivery('slow', 'a'), target)
    for (let at = 0; at < 20; at++) await events.keep(delivery(`b${at}`, 'b'), target)
    start()
    await until(async () => (await stateOf('b19'))?.state === 'delivered')
    expect(await stateOf('slow')).toMatchObject({ state: 'waiting', attempts: 0 })
  })

  it('returns deliveries in progress to the outbox on shutdown, for the next forwarder to take at once', async () => {
    answer = () => undefined
    await events.keep(delivery('a'), target)
    start()
    await until(() => got.length === 1)
    over.abort()
    await running
    expect(await stateOf('a')).toMatchObject({ state: 'waiting', attempts: 0 })
    answer = () => 200
    over = new AbortController()
    start()
    await until(async () => (await stateOf('a'))?.state === 'delivered')
  })

  it('wakes up for a delivery that arrives while it is idle', async () => {
    // It looks by itself after a pause, too.
    stopTime()
    const outbox = events.outbox(target)
    let looks = 0
    const take: Outbox['take'] = async (...given) => {
      const taken = await outbox.take(...given)
      looks++
      return taken
    }
    const { wake } = start(undefined, { ...outbox, take })
    await until(() => looks > 0)
    await events.keep(delivery('a'), target)
    wake()
    await until(async () => (await stateOf('a'))?.state === 'delivered')
  })

  it('retries a delivery whose result could not be stored', async () => {
    await events.keep(delivery('a'), target)
    const outbox = events.outbox(target)
    let failures = 1
    const failing = async (...asked: Parameters<Outbox['settle']>) => {
      if (failures-- > 0) throw new Error('the disk is full')
      return outbox.settle(...asked)
    }
    // The lease of a result that could not be stored is short here, so that the retry comes soon.
    stopTime()
    start([1], { ...outbox, take: (now, limit) => outbox.take(now, limit, 1), settle: failing })
    await untilLater(async () => (await stateOf('a'))?.state === 'delivered')
    expect(got.length).toBeGreaterThanOrEqual(2)
  })
})

describe('one attempt to forward', () => {
  it('says why an attempt got no answer', async () => {
    const closed = target
    await server.close()
    const passed: Passed = await passOn(closed, delivery('a'))
    expect(passed).toEqual({ ok: false, answer: 'connection refused' })
  })

  it('does not follow a redirect', async () => {
    answer = () => 302
    expect(await passOn(target, delivery('a'))).toEqual({ ok: false, answer: '302' })
    expect(got).toHaveLength(1)
  })
})
