import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { WorkerPool } from '../../../src/engine/jobs/pool.js'
import { until } from '../../support/until.js'

it('a task keeps its slot to its end', async () => {
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
  const ended = pool.run(() => true)
  await until(() => begun.length > 0)
  for (let turns = 0; turns < 20; turns++) await turn()
  expect(begun).toHaveLength(1)
  begun[0]?.()
  await until(() => begun.length === 2)
  begun[1]?.()
  expect(await ended).toBe(2)
})
