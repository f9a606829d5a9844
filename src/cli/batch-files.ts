import { join, resolve } from 'node:path'
import type { Shape } from '../api/shapes.js'
import { type ResultColumn, resultColumns } from '../batch/columns.js'
import { csvFormat, excel, type Format, jsonFormat, ndjsonFormat } from '../batch/format.js'
import { createLayout, type Layout } from '../batch/layout.js'
import { nearest } from '../batch/nearest.js'
import { openTable, spool, type Table } from '../batch/read.js'
import { fileSink, type Sink, streamSink } from '../batch/sink.js'
import { createWriter, type Writer } from '../batch/write.js'
import type { Choices, InputChoices } from './batch-choices.js'
import type { Context, GlobalOptions } from './context.js'
import { UsageError } from './exit.js'
import { keepPartial } from './keep-partial.js'
import { fileOf } from './output.js'
import { openRunFolder } from './run-folder.js'

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
  /** Whether the reader of our stdout has left. */
  isAbandoned(): boolean
}

/** Opens the output before anything is paid for; what a run on record left there is on record too. */
export async function openOutput(
  context: Context,
  header: readonly string[],
  shape: Shape,
  choices: Choices,
  globals: GlobalOptions,
  isOnRecord: (path: string) => Promise<boolean>,
): Promise<Output> {
  const layout = createLayout(header, chosenColumns(resultColumns(shape.output), choices.fields))
  const file = fileOf(globals)
  const { stdout, cwd } = context.streams
  const path = file === undefined ? null : resolve(cwd, file)
  if (path !== null && !(await isOnRecord(path))) await keepPartial(context, path, globals)
  const sink = path === null ? streamSink(stdout) : await fileSink(path)
  let abandoned = false
  const watched: Sink = {
    ...sink,
    write: (text) =>
      sink.write(text).catch((error) => {
        abandoned = (error as { code?: unknown }).code === 'EPIPE'
        throw error
      }),
  }
  return { path, writer: createWriter(watched, rowFormat(layout, choices)), isAbandoned: () => abandoned }
}

/** The result columns that `--fields` names; an object's name stands for all its columns. */
function chosenColumns(
  columns: readonly ResultColumn[],
  fields: readonly string[] | undefined,
): ResultColumn[] {
  if (!fields) return [...columns]
  return fields.flatMap((field) => {
    const chosen = columns.filter(({ name }) => name === field || name.startsWith(`${field}.`))
    if (chosen.length > 0) return chosen
    const names = columns.map(({ name }) => name)
    const meant = nearest(field, names)
    throw new UsageError(
      `--fields names "${field}", which the result does not have.`,
      meant ? `Did you mean ${meant}?` : `It has: ${names.join(', ')}.`,
    )
  })
}

function rowFormat(layout: Layout, { format, excel: forExcel, raw }: Choices): Format {
  if (format === 'ndjson') return ndjsonFormat(layout)
  if (format === 'json') return jsonFormat(layout)
  const csv = { ...(forExcel ? excel : {}), raw }
  return csvFormat(layout, format === 'tsv' ? { ...csv, delimiter: '\t' } : csv)
}
