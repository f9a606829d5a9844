import { execa } from 'execa'
import { expect } from 'vitest'
import { rowsOf } from '../support/fixtures.js'
import { seedOf, soak, some } from './soak.js'

/** Tests of `npm test` that try most here: the promise, the file, what is tried, and with how many seeds. */
for (const [promise = '', file, tried, seeds] of rowsOf('soak/larger.tsv'))
  soak(promise, `test/${file}.test.ts holds with the largest numbers`, async () => {
    const used = Array.from({ length: some(Number(seeds)) }, (_, at) => seedOf() + at)
    for (const seed of used) {
      const env = { PROSPECT_TEST_SEED: String(seed), PROSPECT_TEST_EFFORT: 'soak' }
      const run = ['run', `test/${file}.test.ts`, '--testTimeout', '1800000']
      const argv = ['node_modules/vitest/vitest.mjs', ...run]
      const options = { env, reject: false, stdin: 'ignore' } as const
      const { exitCode, stdout } = await execa(process.execPath, argv, options)
      expect(exitCode, `PROSPECT_TEST_SEED=${seed}\n${stdout}`).toBe(0)
    }
    return { tried: `${tried} (seeds ${used.join(', ')})` }
  })
