import { constants, fchmodSync, fstatSync, openSync, writeSync } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as pause } from 'node:timers/promises'
import type { Input } from '../../api/calls/caller.js'
import { interrupted, Refusal, unlessBusy } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { CommandLog } from '../../api/ports/ports.js'
import { escapeControls, parseExact } from '../../api/values/json.js'
import { isWorkbookName, toStreamRefusal } from '../../runs/output/writer.js'
import type { Streams } from './context.js'
import { systemReason } from './errors.js'

/** The largest body read from a file or stdin, in bytes: the largest that an operation takes. */
const bodyLimit = 32 * 1024 * 1024

type OutputStream = Streams['stdout']

const unguarded = new WeakMap<NodeJS.WritableStream, OutputStream>()

/** Returns streams on which a terminal, or a log of stderr, gets no control character. Files and pipes get every byte. */
export function guardStreams(streams: Streams): Streams {
  const { stdout, stderr } = streams
  // Not a copy: stdin is created when it is first read.
  return Object.create(streams, {
    stdout: { value: stdout.isTTY ? guard(stdout, escapeControls) : stdout, enumerable: true },
    stderr: { value: guard(stderr, escapeControls), enumerable: true },
  }) as Streams
}

function guard(stream: OutputStream, neutralize: (text: string) => string): OutputStream {
  const decoder = new StringDecoder()
  // A character can be split between two writes of bytes.
  const decode = (chunk: string | Uint8Array): string =>
    typeof chunk === 'string' ? decoder.end() + chunk : decoder.write(Buffer.from(chunk))
  const write = (chunk: string | Uint8Array, ...rest: []) => stream.write(neutralize(decode(chunk)), ...rest)
  const guarded = new Proxy(stream, {
    get: (_, name) => {
      const value = name === 'write' ? write : Reflect.get(stream, name)
      return typeof value === 'function' ? value.bind(stream) : value
    },
  })
  unguarded.set(guarded, stream)
  return guarded
}

/** Returns the stream behind a guarded one, for what draws on it and is only given text without control characters. */
export const drawingStream = (stream: OutputStream): OutputStream => unguarded.get(stream) ?? stream

/** Returns a stream that lets colours and movements of the cursor through, for text whose data was escaped before. */
export const styledStream = (stream: OutputStream): OutputStream => guard(drawingStream(stream), escapeAround)

const escapeSequence = '\u001b\\['
const styles = new RegExp(`(${escapeSequence}[\\d;?]*[A-Za-z])`)

const escapeAround = (text: string): string =>
  text
    .split(styles)
    .map((part, at) => (at % 2 === 1 ? part : escapeControls(part)))
    .join('')

/**
 * Keeps streams that fail from becoming uncaught errors: a reader that leaves early (`| head`), a full disk. Returns a
 * function that returns what stdout failed with, if anything did; a reader that left is no failure.
 */
export function watchStreams({ stdout, stderr }: Streams): () => Promise<Refusal | undefined> {
  let failure: Refusal | undefined
  stderr.on('error', () => {})
  stdout.on('error', (error: Error) => {
    const failed = toStreamRefusal(error)
    if (failed.code !== 'output.closed') failure ??= failed
  })
  return async () => {
    // The event of a failed write comes after its call.
    await new Promise((resolve) => setImmediate(resolve))
    return failure
  }
}

/** Returns all of stdin as text. Throws a Refusal above the limit in bytes. */
export const readStdin = (streams: Streams, limit = bodyLimit): Promise<string> =>
  readAll(streams.stdin as AsyncIterable<Uint8Array>, limit, 'stdin')

