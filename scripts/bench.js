/** `npm run bench [-- --quick] [-- --only startup|import|csv|memory|http|search|extraction]`: ratios, side by side, in one run. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensure } from './ensure.js'
import { binary, root } from './run.js'

const { values: asked } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string' } } })

async function main() {
  await ensure()
  // Only now is it certain that the packages the measurements use are installed.
  const [
    { startup },
    { http },
    { csv, memory },
    { importCompanies },
    { search },
    { extraction },
    report,
    { askJson },
  ] = await Promise.all([
    import('./bench/startup.js'),
    import('./bench/http.js'),
    import('./bench/csv.js'),
    import('./bench/import.js'),
    import('./bench/search.js'),
    import('./bench/extraction.js'),
    import('./bench/report.js'),
    import('./bench/measure.js'),
  ])
  const all = { import: importCompanies, startup, http, csv, memory, search, extraction }
  if (asked.only && !(asked.only in all))
    throw new Error(`--only takes one of: ${Object.keys(all).join(', ')}`)
  const folder = mkdtempSync(join(tmpdir(), 'prospect-bench-'))
  try {
    const env = { ...process.env, PROSPECT_HOME: join(folder, 'home') }
    const place = { env, folder, quick: asked.quick ?? false, catalogue: asked.quick ? 20_000 : 200_000 }
    await askJson([binary, 'init', '--json'], env)
    await askJson([binary, 'engine', 'credits', 'set', '100000000', '--json'], env)
    const measurements = []
    for (const [name, measure] of Object.entries(all)) {
      // The import fills the catalogue that the others ask.
      if (asked.only && asked.only !== name && name !== 'import') continue
      process.stderr.write(`${name} …\n`)
      measurements.push(...(await measure(place)))
    }
    return finish(measurements, report)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function finish(measurements, { document, holds, table }) {
  const machine = `${availableParallelism()} cores, Node ${process.versions.node}.`
  process.stdout.write(`${machine}\n\n${table(measurements)}\n`)
  if (!asked.quick && !asked.only)
    writeFileSync(`${root}docs/performance.md`, document(measurements, machine))
  return measurements.every(holds) ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
