import { describe, expect, it } from 'vitest'
import { type Caller, type CallOptions, ConnectionLost, type Reply } from '../../src/api/calls/caller.js'
import { idempotent } from '../../src/client/kept-keys.js'
import { type Remote, withSyncServer } from '../../src/client/remote.js'
import { openState } from '../../src/storage/state/open.js'
import { serverMemory } from '../../src/storage/state/remote-servers.js'
import { answering } from '../support/answering.js'
import { seededIds, TestClock } from '../support/engine.js'
import { closeAfterTest } from './listeners.js'
import { remoteTo } from './serving.js'

const ok: Reply = { status: 200, body: {}, headers: {}, credits: 0 }
const cut = new ConnectionLost('cut', true)
const refused = new ConnectionLost('refused', false)

/** Creates a caller whose calls end as listed, and that records their idempotency keys. */
async function ending(...ends: readonly (Reply | ConnectionLost)[]) {
  const keys: (string | undefined)[] = []
  const told: string[] = []
  const left = [...ends]
  const server = answering((_id, _input, { idempotencyKey }) => {
    keys.push(idempotencyKey)
    const end = left.shift() ?? ok
    if (end instanceof ConnectionLost) throw end
    return end
  })
  const clock = new TestClock()
  const state = closeAfterTest(await openState(':memory:'))
  /** The same machine with another process. */
  const process = (seed: string) =>
    idempotent({
      keys: serverMemory(state, 'https://a.example'),
      origin: 'https://a.example',
      ids: seededIds(seed),
      clock,
      onAgain: (id) => void told.push(id),
    })(server)
  const ask = async (
    caller: Caller,
    fields: object = { domain: 'x' },
    options: CallOptions = { apiKey: 'k' },
  ) => caller.call('accounts.enrich', { ...fields }, options).catch((error: unknown) => error)
  return { keys, told, clock, process, ask }
}

describe('a call with an unknown outcome', () => {
  it.each([
    ['a cut connection', cut],
    ['a fault', { ...ok, status: 502, unknown: true } as Reply],
  ])(
    'reuses the idempotency key of a call with an unknown outcome in any process, after %s',
    async (_, end) => {
      const { keys, told, process, ask } = await ending(end)
      await ask(process('one'))
      await ask(process('two'))
      await ask(process('three'))
      expect(keys[1]).toBe(keys[0])
      expect(keys[2]).not.toBe(keys[0])
      expect(told).toEqual(['accounts.enrich'])
    },
  )

  it('keeps the idempotency key until an answer settles the call', async () => {
    const limited = { ...ok, status: 429 }
    const { keys, process, ask } = await ending(cut, limited, refused, { ...ok, status: 404 }, ok)
    for (let count = 0; count < 5; count++) await ask(process(String(count)))
    expect(new Set(keys.slice(0, 4)).size).toBe(1)
    expect(keys[4]).not.toBe(keys[0])
  })

  it('uses another idempotency key when the fields or the API key differ', async () => {
    const { keys, process, ask } = await ending(cut, cut, cut, cut)
    const caller = process('one')
    await ask(caller, { domain: 'x', live: false })
    await ask(caller, { domain: 'x' })
    await ask(caller, { domain: 'x' }, { apiKey: 'other' })
    await ask(caller, { live: false, domain: 'x' })
    expect(new Set(keys).size).toBe(3)
    expect(keys[3]).toBe(keys[0])
  })

  it('is told as what it is, and is no reply', async () => {
    const { process } = await ending(cut)
    await expect(process('one').call('accounts.enrich', { domain: 'x' })).rejects.toBe(cut)
  })

  it('uses a new idempotency key after 72 hours, when servers have forgotten the old one', async () => {
    const { keys, process, ask, clock } = await ending(cut)
    await ask(process('one'))
    clock.advance(73 * 3_600_000)
    await ask(process('two'))
    expect(keys[1]).not.toBe(keys[0])
  })
})

describe('a call with a known outcome', () => {
  it('uses a new idempotency key after a call that was answered or never sent', async () => {
    const { keys, process, ask } = await ending(refused, { ...ok, status: 402 }, { ...ok, status: 429 }, ok)
    for (let count = 0; count < 5; count++) await ask(process(String(count)))
    expect(new Set(keys).size).toBe(5)
  })

  it('keeps an idempotency key that the caller chose', async () => {
    const { keys, process, ask } = await ending(cut)
    const caller = process('one')
    await ask(caller, {}, { idempotencyKey: 'mine' })
    await ask(caller, {}, { idempotencyKey: 'other' })
    expect(keys).toEqual(['mine', 'other'])
  })

  it('sends no idempotency key with a read', async () => {
    const { keys, process } = await ending()
    await process('one').call('credits.show', {})
    expect(keys).toEqual([undefined])
  })

  it('gives the same call made twice at once two idempotency keys', async () => {
    const { keys, process, ask } = await ending()
    const caller = process('one')
    await Promise.all([ask(caller), ask(caller)])
    expect(keys[0]).not.toBe(keys[1])
  })
})

it.each([
  [true, true, true],
  [true, false, false],
  [false, true, false],
])(
  'a server with a synchronous address of its own honours keys where both do: %s and %s is %s',
  async (main, sync, both) => {
    const remote = (honours: boolean): Remote => ({
      ...remoteTo('https://a.example/api/v2'),
      supportsIdempotency: async () => honours,
    })
    const server = withSyncServer(remote(main), remote(sync), async (key) => key)
    expect(await server.supportsIdempotency()).toBe(both)
  },
)
