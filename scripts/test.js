/**
 * `npm test`: installs and builds when needed, runs the tests, and closes with `N passed, N failed`. With `--long`, tests
 * repeat more often what they try at random, and the longest are not skipped.
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
  const given = process.argv.slice(2)
  const args = given.filter((word) => word !== '--watch' && word !== '--long')
  const env = { ...process.env, ...(given.includes('--long') ? { PROSPECT_TEST_EFFORT: 'long' } : {}) }
  if (given.includes('--watch')) return runPackage('vitest/vitest.mjs', ['watch', ...args], { env })
  const folder = mkdtempSync(join(tmpdir(), 'prospect-tests-'))
  try {
    const file = join(folder, 'report.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    const code = await runPackage('vitest/vitest.mjs', ['run', ...reporters, ...args], { env })
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
