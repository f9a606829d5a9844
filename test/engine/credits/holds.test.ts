import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readBalances } from '../../../src/engine/credits/ledger.js'
import type { AsyncJob } from '../../../src/engine/tables/jobs.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { openBench } from '../../support/engine.js'
import { idOf, portsOf } from '../fake-sender.js'

const hook = 'https://hook.example/'
const bench = perTest(openBench)

async function finished(id: string): Promise<AsyncJob> {
  const job = await createWorker(portsOf(bench)).finish(id)
  if (!job) throw new Error('the job was not free')
  return job
}

const position = () => bench.store.read((tx) => readBalances(tx, bench.workspaceId))

describe('P04: hold, then settle once', () => {
  it('holds price times records, pays for each record, and releases the rest', async () => {
    bench.source.matches = 50
    const { body } = await bench.call('intents.stack', { webhook_url: hook, stacks: ['react'], limit: 80 })
    expect(await position()).toMatchObject({ credits: 850, held: 150, spent: 0 })
    const shown = (await bench.call('credits.show', {})).body
    expect(shown).toMatchObject({ credits: { enrichment: 850 } })
    bench.source.matches = 40
    const job = await finished(idOf(body))
    expect(job).toMatchObject({ done: 40, spent: 120, held: 0, truncated: false })
    expect(await position()).toMatchObject({ credits: 880, held: 0, spent: 120 })
  })

  it('never pays more than it holds, however many records match later', async () => {
    bench.source.matches = 10
    const { body } = await bench.call('intents.hiring', { webhook_url: hook })
    bench.source.matches = 500
    const job = await finished(idOf(body))
    expect(job).toMatchObject({ done: 10, spent: 10, held: 0, truncated: true })
  })

  it('counts held credits against the weekly limit, and releases them', async () => {
    bench.source.matches = 50
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 100 })
    const first = await bench.call('intents.hiring', { webhook_url: hook, limit: 60 })
    const second = await bench.call('intents.hiring', { webhook_url: hook, limit: 51 })
    expect(second.status).toBe(202)
    const over = await bench.call('accounts.enrich', { domain: 'known.example' })
    expect(over).toMatchObject({ status: 403, body: { code: 'workspace_limit_exceeded' } })
    bench.source.matches = 20
    await finished(idOf(first.body))
    expect((await bench.call('accounts.enrich', { domain: 'known.example' })).status).toBe(200)
    await finished(idOf(second.body))
    const [member] = await bench.admin.members()
    // Two searches that found 20 each, and the lookup.
    expect(member?.spentThisWeek).toBe(41)
  })

  it('loses and doubles nothing under concurrency', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ limit: fc.integer({ min: 1, max: 120 }), later: fc.integer({ min: 0, max: 150 }) }),
          { minLength: 1, maxLength: 6 },
        ),
        fc.integer({ min: 0, max: 700 }),
        async (asks, credits) => {
          bench.source.matches = 150
          await bench.admin.setCredits(credits)
          const before = await position()
          const accepted: string[] = []
          for (const { limit } of asks) {
            const { status, body } = await bench.call('intents.stack', {
              webhook_url: hook,
              stacks: ['react'],
              limit,
            })
            if (status === 202) accepted.push(idOf(body))
          }
          bench.source.matches = asks[0]?.later ?? 0
          const jobs = await Promise.all(accepted.map((id) => finished(id)))
          const { credits: left, held, spent } = await position()
          expect(spent - before.spent).toBe(3 * jobs.reduce((sum, { done }) => sum + done, 0))
          expect([held, left + spent - before.spent]).toEqual([0, credits])
          expect(await bench.admin.verify()).toMatchObject({ ok: true })
        },
      ),
      { numRuns: tries(20, 40) },
    )
  })
})
