import { expect, it } from 'vitest'
import { runBank } from '../support/bank.js'
import { tries } from '../support/effort.js'
import { bundled } from '../support/programs.js'

const program = await bundled('programs/worker-bank.ts')

it('P42: every read while credits move between workspaces sees the same total', async () => {
  const { transfers, looks } = await runBank(program, {
    ms: tries(300, 3_000, 60_000),
    kills: tries(1, 4, 60),
    writers: tries(2, 4),
    readers: tries(2, 4),
  })
  expect(transfers).toBeGreaterThan(0)
  expect(looks).toBeGreaterThan(0)
})
