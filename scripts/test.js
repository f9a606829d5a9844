/**
 * `npm test`: installs and builds when needed, runs the tests, and closes with `N passed, N failed`.
 * `npm run watch`: runs them again whenever a file they use changes.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensure } from './ensure.js'
import { runPackage } from './run.js'

/** Counts of a report: a file that could not be loaded is a failure too, though it holds no test. */
function count(report) {
  const tests = report.testResults.flatMap((file) => file.assertionResults)
  const failed = tests.filter((test) => test.status === 'failed').length
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  )
  return { passed: tests.filter((test) => test.status === 'passed').length, failed: failed + broken.length }
}

async function main() {
  await ensure()
  const [first, ...rest] = process.argv.slice(2)
  if (first === '--watch') return runPackage('vitest/vitest.mjs', ['watch', ...rest])
  const folder = mkdtempSync(join(tmpdir(), 'prospect-tests-'))
  try {
    const file = join(folder, 'report.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    const code = await runPackage('vitest/vitest.mjs', ['run', ...reporters, ...process.argv.slice(2)])
    const { passed, failed } = count(JSON.parse(readFileSync(file, 'utf8')))
    if (code !== 0 && failed === 0) process.stdout.write('An error outside the tests: see above.\n')
    process.stdout.write(`\n${passed} passed, ${failed || (code === 0 ? 0 : 1)} failed\n`)
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
