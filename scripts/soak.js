/** `npm run soak [-- FILE…]`: the long tests of what must never be lost, and a table of what was tried. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensure } from './ensure.js'
import { runPackage } from './run.js'

/** The reports of the parts, as a table in Markdown, by promise. */
function table(reports) {
  const byPromise = [...reports].sort((one, other) => one.promise.localeCompare(other.promise))
  const rows = byPromise.map(({ promise, title, tried, notRun, measured = '–', seconds }) => [
    promise,
    title,
    tried ?? `not run: ${notRun}`,
    measured,
    seconds,
  ])
  const head = ['Promise', 'What holds', 'Tried', 'Measured', 'Seconds']
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

async function main() {
  await ensure()
  const folder = mkdtempSync(join(tmpdir(), 'prospect-soak-'))
  try {
    const file = join(folder, 'findings')
    const args = ['run', '--config', 'test/soak/vitest.config.ts', ...process.argv.slice(2)]
    const env = { ...process.env, PROSPECT_SOAK_FINDINGS: file }
    const code = await runPackage('vitest/vitest.mjs', args, { env })
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    const reports = lines.map((line) => JSON.parse(line))
    const notRun = reports.filter(({ tried }) => tried === undefined).length
    process.stdout.write(
      `\n${table(reports)}\n\n${reports.length - notRun} parts were tried, ${notRun} not run.\n`,
    )
    if (code !== 0)
      process.stdout.write('Some of it failed: see above. What failed lost something, or its limit.\n')
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
