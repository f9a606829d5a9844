import { accessSync, constants, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { isTooLarge, toPrintableJson } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import {
  type Sink as BatchSink,
  fileSink,
  isWorkbookName,
  keepPartial,
  nodeFiles,
  workbookSink,
} from '../../runs/output/writer.js'
import type { Context, Format, GlobalOptions, Streams, StreamsContext } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { interruptible } from '../context/interrupts.js'
import { styledStream, write } from '../context/io.js'
import { columnsOf, idOf, type Listing, namesOf, pickFields, recordsIn } from './records.js'
import { drawable, type Look, lookOn, oneLine } from './text.js'

/** How a result is displayed to a person. */
export interface View {
  /** Columns of a list, as dotted paths. */
  readonly columns?: readonly string[]
  /** Returns the whole text of this result, of which `body` has each text on one line; `raw` is as it came. */
  readonly layout?: (body: unknown, look: Look, raw: unknown) => string | Promise<string>
  /** Columns that a narrow screen leaves out, the first one first. */
  readonly optional?: readonly string[]
  /** Whether `--jq` is applied to each record, because there may be too many for memory. */
  readonly isStream?: boolean
  /** Columns with ids of this machine. */
  readonly ids?: readonly string[]
  /** Returns the time that relative times count from, where it is not that of this machine. */
  readonly now?: () => Promise<number>
}

const extensions: Readonly<Record<string, Format>> = {
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  csv: 'csv',
  tsv: 'tsv',
  txt: 'table',
  // Its rows are converted when all of them are there.
  xlsx: 'csv',
}

/** Returns the format: of the option, else of the extension of `-o`, else table on a terminal and JSON elsewhere. */
export function formatOf({ globals: options, streams }: StreamsContext): Format {
  if (options.format) return options.format
  if (options.json) return 'json'
  const file = fileOf(options)
  if (file !== undefined && isFormatKnown(file)) return extensions[extensionOf(file)] ?? 'json'
  if (options.layout !== undefined) return 'csv'
  return file === undefined && streams.stdout.isTTY ? (options.terminalFormat ?? 'table') : 'json'
}

/** Throws UsageError where `--layout` is given with a format that has no columns, or with other columns. */
export function checkLayoutFormat(options: GlobalOptions): void {
  if (options.layout === undefined) return
  if (options.fields !== undefined)
    throw new UsageError('--layout and --fields both choose the columns.', 'Use one or the other.')
  const file = fileOf(options)
  const chosen = options.format ?? (options.json ? 'json' : file && extensions[extensionOf(file)])
  if (chosen === undefined || chosen === 'csv' || chosen === 'tsv') return
  throw new UsageError(
    `--layout writes a file for an import, and the format ${chosen} is for something else.`,
    'Use csv, tsv or -o FILE.xlsx.',
  )
}

const extensionOf = (file: string): string => extname(file).slice(1).toLowerCase()

/** Whether the extension of a file names a format. */
export const isFormatKnown = (file: string): boolean => Object.hasOwn(extensions, extensionOf(file))

/** Returns the file of `-o`; `undefined` for stdout. */
export const fileOf = (options: GlobalOptions): string | undefined =>
  options.output === undefined || options.output === '-' ? undefined : options.output

/** Returns the names of `--fields`. */
export function fieldsOf(options: GlobalOptions): string[] | undefined {
  const fields = options.fields?.split(',').map((field) => field.trim())
  if (fields?.some((field) => field === ''))
    throw new UsageError('--fields has an empty name.', 'Write: --fields name,domain')
  return fields
}

/** Prints a result in the chosen format, to stdout or to the file of `-o`. */
export async function print(context: Context, body: unknown, view: View = {}): Promise<void> {
  await withSink(context, (sink) => printTo(sink, context, body, view))
}

/** Prints a result to a sink that was opened before the request, so that no paid result is without a place to go. */
export async function printTo(
  sink: ResultSink,
  context: Context,
  body: unknown,
  view: View = {},
): Promise<void> {
  const { globals: options } = context
  const format = formatOf(context)
  const stream: Partial<Streams['stdout']> = fileOf(options) === undefined ? context.streams.stdout : {}
  const now = format === 'table' && stream.isTTY ? await view.now?.() : undefined
  const look = lookOn(context, stream, now)
  try {
    await sink.write(await render(body, format, options, view, look))
  } catch (error) {
    if (options.jq === undefined || !(error instanceof UsageError)) throw error
    // The answer may have been paid for.
    await sink.write(`${toPrintableJson(body, 2)}\n`)
    await sink.finish()
    throw error
  }
  await sink.finish()
}

/** Returns a result as text. */
export async function render(
  body: unknown,
  format: Format,
  options: GlobalOptions,
  view: View,
  look: Look,
): Promise<string> {
  const fields = fieldsOf(options)
  if (options.jq !== undefined) {
    const { filterJson } = await import('./jq.js')
    return filterJson(toPrintableJson(body, 0), options.jq, look.isTerminal)
  }
  if (format === 'json') return `${toPrintableJson(fields ? pickBodyFields(body, fields) : body, 2)}\n`
  if (format === 'table' && view.layout && !fields)
    return drawable(await view.layout(escapeValues(body), look, body), look)
  const listing = recordsIn(body, fields ?? view.columns)
  if (format === 'ids') return toLines(listing.rows.map((row) => idOf(row) ?? ''))
  if (format === 'ndjson')
    return listing.rows.map((row) => `${toPrintableJson(fields ? pickFields(row, fields) : row)}\n`).join('')
  if (format === 'table') return (await import('./table.js')).table(body, listing, { ...view, fields }, look)
  const names = namesOf(listing.rows)
  const { delimited } = await import('./delimited.js')
  if (options.layout !== undefined && listing.rows.length > 0) {
    const crm = (await import('./crm-rows.js')).crmRows(options.layout, names)
    return delimited(listing.rows.map(crm.toRow), crm.names, format)
  }
  // A file without records has a header, too.
  const columns = fields ? columnsOf(fields, names) : names.length === 0 ? view.columns : undefined
  return delimited(listing.rows, columns, format)
}

function pickBodyFields(body: unknown, fields: readonly string[]): unknown {
  const listing: Listing = recordsIn(body, fields)
  const rows = listing.rows.map((row) => pickFields(row, fields))
  if (!listing.isList) return rows[0]
  return listing.from === undefined ? rows : { ...(body as object), [listing.from]: rows }
}

const toLines = (lines: readonly string[]): string =>
  lines
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('')

/** Returns a body whose texts are each on one line, without control characters. */
function escapeValues(value: unknown): unknown {
  if (typeof value === 'string') return oneLine(value)
  if (Array.isArray(value)) return value.map(escapeValues)
  if (!isObject(value) || isTooLarge(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [oneLine(name), escapeValues(inner)]),
  )
}

/** Where a result goes. `discard` leaves nothing behind. */
export type ResultSink = Pick<BatchSink, 'write' | 'finish'> & { discard(): Promise<void> }

/** Does work that writes a result. Leaves nothing of it behind where the work throws. */
export async function withSink<T>(
  context: StreamsContext,
  work: (sink: ResultSink) => Promise<T>,
): Promise<T> {
  const sink = await openSink(context)
  try {
    return await work(sink)
  } catch (error) {
    await sink.discard()
    throw error
  }
}

/**
 * Opens stdout, or a file: it is written as `FILE.partial`, 0600 from birth, and takes its name when it is
 * complete, so that half a result never has the final name.
 */
export async function openSink(context: StreamsContext): Promise<ResultSink> {
  const { streams, globals } = context
  const file = fileOf(globals)
  if (file === undefined) {
    const shown = formatOf(context) === 'table' ? styledStream(streams.stdout) : streams.stdout
    const nothing = async () => {}
    return { write: (text) => write(shown, String(text)), finish: nothing, discard: nothing }
  }
  checkOutputName(file, globals, streams)
  const path = resolve(streams.cwd, file)
  context.claimFile(path, '-o')
  await keepPartial(path, (text) => context.notify(text))
  const sink = await openFile(context, path, '-o')
  const discard = async () => {
    await sink.abandon()
    if (sink.partial !== undefined) await rm(sink.partial, { force: true })
  }
  return { write: sink.write, finish: sink.finish, discard }
}

/**
 * Opens a file that an option names for writing. Every such file is opened here. Throws UsageError where it must not be
 * replaced. Waiting for the reader of a pipe ends with a signal of the system, also
 * with one that came before.
 */
export async function openFile(
  context: StreamsContext,
  path: string,
  option: string,
  signal?: AbortSignal,
): Promise<BatchSink> {
  context.claimFile(path, option)
  const sink = await fileSink(path, nodeFiles, (work) =>
    signal?.aborted ? work(signal) : interruptible(context.streams, work),
  )
  const { output, partial } = sink
  if (option !== '-o' || !isWorkbookName(path) || output === undefined || partial === undefined) return sink
  return workbookSink({ ...sink, output, partial }, async (csv, xlsx) => {
    const { convertWorkbook } = await import('../../csv/workbook/convert.js')
    await interruptible(context.streams, (during) => convertWorkbook({ csv, xlsx }, during))
  })
}

/** Throws UsageError where the folder of an output is missing or cannot be written, before anything is asked or spent. */
export function checkOutputFolder(file: string, { cwd }: Streams): void {
  const path = resolve(cwd, file)
  const kind = statSync(path, { throwIfNoEntry: false })
  if (kind?.isDirectory()) throw new UsageError(`-o ${file} is a folder.`, 'Name a file in it.')
  if (kind && !kind.isFile()) return
  const folder = dirname(path)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`-o ${file}: there is no folder ${folder}.`, 'Create it, or name another file.')
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    throw new UsageError(`-o ${file}: the folder ${folder} cannot be written.`, 'Name a file elsewhere.')
  }
}