async function readAll(bytes: AsyncIterable<Uint8Array>, limit: number, name: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of bytes) {
    const part = Buffer.from(chunk)
    size += part.length
    if (size > limit) throw new Refusal('usage.too_long', { name, limit })
    chunks.push(part)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Reads stdin for `-`. Errors begin with the option, where one is given. A signal ends the wait for the writer of a pipe. */
export async function readText(streams: Streams, path: string, option?: string): Promise<string> {
  if (path === '-') return readStdin(streams)
  const file = resolve(streams.cwd, path)
  try {
    if ((await stat(file)).isFile()) return await readFile(file, 'utf8')
    return await interruptible(streams, (signal) => readAll(readPipe(file, signal), bodyLimit, path))
  } catch (error) {
    if (error instanceof Refusal) throw error
    const where = option === undefined ? path : `${option}: ${path}`
    throw new Refusal('usage.where_unreadable', { where, reason: systemReason(error) })
  }
}

const maxPauseMs = 50

/**
 * Reads a pipe or device to its end. Waits for the writer of a named pipe. It is opened without blocking, because nothing
 * ends a thread that waits in the system, and a process does not end before its threads.
 */
export async function* readPipe(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    let hasWriter = !(await file.stat()).isFIFO()
    for (let ms = 1; ; ) {
      if (signal.aborted) throw interrupted(signal, 'reading', path)
      const read = await unlessBusy(file.read({ buffer: Buffer.allocUnsafe(65_536) }))
      if (read?.bytesRead === 0 && hasWriter) return
      // A pipe without a writer is at its end, one with an idle writer is busy.
      hasWriter ||= read === undefined || read.bytesRead > 0
      if (read && read.bytesRead > 0) {
        yield read.buffer.subarray(0, read.bytesRead)
        ms = 1
        continue
      }
      await pause(ms)
      ms = Math.min(2 * ms, maxPauseMs)
    }
  } finally {
    await file.close()
  }
}

/** Returns the JSON object of `--input FILE|-`. Throws a Refusal for anything else. */
export async function readInput(streams: Streams, path: string): Promise<Input> {
  const text = (await readText(streams, path, '--input')).replace(/^\uFEFF/, '')
  const value = parse(text, path)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal('usage.input_object')
  return value as Input
}

function parse(text: string, path: string): unknown {
  try {
    return parseExact(text)
  } catch (error) {
    throw new Refusal('usage.input_json', {
      path: path === '-' ? 'stdin' : path,
      reason: (error as Error).message,
    })
  }
}

const signalExits = { SIGINT: exitCodes.interrupted, SIGTERM: exitCodes.terminated } as const

type Signal = keyof typeof signalExits

/** Runs work that a signal of the system can abort. The name of the signal is the reason of the abort. */
export async function interruptible<T>(streams: Streams, work: (signal: AbortSignal) => Promise<T>) {
  const controller = new AbortController()
  const names = Object.keys(signalExits) as Signal[]
  const listeners = names.map((name) => [name, () => controller.abort(name)] as const)
  for (const [name, listener] of listeners) streams.signals?.on(name, listener)
  try {
    return await work(controller.signal)
  } finally {
    for (const [name, listener] of listeners) streams.signals?.off(name, listener)
  }
}

/** Returns the exit code of an abort; `undefined` when no signal of the system was the reason. */
export function exitOfSignal(signal: AbortSignal): number | undefined {
  const name = signal.reason as unknown
  return signal.aborted && typeof name === 'string' ? signalExits[name as Signal] : undefined
}

/** The longest timer of Node: about 24 days. */
const maxTimerMs = 2_147_483_647

/** Returns a signal of the end of so many seconds; `undefined` without a number. */
export function timeLimit(seconds: number | undefined): AbortSignal | undefined {
  // A timer of 0 ms ends later than now.
  if (seconds === 0) return AbortSignal.abort()
  return seconds === undefined
    ? undefined
    : AbortSignal.timeout(Math.min(maxTimerMs, Math.ceil(seconds * 1_000)))
}

export const anySignal = (...signals: readonly (AbortSignal | undefined)[]): AbortSignal =>
  AbortSignal.any(signals.filter((one) => one !== undefined))

/** It is appended to, and only its owner can read it. Throws a Refusal where it cannot be opened. */
export function openLog(path: string, now: () => number, redact: (text: string) => string): CommandLog {
  const file = openLogFile(path)
  let credits = 0
  const write: CommandLog['write'] = (event, facts = {}) => {
    const line = { time: new Date(now()).toISOString(), pid: process.pid, event, ...facts }
    try {
      writeSync(file, `${redact(JSON.stringify(line))}\n`)
    } catch {
      // A full disk must not end what has been paid for.
    }
  }
  return {
    write,
    spend: (more) => {
      credits += more
    },
    end: (exit_code) => write('end', { exit_code, credits }),
  }
}

function openLogFile(path: string): number {
  if (isWorkbookName(path)) throw new Refusal('usage.no_workbook', { option: '--log', file: path })
  try {
    const file = openSync(path, 'a', 0o600)
    if (fstatSync(file).isFile()) fchmodSync(file, 0o600)
    return file
  } catch (error) {
    throw new Refusal('usage.log_unwritable', { path, reason: systemReason(error) })
  }
}
