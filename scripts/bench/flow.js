import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../run.js'
import { writeQuestions } from './data.js'
import { grouped, megabytes, perSecond, time, timeAndPeak } from './measure.js'

const lookups = ['accounts enrich', 'accounts stack']
const maxBytes = 300e6

/** Rows per second of a flow of four steps, against the slowest of them as a batch of its own, and its peak memory. */
export async function flow({ env, folder, catalogue }) {
  const rows = 100_000
  const [input, output, file] = ['asked.csv', 'answered.csv', 'flow.yaml'].map((name) => join(folder, name))
  await writeQuestions(input, rows, { catalogue, known: 9 })
  const alone = {}
  for (const lookup of lookups) {
    const args = [binary, ...lookup.split(' '), '--csv', input, '-o', output, '--quiet', '--yes']
    alone[lookup] = (rows * 1_000) / (await time([...args, '--fail-on', 'none'], env))
  }
  writeFileSync(
    file,
    `name: measured
input: { csv: asked.csv }
steps:
  - accounts.enrich
  - keep: headcount >= 51
  - accounts.stack
  - keep: country != "BR"
output: { csv: flow.csv }
`,
  )
  // Other answers would be reused.
  await writeQuestions(input, rows, { catalogue, known: 9, start: 7 })
  const { ms, peak } = await timeAndPeak([binary, 'flow', 'run', file, '--quiet', '--yes'], env)
  const rate = (rows * 1_000) / ms
  for (const path of [input, output, file]) rmSync(path)
  const [slowest, slowestRate] = Object.entries(alone).sort(([, one], [, other]) => one - other)[0]
  return [
    {
      what: `\`flow run\` of four steps, ${grouped(rows)} companies`,
      measured: perSecond(rate, 'rows'),
      baseline: `its slowest step alone, \`${slowest}\`: ${perSecond(slowestRate, 'rows')}`,
      ratio: rate / slowestRate,
      atLeast: 1 / 2,
    },
    {
      what: 'Peak memory of that `flow run`',
      measured: megabytes(peak),
      baseline: megabytes(maxBytes),
      ratio: peak / maxBytes,
      atMost: 1,
    },
  ]
}
