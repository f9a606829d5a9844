/** Makes sure that what is installed matches the lockfile, and that what is built is newer than its sources. */
import { existsSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import load from '../bin/load.js'
import { isMain, npm, readJson, root, run } from './run.js'
import { continueOnSupportedNode } from './runtime.js'

const sources = [
  'src',
  'bin',
  'scripts/build.js',
  'scripts/build-program.js',
  'scripts/code-cache.js',
  'scripts/esbuild-plugins.js',
  'scripts/man.js',
  'scripts/packages.js',
  'scripts/places.js',
  'scripts/types.js',
  'scripts/types.json',
  'package.json',
  'package-lock.json',
]

/**
 * Continues on a supported Node, and installs and builds where that is needed; says so on stderr. Returns what it did.
 */
export async function ensure() {
  await continueOnSupportedNode()
  const installed = !isInstalled()
  if (installed) await must('Installing the packages of package-lock.json: npm ci', () => npm('ci'))
  const built = !(await isBuilt())
  if (built)
    await must('Building dist/', () => run(process.execPath, ['scripts/build.js'], { stdio: toStderr }))
  return { installed, built }
}

const toStderr = ['ignore', process.stderr, process.stderr]

async function must(title, work) {
  process.stderr.write(`${title}\n`)
  const code = await work()
  if (code !== 0) throw new Error(`${title}: ended with exit code ${code}`)
}

/** Whether `node_modules` holds exactly the versions of the lockfile (packages for other platforms may lack). */
function isInstalled() {
  const wanted = packagesOf('package-lock.json')
  const present = packagesOf('node_modules/.package-lock.json')
  if (!present) return false
  const same = (path) => present[path]?.version === wanted[path].version
  const missable = (path) => !present[path] && (wanted[path].optional || wanted[path].devOptional)
  return (
    Object.keys(wanted).every((path) => path === '' || same(path) || missable(path)) &&
    Object.keys(present).every((path) => path in wanted)
  )
}

function packagesOf(lockfile) {
  try {
    return readJson(lockfile).packages
  } catch {
    return undefined
  }
}

/** Whether everything in `dist` is at least as new as the newest source, with a code cache of this V8. */
async function isBuilt() {
  if (!existsSync(`${root}dist/${load.cacheName('main')}`)) return false
  const built = await times('dist')
  if (built.length === 0) return false
  const newest = Math.max(...(await Promise.all(sources.map(times))).flat())
  return Math.min(...built) >= newest
}

/** Times of last change of a file, or of every file below a folder; none when there is no such path. */
async function times(path) {
  const found = statSync(root + path, { throwIfNoEntry: false })
  if (!found) return []
  if (found.isFile()) return [found.mtimeMs]
  const entries = await readdir(root + path, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(files.map(async (file) => (await stat(`${file.parentPath}/${file.name}`)).mtimeMs))
}

if (isMain(import.meta.url)) {
  try {
    await ensure()
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
