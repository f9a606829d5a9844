import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { interrupted, Refusal, systemCode, unlessBusy } from '../../api/calls/errors.js'
import { escapeControls, parseExact, toJson } from '../../api/values/json.js'
import { isObject, resultOr } from '../../api/values/objects.js'
import { lineWriter } from '../../csv/cells.js'
import { rejectColumns } from '../../csv/own-columns.js'
import type { Table } from '../input/table.js'
import type { OutputRow } from './columns.js'
import type { Format } from './formats.js'

export interface Sink {
  /** Name of the complete output; undefined for a stream. */
  readonly output: string | undefined
  /** Name of the file that holds it until it is complete. */
  readonly partial: string | undefined
  write(text: string | Buffer): Promise<void>
  /** Makes the output complete: on disk, under its own name. */
  finish(): Promise<void>
  /** Keeps what was written under the partial name. */
  abandon(): Promise<void>
  /** Leaves nothing of it behind. */
  discard(): Promise<void>
}

/** A file being written, as much of it as a sink needs. */
export type OutputFile = Pick<FileHandle, 'appendFile' | 'truncate' | 'sync' | 'close'>

/** The file system, as much of it as a sink needs; tests give one that fails. */
export interface Files {
  /** A new, empty file that only its owner can read, replacing what has the name. */
  create(path: string): Promise<OutputFile>
  kind(path: string): Promise<'nothing' | 'file' | 'folder' | 'device'>
  /** Opens a device or pipe. Waits for the reader of a named pipe. */
  device(path: string, signal: AbortSignal): Promise<FileHandle>
  /** Removes a file, if there is one. */
  remove(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>
}

export const nodeFiles: Files = {
  async create(path) {
    await rm(path, { force: true })
    return open(path, 'wx', 0o600)
  },
  async kind(path) {
    const found = await stat(path).catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    })
    if (!found) return 'nothing'
    return found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'device'
  },
  device: openDevice,
  remove: (path) => rm(path, { force: true }),
  rename,
  async syncFolder(path) {
    const folder = await open(path)
    await folder.sync().finally(() => folder.close())
  },
}

/** Runs work with a signal that ends it. */
type Interruptible = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>

const uninterrupted: Interruptible = (work) => work(new AbortController().signal)

/**
 * Opens `path` for output: rows go to `path.partial` beside it until `finish`. Devices and pipes are written as they are, and a
 * terminal is shown control characters;
 * `interruptible` ends waiting for their readers.
 */
export async function fileSink(
  path: string,
  files: Files = nodeFiles,
  interruptible: Interruptible = uninterrupted,
): Promise<Sink> {
  const partial = `${path}.partial`
  const fail = (error: unknown): never => {
    throw toOutputError(path, error)
  }
  const kind = await files.kind(path).catch(fail)
  if (kind === 'folder') throw new Refusal('output.folder', { path })
  if (kind === 'device') {
    const opened = interruptible((signal) => files.device(path, signal))
    return deviceSink(path, await opened.catch(fail), interruptible)
  }
  const file = await files.create(partial).catch(fail)
  let length = 0
  const abandon = async () => {
    await file.sync().catch(() => {})
    await file.close().catch(() => {})
  }
  return {
    output: path,
    partial,
    abandon,
    async write(text) {
      const bytes = typeof text === 'string' ? Buffer.from(text) : text
      try {
        await file.appendFile(bytes)
      } catch (error) {
        // Half a row would be taken for an answer.
        await file.truncate(length).catch(() => {})
        throw toOutputError(path, error, partial)
      }
      length += bytes.length
    },
    async finish() {
      try {
        await file.sync().finally(() => file.close())
        await files.rename(partial, path)
        await files.syncFolder(dirname(path))
      } catch (error) {
        throw toOutputError(path, error, partial)
      }
    },
    async discard() {
      await abandon()
      await files.remove(partial)
    },
  }
}

/** Writes to a stream, such as stdout, no faster than it takes. */
export function streamSink(stream: NodeJS.WritableStream): Sink {
  // The failed write is reported by its callback. Without a listener the process would end.
  if (stream.listenerCount('error') === 0) stream.on('error', () => {})
  const nothing = async () => {}
  return {
    output: undefined,
    partial: undefined,
    write: (text) => writeTo(stream, text),
    finish: nothing,
    abandon: nothing,
    discard: nothing,
  }
}

/** Writes to a stream and waits until the text is on its way. Throws a Refusal. */
export function writeTo(stream: NodeJS.WritableStream, text: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(toStreamRefusal(error)) : resolve()))
  })
}

/** Returns why a stream was not written: its reader left, or it failed. */
export function toStreamRefusal(cause: Error): Refusal {
  const isClosed = ['EPIPE', 'ERR_STREAM_DESTROYED'].includes(systemCode(cause) ?? '')
  return isClosed ? new Refusal('output.closed') : new Refusal('output.stream_failed', { cause })
}