/** Whether a path is that of a pipe or device, which can be opened only once. */
export const isDevice = async ({ streams }: StreamsContext, file: string): Promise<boolean> =>
  (await nodeFiles.kind(resolve(streams.cwd, file)).catch(() => undefined)) === 'device'

/**
 * Throws UsageError where the name of an output says another format than it gets: that of a workbook which is not written, or
 * an unknown one. Without a format, what has no extension and what is no regular file is written as where there is none.
 */
export function checkOutputName(file: string, { format, json }: GlobalOptions, { cwd }: Streams): void {
  const extension = extname(file).toLowerCase()
  if (/^\.(?:xls|xlsm|xlsb|ods|numbers)$/.test(extension))
    throw new UsageError(`prospect does not write ${extension} files.`, 'Use -o FILE.xlsx or -o FILE.csv.')
  const hasFormat = format !== undefined || json === true
  if (isWorkbookName(file) && hasFormat)
    throw new UsageError(
      `${file} is the name of a workbook, and --${json ? 'json' : 'format'} chooses another format.`,
      'Leave that option out, or name another file with -o.',
    )
  if (hasFormat || extension === '' || isFormatKnown(file)) return
  if (statSync(resolve(cwd, file), { throwIfNoEntry: false })?.isFile() === false) return
  throw new UsageError(
    `-o ${file}: the extension ${extension} is not a known format.`,
    'Use .csv, .tsv, .json, .ndjson, .txt or .xlsx, or add --format.',
  )
}
