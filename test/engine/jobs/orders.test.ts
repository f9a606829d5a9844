import fc, { type Scheduler } from 'fast-check'
import { expect, it } from 'vitest'
import type { Sender, Source } from '../../../src/api/ports/ports.js'
import { readBalances } from '../../../src/engine/credits/ledger.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { tries } from '../../support/effort.js'
import { type Bench, openBench, randomIds } from '../../support/engine.js'

const hook = { webhook_url: 'https://hook.example/' }
const credits = 300

/**
 * Lookups, imports, top-ups and two workers at once, whose sources and receivers answer in an order that a scheduler
 * decides. Expects that nobody ever sees a balance below zero or one that does not add up, and that all is done at the
 * end.
 */
async function inAnyOrder(scheduler: Scheduler): Promise<void> {
  const bench = await openBench()
  await bench.admin.setCredits(credits)
  bench.source.matches = 130
  bench.source.before = async () => {
    await scheduler.schedule(Promise.resolve(), 'source')
  }
  const sent: string[] = []
  const sender: Sender = {
    send: async ({ id }) => {
      await scheduler.schedule(Promise.resolve(), 'receiver')
      sent.push(id)
      return { status: 200, error: null, ms: 1 }
    },
    check: async () => undefined,
    close: async () => {},
  }
  const calls = [
    ...[20, 30, 60].map((limit) =>
      bench.call('intents.stack', { ...hook, stacks: ['react'], limit, streaming: limit === 20 }),
    ),
    ...[10, 125].map((limit) => bench.call('accounts.search', { ...hook, keyword: 'known', limit })),
    ...['a', 'b', 'b'].map((idempotencyKey) =>
      bench.call('accounts.enrich', { domain: 'known.example' }, { idempotencyKey }),
    ),
    bench.admin.addCredits(50),
  ]
  const workers = [worker(bench, bench.source, sender), worker(bench, bench.source, sender)]
  const drained = Promise.all(calls).then(() => Promise.all(workers.map((one) => one.drain())))
  const looking = look(bench, drained)
  await scheduler.waitFor(drained)
  await looking
  await expectDone(bench, sent)
}

const worker = ({ store, clock }: Bench, source: Source, sender: Sender) =>
  createWorker({
    store,
    clock,
    source,
    sender,
    ids: randomIds,
    targets: () => ({ allow: [], loopback: false }),
  })

/** Looks at the balances again and again until something has ended. */
async function look(bench: Bench, end: Promise<unknown>): Promise<void> {
  let over = false
  void end.then(() => {
    over = true
  })
  while (!over) {
    const seen = await bench.store.read((tx) => readBalances(tx, bench.workspaceId))
    expect(Math.min(seen.credits, seen.held, seen.spent)).toBeGreaterThanOrEqual(0)
    const granted = seen.seq === 0 ? 0 : seen.credits + seen.held + seen.spent
    expect([1_000, credits, credits + 50]).toContain(granted)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function expectDone(bench: Bench, sent: readonly string[]): Promise<void> {
  const jobs = await bench.admin.jobs(100)
  expect(jobs.map(({ state }) => state)).toEqual(jobs.map(() => 'finished'))
  const { credits: left, held, spent } = await bench.store.read((tx) => readBalances(tx, bench.workspaceId))
  expect([held, left + spent]).toEqual([0, credits + 50])
  const paid = jobs.reduce((sum, job) => sum + job.spent, 0)
  expect(spent - paid).toBeLessThanOrEqual(2)
  const deliveries = await bench.admin.deliveries({}, 1_000)
  expect(deliveries.map(({ state }) => state)).toEqual(deliveries.map(() => 'delivered'))
  expect([...sent].sort()).toEqual(deliveries.map(({ id }) => id).sort())
  expect(await bench.admin.verify()).toMatchObject({ ok: true })
}

it('P02: balances add up in every order of answers from sources and receivers', async () => {
  await fc.assert(fc.asyncProperty(fc.scheduler(), inAnyOrder), { numRuns: tries(20, 60) })
})
