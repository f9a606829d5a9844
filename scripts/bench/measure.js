import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The middle value. */
export function median(values) {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Runs Node with arguments and answers its milliseconds; what it prints is dropped, a failure is an error. */
export async function time(args, env) {
  const began = performance.now()
  const { code, stderr } = await start(args, env)
  const ms = performance.now() - began
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}: ${stderr}`)
  return ms
}

/** Runs Node with arguments and answers its milliseconds, and its largest resident memory in bytes. */
export async function timeAndPeak(args, env) {
  const hook = fileURLToPath(new URL('peak.js', import.meta.url))
  const began = performance.now()
  const { code, stderr, peak } = await start(['--import', hook, ...args], env)
  const ms = performance.now() - began
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}: ${stderr}`)
  return { ms, peak: Number(peak) * 1024 }
}

/** Runs Node with arguments and answers what it printed as JSON. */
export async function askJson(args, env) {
  const { code, stdout, stderr } = await start(args, env)
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

function start(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })
  const said = ['', '', '', '']
  for (const stream of [1, 2, 3])
    child.stdio[stream].setEncoding('utf8').on('data', (text) => (said[stream] += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout: said[1], stderr: said[2], peak: said[3] }))
  })
}

export const grouped = (count) => count.toLocaleString('en')
export const perSecond = (rate, what) => `${grouped(Math.round(rate))} ${what}/s`
export const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`
