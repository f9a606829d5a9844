import { describe, expect, it } from 'vitest'
import { purgeRunReplies, purgeWork } from '../../src/engine/admin/erasure.js'
import { perTest } from '../support/each.js'
import { answered, openWorked } from './fake-sender.js'

const bench = perTest(openWorked)

const lead = { webhook_url: 'https://hook.example/', keyword: 'known', live: false }
const dayMs = 86_400_000
const nothing = { jobs: 0, records: 0, contacts: 0, deliveries: 0, replies: 0 }

describe('purging accepted work', () => {
  it('keeps undelivered work', async () => {
    bench.source.matches = 3
    const { sender, worker } = bench
    sender.answer = () => answered(503)
    await bench.call('leads.advanced_search', lead)
    await worker.drain()
    bench.clock.advance(10 * dayMs)
    expect(await purgeWork(bench.store, bench.clock, dayMs)).toEqual(nothing)
    sender.answer = () => undefined
    await worker.drain()
    const purged = { ...nothing, jobs: 1, records: 3, deliveries: 1 }
    expect(await purgeWork(bench.store, bench.clock, dayMs)).toEqual(purged)
  })

  it('keeps younger work', async () => {
    bench.source.matches = 3
    await bench.call('leads.advanced_search', lead)
    bench.clock.advance(dayMs)
    await bench.worker.drain()
    expect(await purgeWork(bench.store, bench.clock, dayMs / 2)).toEqual(nothing)
  })

  it('deletes the replies to rows of deleted runs, and no others', async () => {
    const call = (run: string, ordinal: number, fresh = true) =>
      bench.call('contacts.reverse_lookup', { email: 'a@known.example' }, { row: { run, ordinal, fresh } })
    for (const [run, ordinal] of [
      ['r', 0],
      ['r', 1],
      ['s', 0],
    ] as const)
      await call(run, ordinal)
    expect(await purgeRunReplies(bench.store, ['r', 'unknown'])).toBe(2)
    expect((await call('s', 0, false)).replayed).toBe(1)
    expect((await call('r', 0, false)).replayed).toBeUndefined()
  })
})
