/**
 * `npm run smoke [-- --tarball FILE]`: packs the package, unless it is given, installs it with npm 12 on each supported
 * Node as a user does, and uses it there.
 * Everything happens in a temporary folder. The downloads are those of the registry, kept in the cache of npm.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ensure } from './ensure.js'
import { quietNpm, readJson } from './run.js'
import { fetchPackage, nodeOf } from './runtime.js'
import { checks } from './smoke/checks.js'
import { install } from './smoke/install.js'
import { killAll } from './smoke/machine.js'

const majors = ['22', '24', '26']

const seconds = (since) => `${((performance.now() - since) / 1_000).toFixed(1)} s`
const say = (text) => process.stdout.write(`${text}\n`)

async function main(folder) {
  const began = performance.now()
  await ensure()
  const { tarball: given } = parseArgs({ options: { tarball: { type: 'string' } } }).values
  const tarball = given ? resolve(given) : await pack(join(folder, 'package'))
  if (!given) say(`Packed: ${seconds(began)}`)
  const npm = join(
    await fetchPackage(readJson('scripts/runtimes.json').npm, emptyFolder(folder, 'npm')),
    'bin/npm-cli.js',
  )
  for (const major of majors)
    await smoke(await nodeOf(major), { npm, tarball, folder: emptyFolder(folder, major) })
  say(`Everything works on Node ${majors.join(', ')}: ${seconds(began)}`)
}

/** Makes the tarball, with a code cache for each supported Node. */
async function pack(to) {
  mkdirSync(to)
  const code = await quietNpm('pack', '--pack-destination', to)
  const [file] = readdirSync(to)
  if (code !== 0 || file === undefined) throw new Error('The package could not be packed: npm pack')
  return join(to, file)
}

/** Installs the package with one Node, and runs every check there. */
async function smoke(node, { npm, tarball, folder }) {
  let began = performance.now()
  const machine = await install(node, { npm, tarball, folder })
  say(`Node ${machine.version}: installed in ${seconds(began)}`)
  for (const [name, check] of Object.entries(checks)) {
    began = performance.now()
    try {
      await check(machine)
    } catch (error) {
      throw new Error(`Node ${machine.version}, ${name}: ${error.message}`)
    }
    say(`  ${name}: ${seconds(began)}`)
  }
}

function emptyFolder(...parts) {
  const path = join(...parts)
  mkdirSync(path)
  return path
}

const folder = mkdtempSync(join(tmpdir(), 'prospect-smoke-'))
function cleanUp() {
  killAll()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => {
    cleanUp()
    process.exit(128 + constants.signals[signal])
  })
try {
  await main(folder)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  cleanUp()
}
