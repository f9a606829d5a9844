/**
 * The Node that the project runs on. Where the machine's own is too old, Node 24 is downloaded from the npm registry
 * into `.node/` of the clone, and scripts continue on it. `node scripts/runtime.js [MAJOR]` prints its `bin` folder.
 */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import runtime from '../bin/runtime.js'
import { isMain, quietNpm, readJson, root, run } from './run.js'

const programName = process.platform === 'win32' ? 'node.exe' : 'node'
const folder = join(root, '.node')

/** Returns whether this process runs on a supported Node. */
export const isSupportedNode = () =>
  runtime.isSupported(process.versions.node, readJson('package.json').engines.node)

/**
 * Returns the path of a Node of a major version: the one that runs this, else one from the registry, which is kept in
 * the clone. Throws when it cannot be had.
 */
export async function nodeOf(major) {
  if (isSupportedNode() && process.versions.node.startsWith(`${major}.`)) return process.execPath
  const pinned = pinnedRuntime(major, platform())
  if (!pinned)
    throw new Error(
      `There is no Node ${major} to download for ${platform()}: install Node ${engines()}, and run this again`,
    )
  const place = major === '24' ? folder : join(folder, major)
  await ensureAt(pinned, place)
  return join(place, 'bin', programName)
}

/** Returns the folder of a Node of a major version for any platform, which is kept in the clone. Throws when it cannot be had. */
export async function runtimeFor(major, platform) {
  const place = join(folder, `${major}-${platform}`)
  await ensureAt(pinnedRuntime(major, platform), place)
  return place
}

/** Returns the package of a Node in the registry; `undefined` where there is none. */
export const pinnedRuntime = (major, platform) => readJson('scripts/runtimes.json')[major]?.[platform]

async function ensureAt(pinned, place) {
  const isThere = ['node', 'node.exe'].some((name) => existsSync(join(place, 'bin', name)))
  if (!isThere || versionAt(place) !== pinned.version) await download(pinned, place)
}

const engines = () => runtime.formatRange(readJson('package.json').engines.node)

/** The platform as `runtimes.json` names it; the programs of the registry need glibc on Linux. */
function platform() {
  const isMusl = process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime
  return `${process.platform}${isMusl ? '-musl' : ''}-${process.arch}`
}

/** The version of the package in a folder; `undefined` when there is none, or an interrupted download. */
function versionAt(place) {
  try {
    return readJson(join(place, 'package.json')).version
  } catch {
    return undefined
  }
}

/** Downloads a Node and puts it in place. */
async function download(pinned, place) {
  process.stderr.write(`Downloading Node ${pinned.version} into .node/ of this folder\n`)
  mkdirSync(folder, { recursive: true })
  const partial = mkdtempSync(join(folder, 'partial-'))
  try {
    install(await fetchPackage(pinned, partial), place)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

/**
 * Fetches a package of the registry into an empty folder, checks it against its pinned hash, and unpacks it. Returns
 * the folder of its files. Throws when one of these fails.
 */
export async function fetchPackage({ name, version, integrity }, to) {
  // A dry run of the npm that started this would fetch nothing.
  const options = ['--prefer-offline', '--no-dry-run', '--pack-destination', to]
  const packed = await quietNpm('pack', `${name}@${version}`, ...options)
  const [file] = readdirSync(to)
  if (packed !== 0 || file === undefined) throw new Error(`${name} ${version} could not be downloaded`)
  const hash = createHash('sha512')
    .update(readFileSync(join(to, file)))
    .digest('base64')
  if (`sha512-${hash}` !== integrity)
    throw new Error(
      `The download of ${name} ${version} is damaged: its hash is not the one in scripts/runtimes.json`,
    )
  if ((await run('tar', ['-xzf', join(to, file), '-C', to])) !== 0)
    throw new Error(`The download of ${name} ${version} could not be unpacked`)
  return join(to, 'package')
}

/**
 * Moves what a Node needs to run into place, file by file, because two processes may do this at once. Its package.json
 * comes last: it says that the program is there.
 */
function install(from, to) {
  mkdirSync(join(to, 'bin'), { recursive: true })
  const files = [join('bin', 'node'), join('bin', 'node.exe'), 'LICENSE', 'package.json']
  for (const file of files.filter((each) => existsSync(join(from, each))))
    renameSync(join(from, file), join(to, file))
}

/** The environment with the `bin` folder of a Node first on the path, so that what it starts finds it, too. */
export const withNode = (node) => ({
  ...process.env,
  PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
})

/** Continues this script on a supported Node if this one is too old. This process then ends with the other. */
export async function continueOnSupportedNode() {
  const isContinued = process.env[runtime.parentPipe] !== undefined
  // Programs that the script starts have no such pipe.
  delete process.env[runtime.parentPipe]
  if (isSupportedNode()) return
  if (isContinued)
    throw new Error(`Node ${process.versions.node} in .node/ is too old: prospect needs Node ${engines()}`)
  const node = await nodeOf('24')
  runtime.relaunch(node, process.argv.slice(1), withNode(node))
  await new Promise(() => {})
}

if (isMain(import.meta.url)) {
  try {
    const asked = process.argv[2]
    const node = asked === undefined && isSupportedNode() ? process.execPath : await nodeOf(asked ?? '24')
    process.stdout.write(`${dirname(node)}\n`)
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
