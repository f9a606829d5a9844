#!/usr/bin/env node
const { existsSync, readFileSync } = require('fs')
const { join } = require('path')
const {
  downloadedNode,
  endWithParent,
  formatRange,
  isSupported,
  parentPipe,
  relaunch,
} = require('./runtime.js')

const root = join(__dirname, '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
// The loaded program has its own.
let escapeControls = (text) => text

if (!isSupported(process.versions.node, manifest.engines.node)) useSupportedNode()
else if (['--version', '-V'].includes(process.argv[2])) printVersion()
else start(process.argv.slice(2))

/** Runs the program with the Node that the clone has downloaded; without one, says which Node is needed. */
function useSupportedNode() {
  const node = downloadedNode(root)
  // A downloaded Node that is too old itself must not look for another one.
  if (node && !process.env[parentPipe]) return relaunch(node, [__filename].concat(process.argv.slice(2)))
  const isClone = existsSync(join(root, 'scripts', 'quickstart.js'))
  const advice = isClone
    ? 'run npm run quickstart, which downloads one into this folder'
    : 'install a newer Node'
  const needed = formatRange(manifest.engines.node)
  process.stderr.write(
    `prospect needs Node ${needed}, and this is Node ${process.versions.node}: ${advice}.\n`,
  )
  process.exitCode = 2
}

function printVersion() {
  process.stderr.on('error', () => {})
  process.stdout.on('error', (error) => {
    if (error.code === 'EPIPE') return
    process.stderr.write(`The output cannot be written: ${error.code}.\n`)
    process.exitCode = 10
  })
  const { how, folder } = installation()
  process.stdout.write(`${manifest.version}\nInstalled ${how}, in ${folder}\n`)
}

/** How the program was installed, which few commands ask. */
function installation() {
  return require('./installation.js').installationOf(root)
}

async function start(argv) {
  process.umask(0o077)
  // Of parts of packages, such as the driver's reading of the file that PGPASSFILE names: stderr is for messages of this program.
  process.noDeprecation = true
  process.on('uncaughtException', giveUp)
  // Nothing is left to do then. Without this, Node takes its memory apart first, which takes milliseconds.
  process.on('beforeExit', () => process.exit())
  if (process.env[parentPipe]) endWithParent()
  try {
    const program = require('./load.js').load(join(root, 'dist'))
    escapeControls = program.escapeControls
    process.exitCode = await program.main(argv, outsideWorld(program))
  } catch (error) {
    giveUp(error)
  }
}

/** What the program sees of its surroundings. Few commands read stdin, and its stream takes a while to make. */
function outsideWorld({ outputOf }) {
  const { env } = process
  const stdout = outputOf(1, () => process.stdout)
  const stderr = outputOf(2, () => process.stderr)
  const stdin = { get: () => process.stdin, enumerable: true }
  const uptime = () => performance.now()
  const world = { stdout, stderr, env, cwd: process.cwd(), signals: process, uptime, installation }
  return Object.defineProperty(world, 'stdin', stdin)
}

/** Reports what the program itself could not catch: one sentence, never a stack trace. */
function giveUp(error) {
  const isUnbuilt = error && error.code === 'ENOENT' && String(error.path).endsWith('main.cjs')
  const isAway = error && error.code === 'ENOENT' && error.syscall === 'uv_cwd'
  const text = isUnbuilt
    ? 'prospect is not built yet. Run: npm run build'
    : isAway
      ? 'The folder that this command was started in is no longer there. Change to another one.'
      : `This is a bug in prospect: ${error && error.message}. Please report it on the issues page of its repository.`
  process.stderr.write(
    `${escapeControls(text)
      .split(process.env.PROSPECT_API_KEY || '\0')
      .join('[key]')}\n`,
  )
  process.exit(isAway ? 2 : 1)
}
