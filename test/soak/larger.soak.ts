import { execa } from 'execa'
import { expect } from 'vitest'
import { seedOf, soak, some } from './soak.js'

/** Tests of `npm test` that try most here: the promise, the file, what is tried, and with how many seeds. */
const larger: readonly (readonly [promise: string, file: string, tried: string, seeds?: number])[] = [
  [
    'P12, P13, P14',
    'engine/jobs-processes',
    '1,000 jobs, workers killed 200 times, 200 kills of those that accept',
  ],
  [
    'P12, P38, P42, P43',
    'engine/processes',
    '4,000 paid calls, 200 kills; a minute of transfers, 60 kills; on both databases',
  ],
  ['P16', 'http/receiver-processes', '10,000 deliveries of 7,000 ids, 50 kills of the receiver'],
  ['P19', 'runs/bulk', '680 histories of waterfalls that are sent together, each killed at several steps'],
  ['P19', 'cli/runs/distributed', '100,000 rows over several workers, one of which is killed'],
  ['P19, P57', 'cli/killed-batch', '10,000 rows, 200 kills; 200 histories of commands at once'],
  ['P25', 'http/fuzz', '40,000 requests', some(3)],
  ['P26', 'spec/sequences', '1,000 sequences of calls', some(3)],
  ['P39', 'storage/database/migrate', 'every schema, a kill at every statement'],
  ['P42', 'engine/jobs-orders', '1,000 orders of answers'],
  ['P51', 'providers/killed', 'batches, lookups and a server over two vendors, on both databases'],
  ['P53', 'mcp/agents', '500 sequences of tool calls'],
  ['P54', 'flows/killed', '100 kills of a flow'],
  ['P57', 'cli/runs/twice', '200 histories of the same files'],
  ['P58', 'catalogue/suppression/histories', '2,000 histories'],
  ['P61', 'runs/input/generated-tables', '52,000 tables'],
  ['P62', 'cli/stray-answers', 'answers that are repeated, late or appended'],
  ['P62', 'client/stray-answers', '30,000 calls'],
]

for (const [promise, file, tried, seeds = 1] of larger)
  soak(promise, `test/${file}.test.ts holds with the largest numbers`, async () => {
    const used = Array.from({ length: seeds }, (_, at) => seedOf() + at)
    for (const seed of used) {
      const env = { PROSPECT_TEST_SEED: String(seed), PROSPECT_TEST_EFFORT: 'soak' }
      const run = ['run', `test/${file}.test.ts`, '--testTimeout', '1800000']
      const argv = ['node_modules/vitest/vitest.mjs', ...run]
      const { exitCode, stdout } = await execa(process.execPath, argv, {
        env,
        reject: false,
        stdin: 'ignore',
      })
      expect(exitCode, `PROSPECT_TEST_SEED=${seed}\n${stdout}`).toBe(0)
    }
    return { tried: `${tried} (seeds ${used.join(', ')})` }
  })
