import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { openTable, spool, type Table } from '../../batch/input/table.js'
import {
  type CsvChoices,
  createLayout,
  csvFormat,
  excel,
  explode as explodeFormat,
  type Format,
  jsonFormat,
  type Layout,
  ndjsonFormat,
} from '../../batch/output/format.js'
import { type Rejects, rejecting, rejectsTo } from '../../batch/output/rejects.js'
import {
  createWriter,
  fileSink,
  nodeFiles,
  type Sink,
  streamSink,
  type Writer,
} from '../../batch/output/sink.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { keepPartial } from '../output/keep-partial.js'
import { fileOf } from '../output/output.js'
import { fileLock, hold } from '../runs/locks.js'
import { openRunFolder } from '../runs/run-folder.js'
import { type Job, missingOf } from './job.js'
import type { Choices, InputChoices } from './options.js'
import { chosenColumns, manyOf, rowColumnsOf } from './row-columns.js'

/** The input of a command. */
export interface InputFile {
  readonly table: Table
  /** Id for a run that reads it. */
  readonly id: string
  /** Whether it was read from a pipe. */
  readonly isPiped: boolean
  /** Keeps what was read from a pipe when the command ends. */
  keep(): void
}

/** Opens the input. A pipe can be read only once, so it is kept in a folder to be checked first. */
export async function openInput(context: Context, choices: InputChoices): Promise<InputFile> {
  const { encoding, delimiter, raw } = choices
  const options = { encoding, delimiter, raw }
  const id = context.ids.uuid()
  if (choices.file !== '-') {
    const table = await openTable(resolve(context.streams.cwd, choices.file), options)
    return { table, id, isPiped: false, keep: () => {} }
  }
  const folder = await openRunFolder(context, id)
  const file = join(folder.path, 'stdin.csv')
  await spool(context.streams.stdin, file)
  return { table: await openTable(file, options), id, isPiped: true, keep: folder.keep }
}

/** Where the rows of a run go. */
export interface Output {
  /** Absolute path; null for stdout. */
  readonly path: string | null
  readonly writer: Writer
  /** Where invalid rows go; nothing where they are in the output only. */
  readonly rejects: Rejects | undefined
  /** Whether the reader of our stdout has left. */
  isAbandoned(): boolean
}

/**
 * Opens the output before anything is paid for; what a run on record left there is on record too. Invalid rows are put
 * aside, too, unless `putsAside` is false.
 */
export async function openOutput(
  job: Job,
  table: Table,
  isOnRecord: (path: string) => Promise<boolean>,
  putsAside = true,
): Promise<Output> {
  const { shell, choices, globals } = job
  const { context } = shell
  const format = rowFormat(job, table.header)
  const file = fileOf(globals)
  const { stdout, cwd } = context.streams
  const path = file === undefined ? null : resolve(cwd, file)
  const aside = putsAside ? (choices.rejects ?? besideOf(path)) : undefined
  checkOutput(path, table)
  checkRejects(aside, table, path)
  for (const one of [path, aside]) await holdFile(context, one)
  if (path !== null && !(await isOnRecord(path))) await keepPartial(context, path, globals)
  // Of what cannot be opened nothing is left behind.
  const named = choices.rejects === undefined ? undefined : await openRejects(aside, table, choices)
  const sink = path === null ? streamSink(stdout) : await fileSink(path).catch(refusedBy(named))
  // Nothing can be put beside a device.
  const rejects = named ?? (sink.partial === undefined ? undefined : await openRejects(aside, table, choices))
  let abandoned = false
  const watched: Sink = {
    ...sink,
    write: (text) =>
      sink.write(text).catch((error) => {
        abandoned = (error as { code?: unknown }).code === 'EPIPE'
        throw error
      }),
  }
  const writer = createWriter(watched, format)
  const all = rejects ? rejecting(writer, rejects) : writer
  return { path, writer: all, rejects, isAbandoned: () => abandoned }
}

const refusedBy =
  (rejects: Rejects | undefined) =>
  async (error: unknown): Promise<never> => {
    await rejects?.abandon()
    throw error
  }

/** The file for invalid rows that belongs to an output: beside it. */
const besideOf = (output: string | null): string | undefined =>
  output === null ? undefined : `${output.replace(/\.(?:csv|tsv|txt|json|ndjson|jsonl)$/i, '')}.rejects.csv`

/** Refuses an output that is the input: the same command would then read, and pay for, another file. */
function checkOutput(path: string | null, table: Table): void {
  if (path === null || trueName(path) !== trueName(table.path)) return
  throw new UsageError(
    `The output would replace the file that is read: ${path}.`,
    'Name another file with -o; move it there when you have looked at it.',
  )
}

/** Two commands that write one file would each lose rows: the second is refused. */
async function holdFile(context: Context, path: string | null | undefined): Promise<void> {
  if (path === null || path === undefined) return
  const kind = await nodeFiles.kind(path).catch(() => undefined)
  if (kind === 'file' || kind === 'nothing')
    hold(context, fileLock(context, trueName(path)), `The file ${path}`)
}

/** A path without links; of a file that is not there, its folder's. */
function trueName(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return dirname(path) === path ? path : join(trueName(dirname(path)), basename(path))
  }
}

/** Refuses a file for invalid rows that is one of the others. */
function checkRejects(path: string | undefined, table: Table, output: string | null): void {
  if (path === undefined || (path !== table.path && path !== output)) return
  throw new UsageError(
    `Invalid rows would replace the file ${path === output ? 'of the output' : 'that is read'}: ${path}.`,
    'Name another file with --rejects, or another output with -o.',
  )
}

/** Opens the file for invalid rows of a command whose output is no rows: nothing where neither option names a file. */
export async function openRejectsOf(
  context: Context,
  table: Table,
  choices: Pick<InputChoices, 'raw' | 'rejects'>,
  globals: GlobalOptions,
): Promise<Rejects | undefined> {
  const file = fileOf(globals)
  const output = file === undefined ? null : resolve(context.streams.cwd, file)
  const isDevice = output !== null && (await nodeFiles.kind(output).catch(() => undefined)) === 'device'
  const aside = choices.rejects ?? besideOf(isDevice ? null : output)
  checkRejects(aside, table, output)
  return openRejects(aside, table, choices)
}

/** Opens the file for invalid rows. */
async function openRejects(
  path: string | undefined,
  table: Table,
  { raw }: Pick<InputChoices, 'raw'>,
): Promise<Rejects | undefined> {
  if (path === undefined) return undefined
  return rejectsTo(await fileSink(path), table, raw)
}

function rowFormat(job: Job, header: readonly string[]): Format {
  const { operation, shape, choices } = job
  const { explode = false, format, raw } = choices
  const columns = chosenColumns(rowColumnsOf(job, explode), choices.fields)
  const layout = createLayout(header, columns, missingOf(job, header))
  const forExcel = choices.excel ? excel(localeOf(job.shell.context)) : {}
  const written = formatOf(layout, format, { ...forExcel, raw })
  const many = manyOf(operation, shape)
  return many && explode ? explodeFormat(written, many) : written
}

function formatOf(layout: Layout, format: Choices['format'], csv: CsvChoices): Format {
  if (format === 'ndjson') return ndjsonFormat(layout)
  if (format === 'json') return jsonFormat(layout)
  return csvFormat(layout, format === 'tsv' ? { ...csv, delimiter: '\t' } : csv)
}

/** The locale that numbers are written in; nothing where the system does not say. */
const localeOf = ({ streams: { env } }: Context): string | undefined =>
  env.LC_ALL || env.LC_NUMERIC || env.LANG || undefined
