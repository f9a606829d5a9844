import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { relative, resolve as resolvePath, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The folder of the project, with a separator at its end. */
export const root = fileURLToPath(new URL('../', import.meta.url))

/** Returns the path of a file within the project's folder, with slashes on every system. */
export const nameIn = (path) => relative(root, path).replaceAll(sep, '/')

/** A JSON file, by its path in the project's folder. */
export const readJson = (path) => JSON.parse(readFileSync(resolvePath(root, path), 'utf8'))

/** The built command, started with `process.execPath`. */
export const binary = fileURLToPath(new URL('../bin/prospect.js', import.meta.url))

/** Runs a program in the project's folder and answers its exit code; output goes where `stdio` says. */
export function run(program, args, { stdio = 'inherit', env = process.env, cwd = root } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio })
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

/** Runs a script of a package in `node_modules` with this Node; `entry` is its path inside the package folder. */
export const runPackage = (entry, args, options) =>
  run(process.execPath, [`${root}node_modules/${entry}`, ...args], options)

/** Runs npm: the one that started this script, else the one on the path. Its output goes to stderr. */
export const npm = (...args) => runNpm(args, ['ignore', process.stderr, process.stderr])

/** Like `npm`, with only its errors. */
export const quietNpm = (...args) =>
  runNpm([...args, '--loglevel', 'error'], ['ignore', 'ignore', process.stderr])

/** Runs npm and returns what it prints on stdout. Throws when it fails. */
export async function npmOutput(...args) {
  const [program, ...first] = npmCommand()
  const { stdout } = await promisify(execFile)(program, [...first, ...args], {
    cwd: root,
    maxBuffer: 2 ** 26,
  })
  return stdout
}

function runNpm(args, stdio) {
  const [program, ...first] = npmCommand()
  return run(program, [...first, ...args], { stdio })
}

function npmCommand() {
  const cli = process.env.npm_execpath
  if (cli?.endsWith('.js')) return [process.execPath, cli]
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm']
}

/** Whether a module is the script that was started, and not one that another script imported. */
export const isMain = (url) => process.argv[1] !== undefined && fileURLToPath(url) === process.argv[1]