async function deviceSink(path: string, file: FileHandle, interruptible: Interruptible): Promise<Sink> {
  const { isatty } = await import('node:tty')
  const isTerminal = isatty(file.fd)
  return {
    output: path,
    partial: undefined,
    async write(text) {
      const bytes = Buffer.from(text)
      const shown = isTerminal ? Buffer.from(escapeControls(bytes.toString())) : bytes
      await interruptible((signal) => writeAll(file, shown, path, signal)).catch((error) =>
        Promise.reject(toOutputError(path, error)),
      )
    },
    finish: () => file.close(),
    abandon: () => file.close(),
    discard: () => file.close(),
  }
}

const maxPauseMs = 50
/** How long a slow reader may take for the rest after a signal. */
const graceMs = 1_000

/**
 * Opens a pipe or device. It is opened without blocking, because nothing ends a thread that waits in the system for the
 * reader of a pipe, and a process does not end before its threads.
 */
async function openDevice(path: string, signal: AbortSignal): Promise<FileHandle> {
  for (let ms = 1; ; ms = Math.min(2 * ms, maxPauseMs)) {
    try {
      return await open(path, constants.O_WRONLY | (constants.O_NONBLOCK ?? 0))
    } catch (error) {
      if (systemCode(error) !== 'ENXIO' || !(await stat(path)).isFIFO()) throw error
    }
    if (signal.aborted) throw interrupted(signal, 'writing', path)
    await pause(ms)
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, path: string, signal: AbortSignal): Promise<void> {
  let left = graceMs
  let ms = 1
  for (let at = 0; at < bytes.length; ) {
    const written = await unlessBusy(file.write(bytes, at))
    if (written) {
      at += written.bytesWritten
      ms = 1
      continue
    }
    if (signal.aborted) left -= ms
    if (left < 0) throw interrupted(signal, 'writing', path)
    await pause(ms)
    ms = Math.min(2 * ms, maxPauseMs)
  }
}

/** Whether a path is that of a workbook: its rows are written as CSV, which is converted when it is complete. */
export const isWorkbookName = (path: string | null | undefined): boolean => /\.xlsx$/i.test(path ?? '')

/** Returns a sink that makes a workbook of the CSV file that another one writes, when it is complete. */
export function workbookSink(
  sink: Sink & { readonly output: string; readonly partial: string },
  convert: (csv: string, xlsx: string) => Promise<void>,
  files: Files = nodeFiles,
): Sink {
  const { output, partial } = sink
  const converted = `${partial}.xlsx`
  return {
    ...sink,
    async finish() {
      try {
        await sink.abandon()
        await files.remove(converted)
        await convert(partial, converted)
        await files.rename(converted, output)
        await files.remove(partial)
        await files.syncFolder(dirname(output))
      } catch (error) {
        await files.remove(converted)
        throw toOutputError(output, error, partial)
      }
    },
    // The file is closed already where the conversion failed.
    abandon: () => sink.abandon(),
  }
}

const toOutputError = (path: string, cause: unknown, partial?: string): Refusal =>
  cause instanceof Refusal && cause.code.startsWith('interrupted.')
    ? cause
    : new Refusal('output.failed', { path, cause, partial })

export interface Writer<Row = OutputRow> extends Omit<Sink, 'write'> {
  write(rows: readonly Row[]): Promise<void>
}

export function createWriter<Row = OutputRow>(sink: Sink, format: Format<Row>): Writer<Row> {
  let begun = false
  const begin = () => {
    const head = begun ? '' : format.head
    begun = true
    return head
  }
  return {
    // An abandoned output has no end on purpose: it is not complete.
    ...sink,
    async abandon() {
      if (format.isHeldBack) await sink.write(format.end()).catch(() => {})
      await sink.abandon()
    },
    write: (rows) => sink.write(begin() + format.rows(rows)),
    async finish() {
      await sink.write(begin() + format.end())
      await sink.finish()
    },
  }
}

/** What a file of rejected rows is like: the file that they come from, so that it can be read like that one. */
type Original = Pick<Table, 'header' | 'encoding' | 'hasMark' | 'delimiter' | 'preamble'>

/** A row as it was read, where it begins, and why it is invalid. */
export interface RejectedRow {
  readonly line: number
  /** Its cells; of a JSON file, its text alone. */
  readonly cells?: readonly string[]
  readonly reason: string
}

/** How rejected rows become bytes. */
type RejectsFormat = ReturnType<typeof csvRejects>

/** Rejected rows as they were read, after columns with their line and the reason; `raw` leaves cells as they are. */
export function csvRejects(original: Original, raw: boolean) {
  const writeLine = lineWriter(original.delimiter, raw)
  const { mark, encode } = encoderFor(original.encoding, original.hasMark)
  const { header, preamble } = original
  const added = rejectColumns.filter((name) => !header.includes(name))
  // In front, new columns do not complete a row that has too few cells. Those of an earlier rejects file are overwritten.
  const withReason = (own: Readonly<Record<string, string>>, cells: readonly string[]) =>
    writeLine([
      ...added.map((name) => own[name] ?? ''),
      ...cells.map((cell, at) => own[header[at] ?? ''] ?? cell),
    ])
  const names = Object.fromEntries(rejectColumns.map((name) => [name, name]))
  return {
    head: Buffer.concat([mark, encode(preamble + withReason(names, header))]),
    encode: (rows: readonly RejectedRow[]): Buffer =>
      encode(
        rows
          .map(({ line, reason, cells = [] }) => withReason({ _line: String(line), _reason: reason }, cells))
          .join(''),
      ),
  }
}

/** Rejected records of a JSON file, one per line. What is no object is the text `_record`. */
export const jsonRejects: RejectsFormat = {
  head: Buffer.alloc(0),
  encode: (rows) =>
    Buffer.from(
      rows
        .map(({ line, reason, cells: [text = ''] = [] }) => {
          const { _line, _reason, ...record } = parseRecord(text)
          return `${toJson({ _line: line, _reason: reason, ...record })}\n`
        })
        .join(''),
    ),
}

function parseRecord(text: string): Readonly<Record<string, unknown>> {
  const value = resultOr(undefined, () => parseExact(text))
  return isObject(value) ? value : { _record: text }
}

export type Rejects = ReturnType<typeof createRejects>

/** Creates a file of rejected rows, in the format that `toFormat` returns when the first of them comes. */
export function createRejects(sink: Sink, toFormat: () => RejectsFormat) {
  let format: RejectsFormat | undefined
  let count = 0
  let end: 'complete' | 'partial' | undefined
  return {
    /** The complete file; null when it has none, or is not complete. */
    get file(): string | null {
      return end === 'complete' ? (sink.output ?? null) : null
    },
    /** The incomplete file; null where it is complete or empty. */
    get partial(): string | null {
      return end === 'partial' && count > 0 ? (sink.partial ?? null) : null
    },
    async add(rows: readonly RejectedRow[]): Promise<void> {
      if (rows.length === 0) return
      format ??= toFormat()
      const bytes = format.encode(rows)
      await sink.write(count === 0 ? Buffer.concat([format.head, bytes]) : bytes)
      count += rows.length
    },
    /** Completes the file; without rejected rows it is removed, also one of an earlier run. */
    async finish(): Promise<void> {
      if (count > 0) {
        await sink.finish()
        end = 'complete'
        return
      }
      await sink.discard()
      if (sink.output !== undefined && sink.partial !== undefined) await rm(sink.output, { force: true })
    },
    /** Keeps the rejected rows under the partial name. */
    async abandon(): Promise<void> {
      // A complete file stays.
      end ??= 'partial'
      await (count > 0 ? sink.abandon() : sink.discard())
    },
  }
}

export const withoutKnown = (writer: Writer): Writer => ({
  ...writer,
  write: (rows) => writer.write(rows.filter(({ status }) => status !== 'known')),
})

export const withRejects = (writer: Writer, rejects: Rejects): Writer => ({
  ...writer,
  async write(rows: readonly OutputRow[]) {
    const invalid = rows.filter(({ status }) => status === 'invalid')
    await rejects.add(invalid.map(({ line, cells, error }) => ({ line, cells, reason: error ?? '' })))
    await writer.write(rows)
  },
  async finish() {
    await rejects.finish()
    await writer.finish()
  },
  async abandon() {
    await rejects.abandon()
    await writer.abandon()
  },
})

/**
 * Moves the rows that a stopped run left in `PATH.partial` to the first free name (`PATH.partial.1`, …), because they
 * were paid for and the next run writes its own there.
 */
export async function keepPartial(path: string, notify: (text: string) => void): Promise<void> {
  const partial = `${path}.partial`
  const found = await findFile(partial)
  if (!found?.isFile() || found.size === 0) return
  notify(`An earlier run left rows in ${partial}; they are kept as ${await setAside(partial)}`)
}

/** Moves a file to the first free name (`PATH.1`, …), and returns that. */
export async function setAside(path: string): Promise<string> {
  let kept = path
  for (let number = 1; kept === path || (await findFile(kept)); number++) kept = `${path}.${number}`
  await rename(path, kept)
  return kept
}

export const findFile = (path: string) => stat(path).catch(() => undefined)

const utf8Mark = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Returns the encoder for a file like one that was read, with the mark that it had. Encodings that are not Unicode become
 * UTF-8 with a mark, which a reader obeys before anything else: few rows may not show which encoding they have.
 */
export function encoderFor(label: string, hadMark: boolean) {
  const utf16 = (text: string) => Buffer.from(text, 'utf16le')
  if (label === 'utf-16le') return { mark: Buffer.from([0xff, 0xfe]), encode: utf16 }
  if (label === 'utf-16be')
    return { mark: Buffer.from([0xfe, 0xff]), encode: (text: string) => utf16(text).swap16() }
  const mark = label === 'utf-8' && !hadMark ? Buffer.alloc(0) : utf8Mark
  return { mark, encode: (text: string) => Buffer.from(text) }
}
