import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from '../run.js'
import { writeQuestions } from './data.js'
import { median, peakMemory, time } from './measure.js'

const passThrough = fileURLToPath(new URL('pass-through.js', import.meta.url))
const megabyte = 1_000_000

const enrich = (input, output) => [binary, 'accounts', 'enrich', '--csv', input, '-o', output, '--quiet']

/** Rows per second of a batch, against parsing and writing its own output: same rows, same columns. */
export async function csv({ env, quick, folder, catalogue }) {
  const rows = quick ? 20_000 : 200_000
  const [input, output, copy] = ['asked.csv', 'answered.csv', 'copied.csv'].map((name) => join(folder, name))
  const times = { ours: [], pass: [] }
  for (let round = 0; round < 3; round++) {
    await writeQuestions(input, rows, { catalogue, known: 9, start: round })
    times.ours.push(await time(enrich(input, output), env))
    times.pass.push(await time([passThrough, output, copy], env))
  }
  const rate = (list) => (rows / median(list)) * 1000
  return [
    {
      what: `\`accounts enrich --csv\`, ${rows.toLocaleString('en')} rows, catalogue of ${catalogue.toLocaleString('en')} companies`,
      measured: `${Math.round(rate(times.ours)).toLocaleString('en')} rows/s`,
      baseline: `csv-parse to csv-stringify over its output: ${Math.round(rate(times.pass)).toLocaleString('en')} rows/s`,
      ratio: rate(times.ours) / rate(times.pass),
      atLeast: 1 / 3,
    },
  ]
}

/** Peak memory of a batch, at a size and at ten times that size. */
export async function memory({ env, quick, folder, catalogue }) {
  const small = quick ? 20_000 : 100_000
  const peaks = []
  for (const rows of [small, small * 10]) {
    const input = join(folder, `asked-${rows}.csv`)
    const output = join(folder, `answered-${rows}.csv`)
    await writeQuestions(input, rows, { catalogue, known: 2 })
    peaks.push(await peakMemory(enrich(input, output), env))
    rmSync(input)
    rmSync(output)
  }
  const [one, ten] = peaks
  const label = (rows) => `${rows.toLocaleString('en')} rows`
  const inMegabytes = (bytes) => `${(bytes / megabyte).toFixed(0)} MB`
  return [
    {
      what: `peak memory of \`accounts enrich --csv\` at ${label(small * 10)}`,
      measured: inMegabytes(ten),
      baseline: `at ${label(small)}: ${inMegabytes(one)}`,
      ratio: ten / one,
      atMost: 1.2,
    },
    {
      what: `the same, against 250 MB`,
      measured: inMegabytes(ten),
      baseline: '250 MB',
      ratio: ten / (250 * megabyte),
      atMost: 1,
    },
  ]
}
