// This file and prospect.js are read by any Node, however old, so that it can be refused with a sentence.
const { existsSync } = require('fs')
const { join } = require('path')

/** The version a range starts at, by major: `^22.22.2 || >=26.0.0` is `[[22, 22, 2, false], [26, 0, 0, true]]`. */
const parseRange = (range) =>
  range.split('||').map((part) => {
    const [, operator, ...numbers] = /(\^|>=)(\d+)\.(\d+)\.(\d+)/.exec(part)
    return [...numbers.map(Number), operator === '>=']
  })

/** Returns whether a version of Node satisfies the `engines.node` of package.json. */
function isSupported(version, range) {
  const [major, minor, patch] = version.split('.').map((part) => Number.parseInt(part, 10))
  return parseRange(range).some(
    ([fromMajor, fromMinor, fromPatch, andNewer]) =>
      (andNewer && major > fromMajor) ||
      (major === fromMajor && (minor > fromMinor || (minor === fromMinor && patch >= fromPatch))),
  )
}

/** The Node that a clone has downloaded, if it has one. */
function downloadedNode(root) {
  const path = join(root, '.node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  return existsSync(path) ? path : undefined
}

/** The environment variable that tells a child which file descriptor closes when its parent ends. */
const parentPipe = 'PROSPECT_PARENT_PIPE'

/**
 * Runs a program with another Node as if it were this process: same streams, same exit code.
 * SIGTERM and SIGHUP are forwarded. A terminal sends Ctrl-C and Ctrl-Z to the child itself.
 */
function relaunch(node, args) {
  const child = require('child_process').spawn(node, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: Object.assign({}, process.env, { [parentPipe]: '3' }),
  })
  const forward = (signal) => child.kill(signal)
  process.on('SIGTERM', forward)
  process.on('SIGHUP', forward)
  process.on('SIGINT', () => {})
  child.on('error', (error) => {
    process.stderr.write(`${node} cannot be started: ${error.message}\n`)
    process.exitCode = 2
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

/** How long a child may take to stop cleanly once its parent is gone, in milliseconds. */
const graceMs = 700

/** In a child of `relaunch`: ends this process within a second when the parent is killed. */
function endWithParent() {
  const descriptor = Number(process.env[parentPipe])
  delete process.env[parentPipe]
  const { Socket } = require('node:net')
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false })
  pipe.on('error', () => {})
  pipe.on('close', () => {
    setTimeout(() => process.exit(143), graceMs).unref()
    process.kill(process.pid, 'SIGTERM')
  })
  pipe.resume()
  pipe.unref()
}

module.exports = { isSupported, downloadedNode, relaunch, endWithParent, parentPipe }
