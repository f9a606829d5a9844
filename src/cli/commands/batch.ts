import { mkdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Input } from '../../api/caller.js'
import { coerceField } from '../../api/coerce.js'
import { validate } from '../../api/invalid.js'
import type { Shape } from '../../api/shapes.js'
import type { Operation } from '../../api/table.js'
import { checkTable } from '../../batch/check.js'
import { resultColumns } from '../../batch/columns.js'
import { csvFormat, excel, type Format, jsonFormat, ndjsonFormat } from '../../batch/format.js'
import { createLayout, type Layout } from '../../batch/layout.js'
import { describeMapping, type Mapping, mapColumns, parsePins, rowInput } from '../../batch/mapping.js'
import { openTable, spool, type Table } from '../../batch/read.js'
import { exitCodeOf } from '../../batch/report.js'
import { run } from '../../batch/run.js'
import { createScratch } from '../../batch/scratch.js'
import { fileSink, streamSink } from '../../batch/sink.js'
import { createWriter, type Writer } from '../../batch/write.js'
import { countryOf } from '../../catalogue/country.js'
import { openSqlite } from '../../storage/sqlite.js'
import { confirm } from '../ask.js'
import type { Context, GlobalOptions } from '../context.js'
import { exits, UsageError } from '../exit.js'
import { credited } from '../facts.js'
import { prepareHome } from '../home.js'
import { exitOfSignal, interruptible } from '../interrupts.js'
import { fileOf, formatOf } from '../output.js'
import { startProgress } from '../progress.js'
import { tellReport } from '../report.js'
import { identityOf } from '../row-identity.js'
import type { Invocation, Shell } from '../shell.js'
import { grouped } from '../terminal.js'

/** What the options of a batch command ask for. */
interface Choices {
  readonly file: string
  readonly map: readonly string[]
  readonly mapOnly: boolean
  readonly encoding: string | undefined
  readonly delimiter: string | undefined
  readonly excel: boolean
  readonly raw: boolean
  readonly failOn: 'any' | 'none'
}

/** A batch on its way: the command, its operation, and what is the same in every row. */
interface Job {
  readonly shell: Shell
  readonly operation: Operation
  readonly shape: Shape
  readonly constants: Input
  readonly choices: Choices
  readonly globals: GlobalOptions
}

/** Runs a lookup for each row of a CSV file; answers the exit code. */
export async function batch(
  shell: Shell,
  operation: Operation,
  shape: Shape,
  constants: Input,
  { options, globals }: Invocation,
): Promise<number> {
  const job: Job = { shell, operation, shape, constants, choices: choicesOf(options), globals }
  const { context } = shell
  const folder = await workFolder(context)
  const table = await openInput(context, job.choices, folder)
  const mapping = mapped(job, table)
  if (job.choices.mapOnly) return showMapping(job, mapping)
  for (const line of describeMapping(mapping)) context.notify(line, globals)
  const { rows, ragged, firstRagged } = await checkTable(table)
  if (ragged > 0)
    context.notify(
      `${grouped(ragged)} rows have more or fewer cells than the header (first: line ${firstRagged}).`,
      globals,
    )
  if (!(await agreed(job, rows))) return exits.ok
  return interruptible(context.streams, (signal) => runAll(job, table, mapping, rows, folder, signal))
}

