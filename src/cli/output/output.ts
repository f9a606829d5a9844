import { accessSync, constants, statSync } from 'node:fs'
import { dirname, extname, resolve } from 'node:path'
import { Refusal } from '../../api/calls/errors.js'
import { type FormatName, formatOfFile, knownExtensions, rowFormats } from '../../runs/output/formats.js'
import {
  fileSink,
  isWorkbookName,
  keepPartial,
  nodeFiles,
  type Sink,
  streamSink,
  workbookSink,
} from '../../runs/output/writer.js'
import type { GlobalOptions, Streams, StreamsContext } from '../context/context.js'
import { interruptible, styledStream } from '../context/io.js'
import { pinFolder } from '../context/pinned.js'

/** Returns the format of the option, else of the extension of `-o`; `undefined` where neither says it. */
export function chosenFormat(options: GlobalOptions): FormatName | undefined {
  const file = fileOf(options)
  const isJson = options.json === true || options.jq !== undefined
  return options.format ?? (isJson ? 'json' : file === undefined ? undefined : formatOfFile(file))
}

/** Whether JSON was asked for, by an option or, on a terminal, by the setting: errors on stderr are JSON only then. */
export function asksForJson({ json, format, terminalFormat }: GlobalOptions): boolean {
  const asked = json === true ? 'json' : (format ?? terminalFormat)
  return asked === 'json' || asked === 'ndjson'
}

/** Returns the chosen format, else table on a terminal and JSON elsewhere. */
export function formatOf({ globals: options, streams }: StreamsContext): FormatName {
  const isOnTerminal = fileOf(options) === undefined && streams.stdout.isTTY
  const usual = isOnTerminal ? (options.terminalFormat ?? 'table') : 'json'
  return chosenFormat(options) ?? (options.layout === undefined ? usual : 'csv')
}

/** Throws a Refusal where `--layout` is given with a format that has no columns, or with other columns. */
export function checkLayoutFormat(options: GlobalOptions): void {
  if (options.layout === undefined) return
  if (options.fields !== undefined) throw new Refusal('usage.layout_or_fields')
  const chosen = chosenFormat(options)
  if (!chosen || (chosen !== 'table' && rowFormats[chosen].hasColumns)) return
  throw new Refusal('usage.layout_format', { chosen })
}

/** Returns the file of `-o`; `undefined` for stdout. */
export const fileOf = (options: GlobalOptions): string | undefined =>
  options.output === undefined || options.output === '-' ? undefined : options.output

export function fieldsOf(options: GlobalOptions): string[] | undefined {
  const fields = options.fields?.split(',').map((field) => field.trim())
  if (fields?.some((field) => field === '')) throw new Refusal('usage.fields_empty')
  return fields
}

/** Does work that writes a result. Leaves nothing of it behind where the work throws. */
export async function withSink<T>(context: StreamsContext, work: (sink: Sink) => Promise<T>): Promise<T> {
  const sink = await openSink(context)
  try {
    return await work(sink)
  } catch (error) {
    await sink.discard()
    throw error
  }
}

/** Opens stdout, or a file: `FILE.partial`, 0600 from birth, which takes its name when complete, so that no half result has it. */
async function openSink(context: StreamsContext): Promise<Sink> {
  const { streams, globals } = context
  const file = fileOf(globals)
  if (file === undefined)
    return streamSink(formatOf(context) === 'table' ? styledStream(streams.stdout) : streams.stdout)
  checkOutputName(file, globals, streams)
  const path = resolve(streams.cwd, file)
  context.claimFile(path, '-o')
  await keepPartial(path, (text) => context.notify(text))
  return openFile(context, path, '-o')
}

/**
 * Opens a file that an option names for writing, as all of them are. Throws a Refusal where it must not be replaced. Waiting
 * for the reader of a pipe ends with a signal of the system, also with one that came before.
 */
export async function openFile(context: StreamsContext, path: string, option: string, signal?: AbortSignal) {
  context.claimFile(path, option)
  const { root } = context
  const pinned =
    root === undefined ? undefined : await pinFolder(root, option === '-o' ? 'output' : option, path)
  const sink = await fileSink(path, pinned ?? nodeFiles, (work) =>
    signal?.aborted ? work(signal) : interruptible(context.streams, work),
  ).catch(async (error: unknown) => {
    await pinned?.close()
    throw error
  })
  const { output, partial } = sink
  const isWorkbook = isWorkbookName(path) && output !== undefined && partial !== undefined
  const at = (file: string) => pinned?.at(file) ?? file
  const convert = async (csv: string, xlsx: string) => {
    const { convertWorkbook } = await import('../../csv/workbook/convert.js')
    const task = { csv: at(csv), xlsx: at(xlsx) }
    await interruptible(context.streams, (during) => convertWorkbook(task, during))
  }
  const whole = isWorkbook ? workbookSink({ ...sink, output, partial }, convert, pinned ?? nodeFiles) : sink
  if (!pinned) return whole
  const closing = (work: () => Promise<void>) => () => work().finally(() => pinned.close())
  return {
    ...whole,
    finish: closing(whole.finish),
    abandon: closing(whole.abandon),
    discard: closing(whole.discard),
  }
}

/** Throws a Refusal where the folder of an output is missing or cannot be written, before anything is asked or spent. */
export function checkOutputFolder(option: string, file: string, { cwd }: Pick<Streams, 'cwd'>): void {
  const path = resolve(cwd, file)
  const kind = statSync(path, { throwIfNoEntry: false })
  if (kind?.isDirectory()) throw new Refusal('usage.output_folder', { option, file })
  if (kind && !kind.isFile()) return
  const folder = dirname(path)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new Refusal('usage.no_folder', { option, file, folder })
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    throw new Refusal('usage.folder_read_only', { option, file, folder })
  }
}

/** Returns the absolute path that an option names; `undefined` without it. Throws a Refusal for stdout and for a folder that cannot be written. */
export function pathOf(option: string, value: unknown, { cwd }: Pick<Streams, 'cwd'>): string | undefined {
  if (value === '-' || value === '') throw new Refusal('usage.no_file_name', { option })
  if (typeof value !== 'string') return undefined
  if (isWorkbookName(value)) throw new Refusal('usage.no_workbook', { option, file: value })
  checkOutputFolder(option, value, { cwd })
  return resolve(cwd, value)
}

/**
 * Throws a Refusal where the name of an output says another format than it gets: that of a workbook which is not written, or
 * an unknown one. Without a format, what has no extension and what is no regular file is written as where there is none.
 */
export function checkOutputName(file: string, { format, json }: GlobalOptions, { cwd }: Streams): void {
  const extension = extname(file).toLowerCase()
  if (/^\.(?:xls|xlsm|xlsb|ods|numbers)$/.test(extension))
    throw new Refusal('usage.old_workbook', { extension })
  const hasFormat = format !== undefined || json === true
  if (isWorkbookName(file) && hasFormat)
    throw new Refusal('usage.workbook_format', { file, option: json ? 'json' : 'format' })
  if (hasFormat || extension === '' || formatOfFile(file)) return
  if (statSync(resolve(cwd, file), { throwIfNoEntry: false })?.isFile() === false) return
  throw new Refusal('usage.extension', { file, extension, known: knownExtensions })
}
