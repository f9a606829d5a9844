import { describe, expect, it } from 'vitest'
import type { Input, RunRow } from '../../../src/api/calls/caller.js'
import { findRunReply, storeRunReply } from '../../../src/engine/credits/settlement.js'
import { type Bench, openBench } from '../../support/engine.js'

const known = { domain: 'known.example' }

const send = (bench: Bench, row: Partial<RunRow> = {}, input: Input = known) =>
  bench.call('accounts.enrich', input, { row: { run: 'run', ordinal: 3, fresh: true, ...row } })

const repeat = (bench: Bench, row: Partial<RunRow> = {}) => send(bench, { fresh: false, ...row })

const discardReplies = (bench: Bench, before: number) =>
  bench.caller.discardReplies?.('run', before, { apiKey: bench.key })

describe('a row of a run', () => {
  it('gets the same reply again without a charge, with its original cost', async () => {
    const bench = await openBench()
    const first = await send(bench)
    const again = await repeat(bench)
    expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body))
    expect(again).toMatchObject({ status: 200, credits: 0, replayed: 1 })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await bench.balance()).toBe(999)
  })

  it('gets its reply again with an empty balance, and after any time', async () => {
    const bench = await openBench()
    await send(bench)
    await bench.admin.setCredits(0)
    bench.clock.advance(365 * 86_400_000)
    await bench.admin.setCredits(0)
    expect(await repeat(bench)).toMatchObject({ status: 200, replayed: 1 })
  })

  it('is charged once even when it is sent as if for the first time', async () => {
    const bench = await openBench()
    await send(bench)
    expect(await send(bench)).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } })
    expect(await bench.balance()).toBe(999)
    expect((await bench.admin.verify()).problems).toEqual([])
  })

  it('is charged once when it is repeated twice at once', async () => {
    const bench = await openBench()
    const replies = await Promise.all([repeat(bench), repeat(bench)])
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await bench.balance()).toBe(999)
  })

  it('keeps its first reply when another one is stored, and the transaction goes on', async () => {
    const { store, workspaceId } = await openBench()
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
    const bench = await openBench()
    await send(bench)
    expect((await repeat(bench, { ordinal: 4 })).replayed).toBeUndefined()
    expect((await repeat(bench, { run: 'other' })).replayed).toBeUndefined()
    expect(await bench.balance()).toBe(997)
  })

  it('is done again when it cost nothing', async () => {
    const bench = await openBench()
    const unknown = { domain: 'nobody.example' }
    expect((await send(bench, {}, unknown)).status).toBe(404)
    expect((await send(bench, { fresh: false }, unknown)).status).toBe(404)
    expect(bench.source.asked).toBe(2)
  })

  it('is kept until its run discards it', async () => {
    const bench = await openBench()
    for (const ordinal of [1, 2, 3]) await send(bench, { ordinal })
    await discardReplies(bench, 3)
    expect((await repeat(bench, { ordinal: 2 })).replayed).toBeUndefined()
    expect((await repeat(bench, { ordinal: 3 })).replayed).toBe(1)
  })

  it('of another run is not affected', async () => {
    const bench = await openBench()
    await send(bench)
    await send(bench, { run: 'other' })
    await discardReplies(bench, Number.MAX_SAFE_INTEGER)
    expect((await repeat(bench, { run: 'other' })).replayed).toBe(1)
  })
})
