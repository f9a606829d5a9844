import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { findReply } from '../../../src/engine/tables/replies.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { openBench } from '../../support/engine.js'

const bench = perTest(openBench)

const enrich = (input: Record<string, unknown>, idempotencyKey: string) =>
  bench.call('accounts.enrich', input, { idempotencyKey })

const known = { domain: 'known.example' }

describe('P09: one effect, same answer', () => {
  it('returns the same status and body for every repetition, charged once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uuid(), fc.boolean(), fc.integer({ min: 1, max: 4 }), async (key, hit, again) => {
        const before = await bench.balance()
        const input = { domain: hit ? `known-${key}.example` : 'nobody.example' }
        const first = await enrich(input, key)
        for (let count = 0; count < again; count++) {
          const reply = await enrich(input, key)
          expect(reply.headers).toEqual({ 'idempotent-replayed': 'true' })
          expect(reply.status).toBe(first.status)
          expect(JSON.stringify(reply.body)).toBe(JSON.stringify(first.body))
        }
        expect(before - (await bench.balance())).toBe(hit ? 1 : 0)
      }),
      { numRuns: tries(50, 200) },
    )
  })

  it('keeps a reply for 72 hours and then forgets it', async () => {
    await enrich(known, 'key')
    bench.clock.advance(72 * 3_600_000 - 1)
    expect((await enrich(known, 'key')).headers).toEqual({ 'idempotent-replayed': 'true' })
    bench.clock.advance(1)
    expect((await enrich(known, 'key')).headers).toEqual({})
    expect(await bench.balance()).toBe(998)
  })

  it('deletes expired replies', async () => {
    for (const key of ['one', 'two', 'three']) await enrich(known, key)
    bench.clock.advance(72 * 3_600_000)
    await enrich(known, 'four')
    for (const key of ['one', 'two', 'three'])
      expect(await bench.store.read((tx) => findReply(tx, bench.workspaceId, key))).toBeUndefined()
  })

  it('accepts a key bare or as a quoted string, and refuses anything else', async () => {
    await enrich(known, 'key')
    expect((await enrich(known, '"key"')).headers).toEqual({ 'idempotent-replayed': 'true' })
    for (const key of ['', '""', 'two words', 'é', 'k'.repeat(256)])
      expect((await enrich(known, key)).status, key).toBe(400)
    expect((await enrich(known, 'k'.repeat(255))).status).toBe(200)
  })

  it('ignores the key of an operation without idempotency', async () => {
    const reply = await bench.call('accounts.technologies', {}, { idempotencyKey: 'two words' })
    expect(reply.status).toBe(200)
  })
})

describe('P10: concurrent duplicates', () => {
  it('executes exactly one of 50 parallel requests', async () => {
    for (let round = 0; round < 20; round++) {
      const replies = await Promise.all(
        Array.from({ length: 50 }, () => enrich(known, `round ${round}`.replace(' ', '-'))),
      )
      for (const { status, body } of replies)
        if (status !== 200) expect(body).toMatchObject({ code: 'idempotency_in_progress' })
      expect(
        replies.filter(({ status, headers }) => status === 200 && !headers['idempotent-replayed']),
      ).toHaveLength(1)
    }
    expect(await bench.balance()).toBe(980)
  })

  it('returns 409 with Retry-After while the first request is running', async () => {
    const held = bench.source.hold()
    const first = enrich(known, 'key')
    const release = await held
    const second = await enrich(known, 'key')
    expect(second).toMatchObject({ status: 409, headers: { 'retry-after': '1' } })
    expect(second.body).toMatchObject({ code: 'idempotency_in_progress' })
    release()
    expect((await first).status).toBe(200)
  })

  it('keeps the key of a request that runs for longer than a lease', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const held = bench.source.hold()
    const first = enrich(known, 'key')
    const release = await held
    bench.clock.advance(20_000)
    vi.advanceTimersByTime(10_000)
    bench.clock.advance(20_000)
    expect((await enrich(known, 'key')).status).toBe(409)
    release()
    expect((await first).status).toBe(200)
    expect(await bench.balance()).toBe(999)
  })
})

