import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../run.js'
import { writeQuestions } from './data.js'
import { peakMemory, time } from './measure.js'

const lookups = ['accounts enrich', 'accounts stack']

/** Rows per second of a flow of four steps, against the slowest of them as a batch of its own, and its peak memory. */
export async function flow({ env, quick, folder, catalogue }) {
  const rows = quick ? 10_000 : 100_000
  const [input, output, file] = ['asked.csv', 'answered.csv', 'flow.yaml'].map((name) => join(folder, name))
  await writeQuestions(input, rows, { catalogue, known: 9 })
  const alone = {}
  for (const lookup of lookups) {
    const args = [binary, ...lookup.split(' '), '--csv', input, '-o', output, '--quiet', '--yes']
    alone[lookup] = (rows * 1_000) / (await time([...args, '--fail-on', 'none'], env))
  }
  const run = (name) => {
    writeFileSync(
      file,
      `name: ${name}
input: { csv: asked.csv }
steps:
  - accounts.enrich
  - keep: headcount >= 51
  - accounts.stack
  - keep: country != "BR"
output: { csv: flow.csv }
`,
    )
    return [binary, 'flow', 'run', file, '--quiet', '--yes']
  }
  // Other answers would be reused.
  await writeQuestions(input, rows, { catalogue, known: 9, start: 7 })
  const took = await time(run('timed'), env)
  const peak = await peakMemory(run('measured'), env)
  for (const path of [input, output, file]) rmSync(path)
  const [slowest, slowestRate] = Object.entries(alone).sort(([, one], [, other]) => one - other)[0]
  const rate = (rows * 1_000) / took
  const perSecond = (value) => `${Math.round(value).toLocaleString('en')} rows/s`
  return [
    {
      what: `\`flow run\` of four steps, ${rows.toLocaleString('en')} companies`,
      measured: perSecond(rate),
      baseline: `its slowest step alone, \`${slowest}\`: ${perSecond(slowestRate)}`,
      ratio: rate / slowestRate,
      ...(quick ? {} : { atLeast: 1 / 2 }),
    },
    {
      what: 'peak memory of that `flow run`',
      measured: `${(peak / 1e6).toFixed(0)} MB`,
      baseline: '300 MB',
      ratio: peak / 300e6,
      atMost: 1,
    },
  ]
}
