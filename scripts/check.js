/** `npm run check`: runs every check below, or those that are named (`npm run check types lint`); fails when one does. */
import { ensure } from './ensure.js'
import { runPackage } from './run.js'

/** What the check of the types keeps for its next run. */
const typesKept = 'node_modules/.cache/types.tsbuildinfo'

const checks = {
  types: async () =>
    (await runPackage('typescript/bin/tsc', ['-p', '.', '--incremental', '--tsBuildInfoFile', typesKept])) ||
    runPackage('typescript/bin/tsc', ['-p', 'src/dashboard/browser']),
  lint: () => runPackage('@biomejs/biome/bin/biome', ['check', '--error-on-warnings']),
  documents: async () => tell(await (await import('./check/documents.js')).documentProblems()),
  lockfile: async () => tell((await import('./check/lockfile.js')).lockfileProblems()),
}

/** Prints problems; 1 when there are some. */
function tell(problems) {
  for (const problem of problems) process.stdout.write(`${problem}\n`)
  return problems.length > 0 ? 1 : 0
}

try {
  await ensure()
  const chosen = process.argv.slice(2)
  for (const [name, check] of Object.entries(checks)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    const code = await check()
    process.stdout.write(`${name}: ${code === 0 ? 'in order' : 'not in order'}\n`)
    if (code !== 0) process.exitCode = 1
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
