import type { Input } from '../../api/caller.js'
import { validate } from '../../api/invalid.js'
import { isPriced } from '../../api/operation.js'
import type { Shape } from '../../api/shapes.js'
import type { Operation } from '../../api/table.js'
import { type Check, checkTable } from '../../batch/check.js'
import { describeMapping, type Mapping, mapColumns, parsePins, rowInput } from '../../batch/mapping.js'
import type { Table } from '../../batch/read.js'
import { exitCodeOf } from '../../batch/report.js'
import { run } from '../../batch/run.js'
import { createScratch } from '../../batch/scratch.js'
import type { Driver } from '../../storage/driver.js'
import { confirm } from '../ask.js'
import { type Choices, choicesOf } from '../batch-choices.js'
import { openInput, openOutput } from '../batch-files.js'
import type { GlobalOptions } from '../context.js'
import { exits } from '../exit.js'
import { credited, priceText } from '../facts.js'
import { exitOfSignal, interruptible } from '../interrupts.js'
import { startProgress } from '../progress.js'
import { rowed, tellReport } from '../report.js'
import { identityOf } from '../row-identity.js'
import { valueReader } from '../row-values.js'
import { openRunFolder } from '../run-folder.js'
import type { Invocation, Shell } from '../shell.js'
import { grouped } from '../terminal.js'

/** A batch on its way: its operation, what is the same in every row, and what the options ask for. */
interface Job {
  readonly shell: Shell
  readonly operation: Operation
  readonly shape: Shape
  readonly constants: Input
  readonly choices: Choices
  readonly globals: GlobalOptions
  /** For what the run has to remember. */
  readonly database: Driver
}

/** Runs a lookup for each row of a CSV file; answers the exit code. */
export async function batch(
  shell: Shell,
  operation: Operation,
  shape: Shape,
  constants: Input,
  invocation: Invocation,
): Promise<number> {
  const { context } = shell
  const { globals } = invocation
  const choices = choicesOf(invocation, context.streams)
  const { path, database } = await openRunFolder(context)
  const table = await openInput(context, choices, path)
  const job: Job = { shell, operation, shape, constants, choices, globals, database }
  const mapping = mappingOf(job, table)
  if (choices.mapOnly) return showMapping(job, mapping)
  for (const line of describeMapping(mapping)) context.notify(line, globals)
  const lookup = lookupOf(job, mapping)
  const check = await checked(job, table, lookup)
  if (!(await agreed(job, check.rows))) return exits.ok
  return interruptible(context.streams, (signal) => runAll(job, table, lookup, check, signal))
}

function mappingOf({ operation, shape, constants, choices }: Job, table: Table): Mapping {
  return mapColumns({
    header: table.header,
    fields: Object.keys(shape.input.shape),
    subject: operation.batch?.identity ?? 'company',
    pins: parsePins(choices.map),
    constants,
  })
}

/** Prints which column fills which field; answers the exit code. */
export async function showMapping(
  { shell, globals }: Pick<Job, 'shell' | 'globals'>,
  mapping: Mapping,
): Promise<number> {
  await shell.print(mapping, globals, { layout: () => `${describeMapping(mapping).join('\n')}\n` })
  return exits.ok
}

/** What a row asks for. */
interface Lookup {
  readonly input: (cells: readonly string[]) => Input
  /** Equal for inputs that are the same paid lookup. */
  readonly identity: (input: Input) => string | undefined
}

const lookupOf = ({ operation, shape, constants }: Job, mapping: Mapping): Lookup => ({
  input: rowInput(mapping, constants, valueReader(shape.input)),
  identity: identityOf(operation),
})

/** Reads the whole file before the first paid call, and learns which answers will be needed again. */
async function checked({ shell, globals }: Job, table: Table, { input, identity }: Lookup): Promise<Check> {
  const check = await checkTable(table, (cells) => identity(input(cells)))
  const { ragged, firstRagged } = check
  if (ragged > 0)
    shell.context.notify(
      ragged === 1
        ? `The row on line ${firstRagged} has more or fewer cells than the header.`
        : `${grouped(ragged)} rows have more or fewer cells than the header; the first is on line ${firstRagged}.`,
      globals,
    )
  return check
}

/** On a terminal, what may be spent is agreed on first. */
async function agreed({ shell, operation, globals }: Job, rows: number): Promise<boolean> {
  if (!isPriced(operation) || rows === 0) return true
  return confirm(shell.context, `${rowed(rows)}, ${mostText(operation, rows)} Start?`, globals)
}

/** The most that rows can cost where each is one lookup; where a row may find several, what each of them costs. */
function mostText(operation: Operation, rows: number): string {
  const single = operation.needs === 'unit' && operation.price.job === undefined
  const price = Math.max(0, ...Object.values(operation.price))
  return single ? `at most ${credited(rows * price)}.` : priceText(operation)
}

async function runAll(
  job: Job,
  table: Table,
  lookup: Lookup,
  { rows, repeats }: Check,
  signal: AbortSignal,
): Promise<number> {
  const { shell, operation, shape, globals, choices, database } = job
  const { context } = shell
  const output = await openOutput(context, table.header, shape, choices, globals)
  const journal = await createScratch(database, { expected: rows, repeats })
  const progress = await startProgress(context, globals)
  const report = await run({
    table,
    ...lookup,
    validate: (input) => void validate(operation.id, shape, input),
    operation: operation.id,
    caller: await context.caller(globals),
    callOptions: { apiKey: await context.apiKey(globals) },
    journal,
    writer: output.writer,
    time: {
      now: () => context.clock.now(),
      sleep: (ms, aborted) => context.sleep(ms, aborted).catch(() => {}),
    },
    total: rows,
    signal,
    onProgress: (step) => progress.update(step),
  }).finally(() => progress.stop())
  // A reader that left early (`| head`) has what it wanted.
  if (output.isAbandoned()) return exits.ok
  await tellReport(context, report, globals)
  return exitOfSignal(signal) ?? exitCodeOf(report, choices.failOn)
}