describe('P11: misuse is refused, never crossed', () => {
  it('refuses any other body with 409 and no effect', async () => {
    const original = { domain: 'known.example', name: 'Known', live: true }
    await enrich(original, 'key')
    const mutation = fc.oneof(
      fc
        .string()
        .filter((name) => name !== 'Known')
        .map((name) => ({ ...original, name })),
      fc.constantFrom(
        { ...original, live: false },
        { domain: 'known.example' },
        { ...original, name: ['Known'] },
      ),
      fc
        .string({ minLength: 1 })
        .filter((field) => !Object.hasOwn(original, field))
        .map((field) => ({ ...original, [field]: 1 })),
    )
    await fc.assert(
      fc.asyncProperty(mutation, async (input) => {
        const reply = await enrich(input, 'key')
        // A body that is invalid is refused as such, before its key is looked at.
        if (reply.status === 422 || reply.status === 400) return
        expect(reply.status).toBe(409)
        expect(reply.body).toMatchObject({ code: 'idempotency_key_reused' })
      }),
      { numRuns: tries(75, 300) },
    )
    expect(await bench.balance()).toBe(999)
  })

  it('ignores the order of the fields', async () => {
    await enrich({ domain: 'known.example', name: 'Known', custom: { a: 1, b: [1, { c: 2, d: 3 }] } }, 'key')
    const again = await enrich(
      { custom: { b: [1, { d: 3, c: 2 }], a: 1 }, name: 'Known', domain: 'known.example' },
      'key',
    )
    expect(again.headers).toEqual({ 'idempotent-replayed': 'true' })
  })

  it('keeps the keys of two workspaces apart', async () => {
    await enrich(known, 'key')
    await bench.admin.createWorkspace('Second')
    await bench.admin.useWorkspace('Second')
    await bench.admin.addMember({ email: 'me@localhost' })
    const { key: apiKey } = await bench.admin.createKey({ member: 'me@localhost' })
    const reply = await bench.caller.call(
      'accounts.enrich',
      { domain: 'known-too.example' },
      { apiKey, idempotencyKey: 'key' },
    )
    expect(reply).toMatchObject({ status: 200, headers: {}, credits: 1 })
  })

  it('never stores a 402: after a top-up the same key executes', async () => {
    await bench.admin.setCredits(0)
    expect((await enrich(known, 'key')).status).toBe(402)
    await bench.admin.addCredits(1)
    expect(await enrich(known, 'key')).toMatchObject({ status: 200, headers: {} })
  })

  it('never stores what its work refuses: when the list is there the same key executes', async () => {
    const list = await bench.call('lists.create', { name: 'Mine', companies: [known] })
    const { id } = list.body as { id: string }
    const asked = {
      included_account_lists: [id],
      job_titles: ['cto'],
      webhook_url: 'https://hooks.example/leads',
      limit: 1,
    }
    const search = () => bench.call('leads.advanced_search', asked, { idempotencyKey: 'key' })
    expect(await search()).toMatchObject({ status: 422, body: { error: expect.stringContaining('pending') } })
    await bench.store.transaction((tx) => tx.run("UPDATE lists SET status = 'completed'"))
    bench.clock.advance(60_000)
    expect(await search()).toMatchObject({ status: 202, headers: {} })
  })
})

describe('P09: crash-safe claim', () => {
  it('frees the claim of a dead process after its lease', async () => {
    const held = bench.source.hold()
    void enrich(known, 'key')
    await held
    expect((await enrich(known, 'key')).status).toBe(409)
    await bench.expire()
    expect(await enrich(known, 'key')).toMatchObject({ status: 200, credits: 1 })
    expect(await bench.balance()).toBe(999)
  })

  it('keeps a running claim however far the engine clock leaps', async () => {
    const held = bench.source.hold()
    const slow = enrich(known, 'key')
    const release = await held
    await bench.admin.advanceClock(73 * 3_600_000)
    expect((await enrich(known, 'key')).status).toBe(409)
    release()
    expect((await slow).status).toBe(200)
    expect(bench.source.asked).toBe(1)
  })

  it('withholds the reply of a request that lost its claim', async () => {
    const held = bench.source.hold()
    const slow = enrich(known, 'key')
    const release = await held
    await bench.expire()
    expect((await enrich(known, 'key')).status).toBe(200)
    release()
    expect(await slow).toMatchObject({ status: 409, credits: 0 })
    expect(await bench.balance()).toBe(999)
  })
})
