import { describe, expect, it } from 'vitest'
import {
  type Caller,
  type CallOptions,
  ConnectionLost,
  compose,
  type Input,
  type Reply,
} from '../../src/api/calls/caller.js'
import { isKnown } from '../../src/client/kept-keys.js'
import { runsOver } from '../../src/runs/journal/runs.js'
import { purgeRuns } from '../../src/runs/purge.js'
import { createSingleLookups } from '../../src/runs/stored-lookups.js'
import { states } from '../support/databases.js'
import { randomIds } from '../support/engine.js'
import { fakeCaller, reply } from './fakes.js'

const day = 86_400_000

describe.each(states())('single lookups of a process that stays, in %s', (_, open) => {
  /** A machine on which processes look up with a `max_age` of a day. */
  async function machine() {
    const driver = await open()
    let now = 100 * day
    const alive = new Set<string>()
    /** A process: it holds the first lock that is free until it is killed. */
    const begin = (answer: (input: Input, key: string) => Reply | Promise<Reply>, before?: () => void) => {
      const { caller, calls } = fakeCaller((input, _nth, { idempotencyKey = '' }) =>
        answer(input, idempotencyKey),
      )
      let name = ''
      const { recall, keep } = createSingleLookups({
        open: async () => ({
          database: driver,
          target: 'https://a.example/api/v2',
          workspace: 'ours',
          profile: 'default',
          notBefore: 0,
          locks: { isHeld: async (holder: string) => alive.has(holder), fenceOf: () => '' },
          holdLock: async () => {
            const free = Array.from({ length: 9 }, (_each, at) => `lookups-${at}`)
            name = free.find((one) => !alive.has(one)) ?? ''
            alive.add(name)
            return name
          },
        }),
        maxAgeMs: day,
        answersKeys: true,
        clock: { now: () => now },
        ids: randomIds,
        isKnown,
        sleep: () => new Promise((resolve) => setImmediate(resolve)),
        onFault: (error) => {
          throw error
        },
      })
      /** Stands between the layers, as rate limits do. */
      const between = (inner: Caller): Caller => ({
        ...inner,
        call: async (...call) => {
          before?.()
          return inner.call(...call)
        },
      })
      const called = compose([recall, between, keep], caller)
      return {
        ask: (domain: string, options?: CallOptions) => called.call('accounts.enrich', { domain }, options),
        askSeveral: (domains: readonly string[], options?: CallOptions) =>
          called.call('accounts.bulk_enrich', { accounts: domains.map((domain) => ({ domain })) }, options),
        asked: () => calls.map(({ input, options }) => [input.domain, options?.idempotencyKey]),
        keys: () => calls.map(({ options }) => options?.idempotencyKey),
        kill: () => alive.delete(name),
      }
    }
    return { driver, begin, pass: (ms: number) => (now += ms), now: () => now }
  }
  const found = ({ domain }: Input) => reply(200, { domain }, 1)
  const never = new Promise<never>(() => {})

  it('take an answer of their own while it is young enough, and say how old it is', async () => {
    const { begin, pass } = await machine()
    const { ask, keys } = begin(found)
    await ask('acme.example')
    pass(day - 5_000)
    expect((await ask('www.acme.example')).headers).toMatchObject({ age: '86395' })
    pass(5_001)
    expect((await ask('acme.example')).headers).toEqual({})
    expect([keys().length, new Set(keys()).size]).toEqual([2, 2])
  })

  it('do not take an answer that credits cut off', async () => {
    const { begin } = await machine()
    const { ask, keys } = begin(({ domain }) => reply(200, { domain, truncated: true }, 1))
    for (const _ of [1, 2]) await ask('acme.example')
    expect(keys()).toHaveLength(2)
  })

  it('go on under the same key after an unknown outcome, in another spelling, too', async () => {
    const { begin } = await machine()
    let isCut = true
    const { ask, keys } = begin((input) => {
      if (isCut) throw new ConnectionLost('cut', true)
      return { ...found(input), headers: { 'idempotent-replayed': 'true' } }
    })
    await expect(ask('acme.example')).rejects.toThrow('cut')
    isCut = false
    await ask('https://www.acme.example/about')
    await ask('acme.example')
    expect(keys()).toEqual([keys()[0], keys()[0]])
  })

  it('take over what a killed process sent, whichever of them asks next, and whether or not it came to that', async () => {
    const { begin } = await machine()
    const killed = begin(() => never)
    void killed.ask('acme.example')
    await expect.poll(() => killed.keys().length).toBe(1)
    killed.kill()
    const refused = begin(found, () => {
      throw new Error('refused')
    })
    await expect(refused.ask('acme.example')).rejects.toThrow('refused')
    const next = begin(found)
    await next.ask('www.acme.example')
    expect([refused.keys(), next.keys()]).toEqual([[], killed.keys()])
  })

  it('wait for what a killed process has under way at the target, and for nobody else', async () => {
    const { begin } = await machine()
    const busy = reply(409, { code: 'idempotency_in_progress' })
    const killed = begin(() => never)
    void killed.ask('acme.example')
    await expect.poll(() => killed.keys().length).toBe(1)
    killed.kill()
    const next = begin((input) => (next.asked().length % 2 === 1 ? busy : found(input)))
    expect((await next.ask('acme.example')).status).toBe(200)
    expect(next.keys()).toEqual([killed.keys()[0], killed.keys()[0]])
    expect((await next.ask('bolt.example', { idempotencyKey: 'of-another-client' })).status).toBe(409)
    expect(next.asked().slice(2)).toEqual([['bolt.example', 'of-another-client']])
  })

  it('go on under the key of a client whose proxy was killed, whoever asks next', async () => {
    const { begin } = await machine()
    for (const [at, idempotencyKey] of ['550e8400-e29b-41d4-a716-446655440000', 'order-7', 'x'].entries()) {
      const killed = begin(() => never)
      void killed.ask(`acme-${at}.example`, { idempotencyKey })
      await expect.poll(() => killed.keys()).toEqual([idempotencyKey])
      killed.kill()
      const next = begin(found)
      const own = { idempotencyKey: `another-${at}`, member: { id: 'm' } } as CallOptions
      const replies = [
        await next.ask(`www.acme-${at}.example`, own),
        await next.ask(`acme-${at}.example`, own),
      ]
      expect(next.keys()).toEqual([idempotencyKey])
      expect(replies.map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true'])
      next.kill()
    }
  })

  it('are asked for one by one, each under its key, by a request for several after a kill, and are free for others until then', async () => {
    const { begin } = await machine()
    const killed = begin(() => never)
    for (const domain of ['missing.example', 'known.example', 'other.example']) void killed.ask(domain)
    await expect.poll(() => killed.keys().length).toBe(3)
    const [missing, known, other] = killed.keys()
    killed.kill()
    const first = Promise.withResolvers<Reply>()
    const next = begin((input) => (next.asked().length === 1 ? first.promise : found(input)))
    const several = next.askSeveral(['missing.example', 'known.example', 'other.example'])
    await expect.poll(() => next.asked()).toEqual([['missing.example', missing]])
    const beside = begin(found)
    await beside.ask('other.example')
    expect(beside.asked()).toEqual([['other.example', other]])
    first.resolve(reply(404, { error: 'No company found' }))
    expect(await several).toMatchObject({
      status: 200,
      body: {
        results: [{ domain: 'missing.example' }, { domain: 'known.example' }, { domain: 'other.example' }],
      },
    })
    // What was not found cost nothing, and is asked for again with what is left.
    expect(next.asked()).toEqual([
      ['missing.example', missing],
      ['known.example', known],
      ['missing.example', expect.any(String)],
    ])
  })

  it('are asked anew by a call that takes no answer, and by one that wants a younger answer', async () => {
    const { begin, pass } = await machine()
    const { ask, keys } = begin(found)
    await ask('acme.example')
    pass(60_000)
    await ask('acme.example', { maxAgeMs: 61_000 })
    expect(keys()).toHaveLength(1)
    await ask('acme.example', { maxAgeMs: 59_000 })
    await ask('acme.example', { maxAgeMs: 0 })
    expect(keys()).toHaveLength(3)
    // An answer is never older than whoever stores it permits.
    pass(day + 1)
    await ask('acme.example', { maxAgeMs: 90 * day })
    expect(keys()).toHaveLength(4)
  })

  it('have one run for each lock, and a key of their own each time', async () => {
    const { driver, begin } = await machine()
    const keys: unknown[] = []
    for (let at = 0; at < 4; at++) {
      const { ask, keys: sent, kill } = begin(() => reply(404, { error: 'No company found' }))
      await ask('acme.example')
      keys.push(...sent())
      kill()
    }
    expect(new Set(keys).size).toBe(4)
    const sql = 'SELECT count(*) AS runs FROM runs'
    expect(await driver.read((reads) => reads.get(sql))).toEqual({ runs: 1 })
    expect(await runsOver(driver).list()).toEqual([])
  })

  it('are purged by their age while their process goes on', async () => {
    const { driver, begin, pass, now } = await machine()
    const { ask } = begin(found)
    await ask('old.example')
    pass(2 * day)
    await ask('new.example')
    const hold = () => undefined
    expect(await purgeRuns(driver, { before: now() - day, now: now(), hold })).toEqual({
      runs: [],
      answers: 1,
    })
    const left = await driver.read((reads) => reads.all<{ body: string }>('SELECT body FROM lookups'))
    expect(left.map(({ body }) => body)).toEqual(['{"domain":"new.example"}'])
  })
})
