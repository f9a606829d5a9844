import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from '../run.js'
import { writeQuestions } from './data.js'
import { askJson, grouped, median, megabytes, perSecond, time, timeAndPeak } from './measure.js'
import { startServer } from './server.js'

const passThrough = fileURLToPath(new URL('pass-through.js', import.meta.url))
const maxBytes = 250e6

const enrich = (input, output, ...options) => [
  ...[binary, 'accounts', 'enrich', '--csv', input, '-o', output, '--quiet'],
  ...options,
]

/**
 * Rows per second of a batch, against parsing and writing its own output: same rows, same columns. Then its memory, and its
 * rows per second at a server of another process.
 */
export async function batch(place) {
  const { env, folder, catalogue, all } = place
  const [rows, rounds] = [200_000, all ? 3 : 1]
  const [input, output, copy] = ['asked.csv', 'answered.csv', 'copied.csv'].map((name) => join(folder, name))
  const times = { ours: [], stored: [], pass: [] }
  const known = rows * 0.9
  let peak = 0
  for (let round = 0; round < rounds; round++) {
    await writeQuestions(input, rows, { catalogue, known: 9, start: round })
    const ours = await timeAndPeak(enrich(input, output, '--refresh'), env)
    times.ours.push(ours.ms)
    peak = Math.max(peak, ours.peak)
    times.pass.push(await time([passThrough, output, copy], env))
    if (!all) continue
    await writeQuestions(input, known, { catalogue, known: 10, start: round })
    times.stored.push(await time(enrich(input, output, '--fresh', '--max-age', '90d'), env))
  }
  for (const file of [input, output, copy]) rmSync(file)
  const pass = (rows * 1_000) / median(times.pass)
  const figure = (what, count, list, atLeast) => {
    const rate = (count * 1_000) / median(list)
    return {
      what,
      measured: perSecond(rate, 'rows'),
      baseline: `csv-parse to csv-stringify over its output: ${perSecond(pass, 'rows')}`,
      ratio: rate / pass,
      atLeast,
    }
  }
  const asked = `\`accounts enrich --csv\`, ${grouped(rows)} rows, catalogue of ${grouped(catalogue)} companies`
  return [
    figure(asked, rows, times.ours, 1 / 3),
    // The companies that were found, with all their answers in the store: what was not found is looked up each time.
    ...(all
      ? [figure('The companies that were found again, answered by the store', known, times.stored, 1 / 2)]
      : []),
    peakFigure(rows, peak),
    ...(all ? await memory(place) : []),
    await remote(place),
  ]
}

const peakFigure = (rows, peak) => ({
  what: `Peak memory of \`accounts enrich --csv\` at ${grouped(rows)} rows`,
  measured: megabytes(peak),
  baseline: megabytes(maxBytes),
  ratio: peak / maxBytes,
  atMost: 1,
})

/** Peak memory of a large batch, and against that of a tenth of it. */
async function memory({ env, folder, catalogue }) {
  const rows = 1_000_000
  const [input, output] = ['asked.csv', 'answered.csv'].map((name) => join(folder, name))
  const peakAt = async (count) => {
    await writeQuestions(input, count, { catalogue, known: 2 })
    const { peak } = await timeAndPeak(enrich(input, output), env)
    for (const file of [input, output]) rmSync(file)
    return peak
  }
  const tenth = await peakAt(rows / 10)
  const peak = await peakAt(rows)
  const figure = peakFigure(rows, peak)
  const baseline = `at ${grouped(rows / 10)} rows: ${megabytes(tenth)}`
  return [figure, { ...figure, baseline, ratio: peak / tenth, atMost: 1.2 }]
}

/** Rows per second of a batch whose lookups are requests to `prospect serve` on this machine, against the same batch without. */
async function remote({ env, folder, catalogue }) {
  const rows = 20_000
  const [input, output] = ['asked.csv', 'answered.csv'].map((name) => join(folder, name))
  const { member } = await askJson([binary, 'init', '--json'], env)
  const { key } = await askJson([binary, 'engine', 'keys', 'create', '--member', member, '--json'], env)
  const server = await startServer([binary, 'serve', '--port', '0', '--json', '--quiet'], env)
  try {
    await writeQuestions(input, rows, { catalogue, known: 9 })
    const away = {
      ...process.env,
      PROSPECT_HOME: join(folder, 'remote-home'),
      PROSPECT_BASE_URL: JSON.parse(server.line).base_url,
      PROSPECT_API_KEY: key,
    }
    const there = (rows * 1_000) / (await time(enrich(input, output, '--refresh', '--yes'), away))
    const here = (rows * 1_000) / (await time(enrich(input, output, '--refresh', '--yes'), env))
    return {
      what: `\`accounts enrich --csv\` at \`prospect serve\`, ${grouped(rows)} rows, a request each`,
      measured: perSecond(there, 'rows'),
      baseline: `the same rows without a server: ${perSecond(here, 'rows')}`,
      ratio: there / here,
      atLeast: 0.2,
    }
  } finally {
    await server.stop()
  }
}
