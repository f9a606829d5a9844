#!/usr/bin/env node
const { readFileSync } = require('fs')
const { join } = require('path')
const { downloadedNode, endWithParent, isSupported, parentPipe, relaunch } = require('./runtime.js')

const root = join(__dirname, '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

if (!isSupported(process.versions.node, manifest.engines.node)) useSupportedNode()
else if (['--version', '-V'].includes(process.argv[2])) process.stdout.write(`${manifest.version}\n`)
else start(process.argv.slice(2))

/** Runs the program with the Node that the clone has downloaded; without one, says which Node is needed. */
function useSupportedNode() {
  const node = downloadedNode(root)
  if (node) return relaunch(node, [__filename].concat(process.argv.slice(2)))
  const isClone = require('fs').existsSync(join(root, 'scripts', 'quickstart.js'))
  const advice = isClone
    ? 'Run: npm run quickstart (it downloads one into this folder)'
    : 'Install a newer Node'
  const versions = manifest.engines.node.replace(/[\^]|>=|\.0\.0/g, '').replace(/ \|\| (\S+)$/, ' or $1')
  process.stderr.write(
    `prospect needs Node ${versions.replace(' || ', ', ')} or newer; this is ${process.versions.node}. ${advice}.\n`,
  )
  process.exitCode = 2
}

async function start(argv) {
  process.umask(0o077)
  process.on('uncaughtException', giveUp)
  if (process.env[parentPipe]) endWithParent()
  try {
    const { main } = require('./load.js').load(join(root, 'dist'))
    const { stdin, stdout, stderr, env } = process
    process.exitCode = await main(argv, { stdin, stdout, stderr, env, cwd: process.cwd(), signals: process })
  } catch (error) {
    giveUp(error)
  }
}

/** Reports what the program itself could not catch: one sentence, never a stack trace. */
function giveUp(error) {
  const isUnbuilt = error && error.code === 'ENOENT' && String(error.path).endsWith('main.cjs')
  const text = isUnbuilt
    ? 'prospect is not built yet. Run: npm run build'
    : `This is a bug in prospect: ${error && error.message}. Please report it on the issues page of its repository.`
  process.stderr.write(`${text.split(process.env.PROSPECT_API_KEY || '\0').join('[key]')}\n`)
  process.exit(1)
}
