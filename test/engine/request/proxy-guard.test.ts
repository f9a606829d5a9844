import { describe, expect, it } from 'vitest'
import { type Caller, compose } from '../../../src/api/calls/caller.js'
import { ApiError } from '../../../src/api/calls/errors.js'
import { paced } from '../../../src/client/paced.js'
import { createServerLimit } from '../../../src/engine/credits/server-limit.js'
import { guardCaller } from '../../../src/engine/request/proxy-guard.js'
import { sharedWindows } from '../../client/windows.js'
import { describeWeeklyLimit } from '../../conformance/caller.js'
import { answering } from '../../support/answering.js'
import { openBench } from '../../support/engine.js'

const clock = { now: () => Date.now() }

/** A guard with a workspace of its own in front of a caller. */
async function guard(upstream: Caller, apiKey = 'of-the-server') {
  const front = await openBench()
  const { store } = front
  const limit = createServerLimit({ store, clock, server: 'http://127.0.0.1:4510/api/v2' })
  const caller = compose(
    [guardCaller({ store, clock, apiKey, sleep: async () => {} }), limit.layer],
    upstream,
  )
  return { caller, front }
}

describe('the guard of a server that forwards requests', () => {
  it('reveals nothing of its own key, and forwards nothing for callers without a key', async () => {
    const upstream = answering({})
    const { caller, front } = await guard(upstream)
    const read = () => Promise.reject(new Error('the body of a stranger is not read'))
    const statuses = [
      await caller.answerRequest?.('accounts.enrich', read),
      await caller.answerRequest?.('accounts.enrich', read, { apiKey: 'of-the-server' }),
      await caller.call('accounts.enrich', {}, { apiKey: front.key }),
    ].map((reply) => reply?.status)
    const keys = upstream.asked.map(({ options }) => options.apiKey)
    expect([statuses, keys]).toEqual([[401, 401, 200], ['of-the-server']])
  })
})

describe('the body of a request through a guard', () => {
  const upstream = answering({
    headers: { 'ratelimit-limit': '1', 'ratelimit-remaining': '0', 'ratelimit-reset': '60' },
  })
  /** Asks for a list; returns the status, and whether the body was read. */
  async function ask(caller: Caller, apiKey: string) {
    let isRead = false
    const read = async () => {
      isRead = true
      return { input: { name: 'x', companies: [] } }
    }
    const reply = await caller.answerRequest?.('lists.create', read, { apiKey })
    return [reply?.status, isRead]
  }

  it('is not read for a key without the scope', async () => {
    const { caller, front } = await guard(upstream)
    const { key } = await front.admin.createKey({ member: 'me@localhost', scopes: ['credits'] })
    expect(await ask(caller, key)).toEqual([403, false])
  })

  it('is not read while the window of the server is full', async () => {
    const server = paced({ windows: sharedWindows(), origin: 'https://api.example.com', clock })(upstream)
    const { caller, front } = await guard(server)
    expect(await ask(caller, front.key)).toEqual([200, true])
    expect(await ask(caller, front.key)).toEqual([429, false])
  })
})

describe('a request that another server received', () => {
  const fault = new ApiError('storage_failed', { reason: 'the disk is full' })
  const upstream = answering(() => Promise.reject(fault))

  it('has an unknown outcome when a fault follows, and does not count as refused', async () => {
    const { caller, front } = await guard(upstream)
    await expect(caller.call('accounts.enrich', {}, { apiKey: front.key })).rejects.toBe(fault)
  })
})

describeWeeklyLimit('a guard in front of an engine', async () => {
  const bench = await openBench()
  const { caller, front } = await guard(bench.caller, bench.key)
  // Who asks has a key of the guard, where the suite has one of the engine.
  const call: Caller['call'] = (id, input, options = {}) =>
    caller.call(id, input, { ...options, apiKey: options.apiKey === bench.key ? front.key : options.apiKey })
  const close = async () => {
    await bench.caller.close()
    await front.caller.close()
  }
  return { caller: { ...caller, call }, bench, members: front.admin, close }
})