function choicesOf(options: Invocation['options']): Choices {
  if (options.dryRun)
    throw new UsageError('--dry-run does not work with --csv yet.', 'Leave out --csv to see one request.')
  if (options.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key does not go with --csv: each paid row has a key of its own.')
  const text = (name: string) => (typeof options[name] === 'string' ? (options[name] as string) : undefined)
  return {
    file: text('csv') ?? '',
    map: (options.map as string[] | undefined) ?? [],
    mapOnly: options.mapOnly === true,
    encoding: text('encoding'),
    delimiter: text('delimiter'),
    excel: options.excel === true,
    raw: options.rawCsv === true,
    failOn: text('failOn') === 'none' ? 'none' : 'any',
  }
}

/** A folder for what the run needs beside its files; removed at the end. */
async function workFolder(context: Context): Promise<string> {
  prepareHome(context.home)
  const folder = join(dirname(context.home.state), 'runs', context.ids.uuid())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  context.onClose(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function openInput(context: Context, choices: Choices, folder: string): Promise<Table> {
  const { encoding, delimiter, raw } = choices
  if (choices.file !== '-')
    return openTable(resolve(context.streams.cwd, choices.file), { encoding, delimiter, raw })
  // A pipe can be read once only; its content is checked before it is worked on.
  const file = join(folder, 'stdin.csv')
  await spool(context.streams.stdin, file)
  return openTable(file, { encoding, delimiter, raw })
}

function mapped({ operation, shape, constants, choices }: Job, table: Table): Mapping {
  return mapColumns({
    header: table.header,
    fields: Object.keys(shape.input.shape),
    subject: operation.batch?.identity ?? 'company',
    pins: parsePins(choices.map),
    constants,
  })
}

async function showMapping({ shell, globals }: Job, mapping: Mapping): Promise<number> {
  await shell.print(mapping, globals, { layout: () => `${describeMapping(mapping).join('\n')}\n` })
  return exits.ok
}

/** On a terminal, what may be spent is agreed on first. */
async function agreed({ shell, operation, globals }: Job, rows: number): Promise<boolean> {
  const price = Math.max(0, ...Object.values(operation.price))
  if (price === 0 || rows === 0) return true
  return confirm(shell.context, `${grouped(rows)} rows, at most ${credited(rows * price)}. Start?`, globals)
}

async function runAll(
  job: Job,
  table: Table,
  mapping: Mapping,
  rows: number,
  folder: string,
  signal: AbortSignal,
): Promise<number> {
  const { shell, operation, shape, constants, globals, choices } = job
  const { context } = shell
  const writer = await openWriter(job, table)
  const caller = await context.caller(globals)
  const journal = await createScratch(openSqlite(join(folder, 'scratch.db'), { durable: false }), {
    expected: rows,
  })
  context.onClose(() => journal.close())
  const progress = await startProgress(context, globals)
  const report = await run({
    table,
    input: rowInput(mapping, constants, convertOf(shape)),
    validate: (input) => void validate(operation.id, shape, input),
    identity: identityOf(operation),
    operation: operation.id,
    caller,
    callOptions: { apiKey: await context.apiKey(globals) },
    journal,
    writer,
    time: {
      now: () => context.clock.now(),
      sleep: (ms, aborted) => context.sleep(ms, aborted).catch(() => {}),
    },
    total: rows,
    signal,
    onProgress: (step) => progress.update(step),
  }).finally(() => progress.stop())
  await tellReport(context, report, globals)
  return exitOfSignal(signal) ?? exitCodeOf(report, choices.failOn)
}

/** Reads cells as the fields take them; countries by any of their names. */
function convertOf(shape: Shape): (field: string, cell: string) => unknown {
  const fields: Readonly<Record<string, Parameters<typeof coerceField>[0]>> = shape.input.shape
  return (field, cell) => {
    if (field === 'country' || field === 'country_code') return countryOf(cell) ?? cell
    const schema = fields[field]
    return schema ? coerceField(schema, cell) : cell
  }
}

async function openWriter({ shell, shape, globals, choices }: Job, table: Table): Promise<Writer> {
  const file = fileOf(globals)
  const { streams } = shell.context
  // Rows stream as CSV whatever the terminal: a table would need them all.
  const format = file === undefined && !globals.format && !globals.json ? 'csv' : formatOf(globals, streams)
  const layout = createLayout(table.header, resultColumns(shape.output), choices.raw)
  const sink = file === undefined ? streamSink(streams.stdout) : await fileSink(resolve(streams.cwd, file))
  return createWriter(sink, rowFormat(format, layout, choices))
}

function rowFormat(format: ReturnType<typeof formatOf>, layout: Layout, choices: Choices): Format {
  if (format === 'ndjson') return ndjsonFormat(layout)
  if (format === 'json') return jsonFormat(layout)
  const csv = { ...(choices.excel ? excel : {}), raw: choices.raw }
  if (format === 'csv') return csvFormat(layout, csv)
  if (format === 'tsv') return csvFormat(layout, { ...csv, delimiter: '\t' })
  throw new UsageError(`--format ${format} does not go with --csv.`, 'Use csv, tsv, ndjson or json.')
}
