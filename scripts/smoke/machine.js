/** A machine of the smoke test: the installed command, run as a user runs it. */
import { spawn } from 'node:child_process'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'

/** No command of the smoke test takes longer than this, in milliseconds. */
const limitMs = 120_000

const running = new Set()

/** Kills what still runs. */
export function killAll() {
  for (const child of running) child.kill('SIGKILL')
}

/**
 * Starts a program. `ended` resolves with its exit code, signal and output; it rejects when the program cannot be
 * started or takes too long.
 */
export function start(program, args, { cwd, env }) {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'])
    child[stream].setEncoding('utf8').on('data', (text) => {
      output[stream] += text
    })
  const title = `${basename(program)} ${args.join(' ')}`
  const ended = new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`${title} did not end within ${limitMs / 1_000} s`))
    }, limitMs)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      running.delete(child)
      resolve({ code, signal, ...output })
    })
  })
  ended.catch(() => {})
  return { child, title, ended }
}

/** Runs a program and returns its stdout. Throws when it does not exit with 0. */
export async function succeed(program, args, options) {
  const { title, ended } = start(program, args, options)
  const { code, signal, stdout, stderr } = await ended
  if (code !== 0) throw new Error(`${title} ended with ${signal ?? `exit code ${code}`}: ${stderr.trim()}`)
  return stdout
}

/** Starts a program that serves. `lines` are those of its stdout; `stop` ends it with SIGTERM, and expects exit 0. */
export async function serve(program, args, options) {
  const { child, title, ended } = start(program, args, options)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const failed = ended.then(({ stderr }) =>
    Promise.reject(new Error(`${title} ended early: ${stderr.trim()}`)),
  )
  failed.catch(() => {})
  const next = async () => JSON.parse((await Promise.race([lines.next(), failed])).value)
  const stop = async () => {
    child.kill('SIGTERM')
    const { code, signal, stderr } = await ended
    if (code !== 0)
      throw new Error(`${title} ended with ${signal ?? `exit code ${code}`} on SIGTERM: ${stderr.trim()}`)
  }
  return { first: await next(), next, stop }
}

/** Kills a program as soon as a condition holds. Returns whether it was still running. */
export async function killWhen(isDue, program, args, options) {
  const { child, ended } = start(program, args, options)
  while (child.exitCode === null && !isDue()) await new Promise((resolve) => setTimeout(resolve, 1))
  child.kill('SIGKILL')
  return (await ended).signal === 'SIGKILL'
}
