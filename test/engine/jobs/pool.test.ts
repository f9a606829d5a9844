import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { WorkerPool } from '../../../src/engine/jobs/pool.js'
import { until } from '../../support/until.js'

/** Takes two tasks that take long, one at once; answers how many have begun, and ends them. */
function twoTasks(slowMs?: number) {
  const begun: (() => void)[] = []
  const tasks = ['first', 'second']
  const pool = new WorkerPool<string>(
    {
      take: async () => tasks.shift(),
      work: () => new Promise<void>((resolve) => begun.push(resolve)),
      atOnce: 1,
      most: 2,
      ...(slowMs === undefined ? {} : { slowMs }),
      onTrouble: (error) => {
        throw error
      },
    },
    new AbortController().signal,
  )
  const ended = pool.run(() => true)
  return { begun, ended }
}

it('a slow task gives up its slot to another one', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { begun, ended } = twoTasks(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(begun).toHaveLength(2)
  for (const end of begun) end()
  expect(await ended).toBe(2)
})

it('a task that has ended leaves no timer behind', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { begun, ended } = twoTasks(1_000_000)
  for (const at of [0, 1]) {
    await vi.waitFor(() => expect(begun.length).toBe(at + 1))
    begun[at]?.()
  }
  expect(await ended).toBe(2)
  expect(vi.getTimerCount()).toBe(0)
})

it('a task keeps its slot to its end where none counts as slow', async () => {
  const { begun, ended } = twoTasks()
  await pause(20)
  expect(begun).toHaveLength(1)
  begun[0]?.()
  await until(() => begun.length === 2)
  begun[1]?.()
  expect(await ended).toBe(2)
})
