// This file and prospect.js are read by any Node, however old, so that it can be refused with a sentence.
const { existsSync } = require('fs')
const { join } = require('path')

/** Parses a range: `^22.22.2 || >=26.0.0` becomes `[[22, 22, 2, false], [26, 0, 0, true]]`. */
const parseRange = (range) =>
  range.split('||').map((part) => {
    const [, operator, ...numbers] = /(\^|>=)(\d+)\.(\d+)\.(\d+)/.exec(part)
    return [...numbers.map(Number), operator === '>=']
  })

/** Formats a range for people: `22 (from 22.22.2), 24, or 26 and newer`. */
function formatRange(range) {
  const parts = parseRange(range).map(([major, minor, patch, andNewer]) => {
    const from = minor + patch > 0 ? ` (from ${major}.${minor}.${patch})` : ''
    return `${major}${from}${andNewer ? ' and newer' : ''}`
  })
  return parts.length > 1 ? `${parts.slice(0, -1).join(', ')}, or ${parts[parts.length - 1]}` : parts[0]
}

/** Returns whether a version of Node satisfies the `engines.node` of package.json. */
function isSupported(version, range) {
  const [major, minor, patch] = version.split('.').map((part) => Number.parseInt(part, 10))
  return parseRange(range).some(
    ([fromMajor, fromMinor, fromPatch, andNewer]) =>
      (andNewer && major > fromMajor) ||
      (major === fromMajor && (minor > fromMinor || (minor === fromMinor && patch >= fromPatch))),
  )
}

/** Returns the path of the Node that a clone has downloaded; `undefined` without one. */
function downloadedNode(root) {
  const path = join(root, '.node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  return existsSync(path) ? path : undefined
}

/** The environment variable that tells a child the file descriptor of the pipe to its parent. */
const parentPipe = 'PROSPECT_PARENT_PIPE'

/** How long a child has to say that it got SIGTERM itself, before the parent forwards its own, in milliseconds. */
const noticeMs = 100

/**
 * Runs a program with another Node as if it were this process: same streams, same exit code, same signal.
 * SIGTERM and SIGHUP are forwarded. A terminal sends Ctrl-C and Ctrl-Z to the child itself.
 */
function relaunch(node, args, env = process.env) {
  let child
  let isStopping = false
  // Before the child starts: it may be ready before this process runs again.
  process.on('SIGTERM', () => setTimeout(() => isStopping || child.kill('SIGTERM'), noticeMs))
  process.on('SIGHUP', () => setImmediate(() => child.kill('SIGHUP')))
  process.on('SIGINT', () => {})
  child = require('child_process').spawn(node, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: Object.assign({}, env, { [parentPipe]: '3' }),
  })
  child.stdio[3].on('error', () => {})
  // A second SIGTERM would kill a child that ends cleanly and listens no more.
  child.stdio[3].on('data', () => {
    isStopping = true
  })
  child.on('error', (error) => {
    process.stderr.write(`${node} cannot be started: ${error.message}\n`)
    process.exitCode = 2
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    // What this process cannot die of, such as SIGPIPE or any signal to the first process of a container.
    process.exitCode = 128 + require('os').constants.signals[signal]
    endBy(signal)
  })
}

/** Ends this process by a signal, as if nothing listened to any. */
function endBy(signal) {
  for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.removeAllListeners(name)
  process.kill(process.pid, signal)
}

/** How long a child may take to stop cleanly once its parent is gone, in milliseconds. */
const graceMs = 500

/** In a child of `relaunch`: ends this process within a second when the parent is killed. */
function endWithParent() {
  const descriptor = Number(process.env[parentPipe])
  delete process.env[parentPipe]
  const { Socket } = require('node:net')
  const pipe = new Socket({ fd: descriptor, readable: true, writable: true })
  pipe.on('error', () => {})
  tolerateRepeats('SIGTERM', () => pipe.write('.'))
  pipe.on('close', () => {
    setTimeout(() => process.exit(143), graceMs).unref()
    process.kill(process.pid, 'SIGTERM')
  })
  pipe.resume()
  pipe.unref()
}

/**
 * Lets a signal that a command handles end it once, and calls `onHandled` then. A service manager signals parent and
 * child, and the parent forwards it: the second one must not kill a command that is ending cleanly.
 */
function tolerateRepeats(signal, onHandled) {
  let isHandled = false
  process.on(signal, () => {
    if (isHandled) return
    isHandled = process.listenerCount(signal) > 1
    if (isHandled) onHandled()
    else endBy(signal)
  })
}

module.exports = { isSupported, formatRange, downloadedNode, relaunch, endWithParent, parentPipe }
