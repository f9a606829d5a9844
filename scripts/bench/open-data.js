import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { binary, root } from '../run.js'
import { askJson, grouped, median, megabytes, perSecond, timeAndPeak } from './measure.js'
import { openCompany, openQuestions, writeOpenData } from './open-rows.js'

const lookups = 200

/** How open data of so many companies is imported, how much room it takes, and how fast it answers. */
export async function openData({ env, folder, size }) {
  const file = join(folder, 'open-data.csv')
  const home = { ...env, PROSPECT_HOME: join(folder, 'open-home') }
  await writeOpenData(file, size)
  await askJson([binary, 'init', '--own-data', '--json'], home)
  const { ms, peak } = await timeAndPeak([binary, 'data', 'import', 'companies', file], home)
  rmSync(file)
  const catalogue = join(home.PROSPECT_HOME, 'catalogue.db')
  const bytes = statSync(catalogue).size / size
  const rate = (size * 1_000) / ms
  const of = `${grouped(size)} companies of open data`
  const figures = [
    {
      what: `\`data import companies\`, ${of}`,
      measured: perSecond(rate, 'rows'),
      baseline: perSecond(20_000, 'rows'),
      ratio: rate / 20_000,
      atLeast: 1,
    },
    figure(`Peak memory of that import`, peak, 500e6, megabytes),
    figure(`Room on disk, ${of}`, bytes, 600, (count) => `${Math.round(count)} bytes each`),
  ]
  try {
    return [...figures, ...(await ask(catalogue, size))]
  } finally {
    rmSync(home.PROSPECT_HOME, { recursive: true })
  }
}

const figure = (what, value, limit, show) => ({
  what,
  measured: show(value),
  baseline: show(limit),
  ratio: value / limit,
  atMost: 1,
})

async function ask(catalogue, size) {
  const { openEngine } = await import(pathToFileURL(join(root, 'dist', 'index.js')).href)
  let now = Date.parse('2026-03-10T12:00:00Z')
  const opened = await openEngine({ engine: ':memory:', catalogue, clock: { now: () => now } })
  const { key } = await opened.admin.init()
  await opened.admin.setPlan('Scale')
  const timed = async (operation, input) => {
    now += 1_000
    const began = performance.now()
    const { status, body } = await opened.caller.call(operation, input, { apiKey: key })
    const ms = performance.now() - began
    if (status !== 200) throw new Error(`${JSON.stringify(input)}: ${JSON.stringify(body)}`)
    return ms
  }
  try {
    const companies = Array.from({ length: lookups }, (_, at) =>
      openCompany(Math.floor((at * size) / lookups)),
    )
    const byDomain = []
    for (const { domain } of companies) if (domain) byDomain.push(await timed('accounts.enrich', { domain }))
    const previews = []
    for (const question of openQuestions) previews.push(await timed('accounts.search_preview', question))
    const ms = (value) => `${value.toFixed(1)} ms`
    const sorted = [...previews].sort((one, other) => one - other)
    const what = `Preview among ${grouped(size)} companies, two filters and a keyword`
    return [
      figure(`Lookup by domain among ${grouped(size)} companies: median`, median(byDomain), 5, ms),
      figure(`${what}: median`, median(previews), 100, ms),
      figure(`${what}: 95th percentile`, sorted[Math.ceil(sorted.length * 0.95) - 1], 300, ms),
    ]
  } finally {
    await opened.close()
  }
}
