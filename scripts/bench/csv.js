import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from '../run.js'
import { writeQuestions } from './data.js'
import { median, peakMemory, time } from './measure.js'

const passThrough = fileURLToPath(new URL('pass-through.js', import.meta.url))
const megabyte = 1_000_000

const enrich = (input, output, ...options) => [
  binary,
  'accounts',
  'enrich',
  '--csv',
  input,
  '-o',
  output,
  '--quiet',
  ...options,
]

/**
 * Rows per second of a batch, against parsing and writing its own output: same rows, same columns. The companies that were
 * found are asked about again, with all their answers in the store: what was not found is looked up each time.
 */
export async function csv({ env, quick, folder, catalogue }) {
  const rows = quick ? 20_000 : 200_000
  const names = ['asked.csv', 'found.csv', 'answered.csv', 'copied.csv']
  const [input, found, output, copy] = names.map((name) => join(folder, name))
  const known = rows * 0.9
  const times = { live: [], stored: [], pass: [] }
  for (let round = 0; round < 3; round++) {
    await writeQuestions(input, rows, { catalogue, known: 9, start: round })
    times.live.push(await time(enrich(input, output, '--refresh'), env))
    times.pass.push(await time([passThrough, output, copy], env))
    await writeQuestions(found, known, { catalogue, known: 10, start: round })
    times.stored.push(await time(enrich(found, output, '--fresh', '--max-age', '90d'), env))
  }
  const rate = (list) => ((list === times.stored ? known : rows) / median(list)) * 1000
  const perSecond = (list) => `${Math.round(rate(list)).toLocaleString('en')} rows/s`
  const many = rows.toLocaleString('en')
  const measurement = (what, list, atLeast) => ({
    what,
    measured: perSecond(list),
    baseline: `csv-parse to csv-stringify over its output: ${perSecond(times.pass)}`,
    ratio: rate(list) / rate(times.pass),
    // A start takes as long as many rows: only a long file tells how fast rows are.
    ...(quick ? {} : { atLeast }),
  })
  const fresh = `\`accounts enrich --csv\`, ${many} rows, catalogue of ${catalogue.toLocaleString('en')} companies`
  return [
    measurement(fresh, times.live, 1 / 3),
    measurement('the companies that were found again, all their answers in the store', times.stored, 1 / 2),
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
