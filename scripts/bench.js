/**
 * `npm run bench [-- --all] [-- --only batch] [-- --size 20m]`: what the program takes, each figure as a ratio to a stated limit. With `--all`
 * more of them, which are written to docs/performance.md. `--size` is how many companies of open data are imported.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensure } from './ensure.js'
import { binary, root } from './run.js'

/** What is measured, in this order: the import fills the catalogue that those behind it ask. */
const loaders = {
  import: async () => (await import('./bench/import.js')).importLists,
  startup: async () => (await import('./bench/startup.js')).startup,
  batch: async () => (await import('./bench/batch.js')).batch,
  http: async () => (await import('./bench/http.js')).http,
  postgres: async () => (await import('./bench/postgres.js')).postgres,
  search: async () => (await import('./bench/search.js')).search,
  open: async () => (await import('./bench/open-data.js')).openData,
  match: async () => (await import('./bench/match.js')).match,
  workbook: async () => (await import('./bench/workbook.js')).workbook,
  flow: async () => (await import('./bench/flow.js')).flow,
  dashboard: async () => (await import('./bench/dashboard.js')).dashboard,
}

const onlyWithAll = ['open', 'flow', 'dashboard']
const withoutCatalogue = ['postgres', 'search', 'open', 'match', 'dashboard']

/** Returns what to measure; what is asked for alone comes with the import that fills its catalogue. */
function chosen({ all, only }) {
  const names = Object.keys(loaders)
  if (only === undefined) return names.filter((name) => all || !onlyWithAll.includes(name))
  if (!names.includes(only)) throw new Error(`--only takes one of: ${names.join(', ')}`)
  return withoutCatalogue.includes(only) ? [only] : [...new Set(['import', only])]
}

/** Returns a number such as 20m, 500k or 1000000. */
function readSize(text = '1m') {
  const [, digits, unit = ''] = /^(\d+)([km]?)$/i.exec(text) ?? []
  if (digits === undefined) throw new Error('--size takes a number such as 20m')
  return Number(digits) * { '': 1, k: 1_000, m: 1_000_000 }[unit.toLowerCase()]
}

async function main({ all = false, only, size: sizeText }) {
  const size = readSize(sizeText)
  // A size is that of open data.
  const names = chosen({ all, only: only ?? (sizeText === undefined ? undefined : 'open') })
  await ensure()
  // Only now is it certain that the packages the measurements use are installed.
  const [{ document, holds, table }, { askJson }] = await Promise.all([
    import('./bench/report.js'),
    import('./bench/measure.js'),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'prospect-bench-'))
  try {
    const env = { ...process.env, PROSPECT_HOME: join(folder, 'home') }
    await askJson([binary, 'init', '--json'], env)
    await askJson([binary, 'engine', 'credits', 'set', '100000000', '--json'], env)
    const measurements = []
    for (const name of names) {
      process.stderr.write(`${name} …\n`)
      const measure = await loaders[name]()
      const made = await measure({ env, folder, all: all || only !== undefined, catalogue: 200_000, size })
      // What follows may fail.
      process.stderr.write(`${table(made)}\n`)
      measurements.push(...made)
    }
    const machine = `${availableParallelism()} cores, Node ${process.versions.node}.`
    process.stdout.write(`${machine}\n\n${table(measurements)}\n`)
    if (all && only === undefined && sizeText === undefined)
      writeFileSync(`${root}docs/performance.md`, document(measurements, machine))
    return measurements.every(holds) ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  const options = { all: { type: 'boolean' }, only: { type: 'string' }, size: { type: 'string' } }
  process.exitCode = await main(parseArgs({ options }).values)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
