/** `npm run bench [-- --quick] [-- --only startup|import|csv|memory|flow|match|workbook|http|search|extraction|dashboard|postgres]`: ratios, side by side, in one run. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensure } from './ensure.js'
import { binary, root } from './run.js'

async function main(asked) {
  await ensure()
  // Only now is it certain that the packages the measurements use are installed.
  const [
    { startup },
    { http },
    { csv, memory },
    { flow },
    { match },
    { importCompanies },
    { workbook },
    { search },
    { extraction },
    { dashboard },
    { postgres },
    report,
    { askJson },
  ] = await Promise.all([
    import('./bench/startup.js'),
    import('./bench/http.js'),
    import('./bench/csv.js'),
    import('./bench/flow.js'),
    import('./bench/match.js'),
    import('./bench/import.js'),
    import('./bench/workbook.js'),
    import('./bench/search.js'),
    import('./bench/extraction.js'),
    import('./bench/dashboard.js'),
    import('./bench/postgres.js'),
    import('./bench/report.js'),
    import('./bench/measure.js'),
  ])
  const all = {
    import: importCompanies,
    startup,
    http,
    csv,
    memory,
    flow,
    match,
    workbook,
    search,
    extraction,
    dashboard,
    postgres,
  }
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
      // The import fills the catalogue that the others ask; PostgreSQL is asked from a home of its own.
      if (
        asked.only &&
        asked.only !== name &&
        (name !== 'import' || ['dashboard', 'match', 'postgres'].includes(asked.only))
      )
        continue
      process.stderr.write(`${name} …\n`)
      const made = await measure(place)
      // What follows may fail.
      process.stderr.write(`${report.table(made)}\n`)
      measurements.push(...made)
    }
    return finish(asked, measurements, report)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function finish(asked, measurements, { document, holds, table, update }) {
  const machine = `${availableParallelism()} cores, Node ${process.versions.node}.`
  const place = `${root}docs/performance.md`
  process.stdout.write(`${machine}\n\n${table(measurements)}\n`)
  if (!asked.quick && !asked.only) writeFileSync(place, document(measurements, machine))
  if (!asked.quick && asked.only) writeFileSync(place, update(readFileSync(place, 'utf8'), measurements))
  return measurements.every(holds) ? 0 : 1
}

try {
  const options = { quick: { type: 'boolean' }, only: { type: 'string' } }
  process.exitCode = await main(parseArgs({ options }).values)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
