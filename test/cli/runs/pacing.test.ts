import { expect, it } from 'vitest'
import { perFile } from '../../support/each.js'
import { sample, tries } from '../../support/effort.js'
import { pacingBench } from '../../support/paced-run.js'
import { prospect } from '../../support/processes.js'

const bench = perFile(() => pacingBench(60))

const batches = [
  [1, 30],
  [3, tries(4, 10)],
] as const

// One process is paced in test/runs/pacing.test.ts, too.
it.each(sample(batches, 2, 1))(
  '%i processes with %i rows each never get a 429 from a server with rate limits',
  async (processes, rows) => {
    const command = ['accounts', 'hiring', '--limit', '1']
    const { exits, stderr, heard } = await bench.run({ program: prospect, command, processes, rows })
    expect([exits, stderr]).toEqual([Array(processes).fill(0), expect.any(String)])
    expect(heard.map(({ status }) => status)).toEqual(Array(processes * rows).fill(200))
  },
)
