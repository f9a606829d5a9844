/**
 * The Node that the project runs on. Where the machine's own is too old, Node 24 is downloaded from the npm registry
 * into `.node/` of the clone, and scripts continue on it. `node scripts/runtime.js [MAJOR]` prints its `bin` folder.
 */

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import runtime from '../bin/runtime.js'
import { isMain, npm, readJson, root, run } from './run.js'

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
  const pinned = readJson('scripts/runtimes.json')[major]?.[`${process.platform}-${process.arch}`]
  if (!pinned)
    throw new Error(
      `There is no Node ${major} to download for ${process.platform}-${process.arch}. Install one, and run this again`,
    )
  const place = major === '24' ? folder : join(folder, major)
  const program = join(place, 'bin', programName)
  if (!existsSync(program) || readJson(`${place}/package.json`).version !== pinned.version)
    await download(pinned, place)
  return program
}

/** Fetches a package, checks it against its pinned hash, and puts it in place whole. */
async function download({ name, version, integrity }, place) {
  process.stderr.write(`Downloading Node ${version} into .node/ of this folder\n`)
  mkdirSync(folder, { recursive: true })
  const partial = mkdtempSync(join(folder, 'partial-'))
  try {
    const packed = await npm(
      'pack',
      `${name}@${version}`,
      '--pack-destination',
      partial,
      '--silent',
      '--prefer-offline',
    )
    const [file] = readdirSync(partial)
    if (packed !== 0 || file === undefined)
      throw new Error(`Node ${version} could not be downloaded (npm pack ${name}@${version})`)
    const hash = createHash('sha512')
      .update(readFileSync(join(partial, file)))
      .digest('base64')
    if (`sha512-${hash}` !== integrity)
      throw new Error(
        `The download of Node ${version} is damaged: its hash is not the one in scripts/runtimes.json`,
      )
    if ((await run('tar', ['-xzf', join(partial, file), '-C', partial])) !== 0)
      throw new Error(`The download of Node ${version} could not be unpacked`)
    install(join(partial, 'package'), place)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

/** Moves what a package of Node needs to run; two processes may do this at once. */
function install(from, to) {
  mkdirSync(to, { recursive: true })
  for (const part of ['bin', 'LICENSE', 'package.json']) {
    rmSync(join(to, part), { recursive: true, force: true })
    renameSync(join(from, part), join(to, part))
  }
}

/** The environment with the `bin` folder of a Node first on the path, so that what it starts finds it, too. */
export const withNode = (node) => ({
  ...process.env,
  PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
})

/** Continues this script on a supported Node if this one is too old, and ends the process with its exit code. */
export async function continueOnSupportedNode() {
  if (isSupportedNode()) return
  const node = await nodeOf('24')
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit', env: withNode(node) })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // A terminal sends Ctrl-C to the child itself.
  process.on('SIGINT', () => {})
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (ended, signal) => resolve(ended ?? 128 + constants.signals[signal]))
  })
  process.exit(code)
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
