import { describe, expect, it } from 'vitest'
import type { Input, RunRow } from '../../../src/api/calls/caller.js'
import { findRunReply, storeRunReply } from '../../../src/engine/credits/settlement.js'
import { perTest } from '../../support/each.js'
import { openBench } from '../../support/engine.js'

const bench = perTest(openBench)

const known = { domain: 'known.example' }

const send = (row: Partial<RunRow> = {}, input: Input = known) =>
  bench.call('accounts.enrich', input, { row: { run: 'run', ordinal: 3, fresh: true, ...row } })

const repeat = (row: Partial<RunRow> = {}) => send({ fresh: false, ...row })

const discardReplies = (before: number) => bench.caller.discardReplies?.('run', before, { apiKey: bench.key })

describe('a row of a run', () => {
  it('gets the same reply again without a charge, with its original cost', async () => {
    const first = await send()
    const again = await repeat()
    expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body))
    expect(again).toMatchObject({ status: 200, credits: 0, replayed: 1 })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await bench.balance()).toBe(999)
  })

  it('gets its reply again with an empty balance, and after any time', async () => {
    await send()
    await bench.admin.setCredits(0)
    bench.clock.advance(365 * 86_400_000)
    await bench.admin.setCredits(0)
    expect(await repeat()).toMatchObject({ status: 200, replayed: 1 })
  })

  it('is charged once even when it is sent as if for the first time', async () => {
    await send()
    expect(await send()).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } })
    expect(await bench.balance()).toBe(999)
    expect((await bench.admin.verify()).problems).toEqual([])
  })

  it('is charged once when it is repeated twice at once', async () => {
    const replies = await Promise.all([repeat(), repeat()])
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await bench.balance()).toBe(999)
  })

  it('keeps its first reply when another one is stored, and the transaction goes on', async () => {
    const { store, workspaceId } = bench
    const row = { run: 'run', ordinal: 3 }
    const [first, second] = ['first', 'second'].map((body) => ({ status: 200, credits: 1, body }))
    if (!first || !second) throw new Error('no replies')
    await store.transaction(async (tx) => {
      expect(await storeRunReply(tx, workspaceId, { ...row, fresh: true }, first)).toBe(true)
      expect(await storeRunReply(tx, workspaceId, { ...row, fresh: false }, second)).toBe(false)
    })
    expect(await store.read((tx) => findRunReply(tx, workspaceId, 'run', 3))).toEqual(first)
  })

  it('is distinguished from other rows and other runs', async () => {
    await send()
    expect((await repeat({ ordinal: 4 })).replayed).toBeUndefined()
    expect((await repeat({ run: 'other' })).replayed).toBeUndefined()
    expect(await bench.balance()).toBe(997)
  })

  it('is done again when it cost nothing', async () => {
    const unknown = { domain: 'nobody.example' }
    expect((await send({}, unknown)).status).toBe(404)
    expect((await send({ fresh: false }, unknown)).status).toBe(404)
    expect(bench.source.asked).toBe(2)
  })

  it('is kept until its run discards it', async () => {
    for (const ordinal of [1, 2, 3]) await send({ ordinal })
    await discardReplies(3)
    expect((await repeat({ ordinal: 2 })).replayed).toBeUndefined()
    expect((await repeat({ ordinal: 3 })).replayed).toBe(1)
  })

  it('of another run is not affected', async () => {
    await send()
    await send({ run: 'other' })
    await discardReplies(Number.MAX_SAFE_INTEGER)
    expect((await repeat({ run: 'other' })).replayed).toBe(1)
  })
})
