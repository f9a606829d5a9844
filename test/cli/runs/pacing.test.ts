import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type PacingBench, pacingBench } from '../../support/paced-run.js'
import { bundled } from '../../support/processes.js'

let program: string
let bench: PacingBench
beforeAll(async () => {
  program = await bundled('programs/prospect.ts')
  bench = await pacingBench(60)
})
afterAll(() => {
  rmSync(program)
  bench.remove()
})

it.each([
  [1, 30],
  [3, 10],
])(
  '%i processes with %i rows each never get a 429 from a server with rate limits',
  async (processes, rows) => {
    const command = ['accounts', 'hiring', '--limit', '1']
    const { exits, stderr, heard } = await bench.run({ program, command, processes, rows })
    expect([exits, stderr]).toEqual([Array(processes).fill(0), expect.any(String)])
    expect(heard.map(({ status }) => status)).toEqual(Array(processes * rows).fill(200))
  },
)
