import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { WorkerPool } from '../../../src/engine/jobs/pool.js'

it('a task keeps its slot to its end, and the next one begins then, not when the pool looks again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const begun: (() => void)[] = []
  const tasks = ['first', 'second']
  const pool = new WorkerPool<string>(
    {
      take: async () => tasks.shift(),
      work: () => new Promise((resolve) => begun.push(() => resolve(undefined))),
      atOnce: 1,
      onTrouble: (error) => {
        throw error
      },
    },
    new AbortController().signal,
  )
  const idle = async () => {
    for (let turns = 0; turns < 20; turns++) await turn()
  }
  const ended = pool.run(() => true)
  await idle()
  expect(begun).toHaveLength(1)
  begun[0]?.()
  await idle()
  expect(begun).toHaveLength(2)
  begun[1]?.()
  expect(await ended).toBe(2)
})
