import { execa } from 'execa'
import { expect, it } from 'vitest'
import { found, secondsSince } from './findings.js'
import { seedOf, some } from './share.js'

/** Tests of `npm test` that try most here, and with how many seeds. */
const larger = [
  ['P25', 'http/fuzz', some(3)],
  ['P26', 'spec/sequences', some(3)],
  ['P51', 'providers/killed', 1],
  ['P53', 'mcp/agents', 1],
  ['P54', 'flows/killed', 1],
  ['P57', 'cli/runs/twice', 1],
  ['P61', 'runs/input/generated-tables', 1],
  ['P62', 'cli/stray-answers', 1],
  ['P62', 'client/stray-answers', 1],
] as const

it.each(larger)(
  '%s: test/%s.test.ts holds with other seeds and the largest numbers',
  async (promise, file, seeds) => {
    const began = performance.now()
    const tried = Array.from({ length: seeds }, (_, at) => seedOf() + at)
    for (const seed of tried) {
      const env = { PROSPECT_TEST_SEED: String(seed), PROSPECT_TEST_EFFORT: 'soak' }
      const argv = [
        'node_modules/vitest/vitest.mjs',
        'run',
        `test/${file}.test.ts`,
        '--testTimeout',
        '1800000',
      ]
      const { exitCode, stdout } = await execa(process.execPath, argv, {
        env,
        reject: false,
        stdin: 'ignore',
      })
      expect(exitCode, `PROSPECT_TEST_SEED=${seed}\n${stdout}`).toBe(0)
    }
    found({
      promise,
      tried: `test/${file}.test.ts with the largest numbers (seeds ${tried.join(', ')})`,
      lost: 'no case failed',
      measured: secondsSince(began),
    })
  },
)
