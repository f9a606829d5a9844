import { afterAll, beforeAll, expect, it } from 'vitest'
import { type PacingBench, pacingBench, secondsOf } from '../support/paced-run.js'
import { prospect } from '../support/processes.js'
import { found } from './findings.js'

let bench: PacingBench

beforeAll(async () => {
  bench = await pacingBench(300)
})

afterAll(() => {
  bench.remove()
})

it.each([
  { what: '5 a second', processes: 1, rows: 300, ideal: 59, command: ['accounts', 'hiring', '--limit', '1'] },
  { what: '5 a second', processes: 3, rows: 100, ideal: 59, command: ['accounts', 'hiring', '--limit', '1'] },
  // Of 100 a minute, 250 take two windows to their end and the beginning of a third.
  { what: '100 a minute', processes: 2, rows: 125, ideal: 120, command: ['accounts', 'headcount'] },
])(
  'P36: $processes processes never exceed a limit of $what',
  async ({ what, processes, rows, ideal, command }) => {
    const { exits, heard } = await bench.run({ program: prospect, command, processes, rows })
    expect(exits).toEqual(Array(processes).fill(0))
    const refused = heard.filter(({ status }) => status === 429).length
    const ratio = secondsOf(heard) / ideal
    expect([heard.length, refused]).toEqual([processes * rows, 0])
    found({
      promise: 'P36',
      tried: `${processes} × ${rows} rows of what a server limits to ${what}`,
      lost: '0 answers 429',
      measured: `${ratio.toFixed(3)} times the least time`,
    })
    expect(ratio).toBeLessThan(1.05)
  },
)
