import { resolve } from 'node:path'
import type { z } from 'zod'
import type { Shape } from '../../../api/areas/shapes.js'
import type { Input } from '../../../api/calls/caller.js'
import { ApiError } from '../../../api/calls/errors.js'
import type { Operation } from '../../../api/operations/table.js'
import { validate } from '../../../api/validation/validate.js'
import { toJson } from '../../../api/values/json.js'
import { describeMapping, type Mapping, rowInput } from '../../../batch/input/mapping.js'
import type { Table } from '../../../batch/input/table.js'
import type { Report } from '../../../batch/output/report.js'
import type { Rejects } from '../../../batch/output/writer.js'
import { valueReader } from '../../../batch/plan/lookup.js'
import { openInput } from '../../../batch/run/find-run.js'
import { openRejectsOf } from '../../../batch/run/open-output.js'
import type { InputChoices } from '../../../batch/run/request.js'
import { chooseMapping, showMapping, withSavedMap } from '../../batch/map-columns.js'
import { inputChoicesOf, runChoicesOf } from '../../batch/options.js'
import { type EndedBatch, withSummary } from '../../batch/summary-json.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { exits, UsageError } from '../../context/errors.js'
import { fieldsOfSchema } from '../../options/schema-options.js'
import { fileOf } from '../../output/output.js'
import { grouped } from '../../output/terminal.js'
import { askMissing } from '../../prompt/ask-fields.js'
import { toRunHome } from '../../runs/shared-runs.js'
import type { Invocation, Shell } from '../../shell/shell.js'
import { runStarting } from '../../wait/run-async.js'

/** Sends all rows of a file together, in one request: as the items of its field `into`. Answers the exit code. */
export async function gathered(
  shell: Shell,
  operation: Operation,
  shape: Shape,
  into: string,
  given: Input,
  invocation: Invocation,
): Promise<number> {
  const { context } = shell
  const { globals, options } = invocation
  if (given[into] !== undefined)
    throw new UsageError(`--csv and --${into} exclude each other.`, `Put all ${into} into the file.`)
  const { summaryJson } = runChoicesOf(options, context.streams)
  const asked = { ...inputChoicesOf(invocation, context.streams), summaryJson }
  const choices = withSavedMap(context, asked, options.useMap)
  const request = { shell, operation, shape, into, given, invocation, choices }
  return withSummary(context, { operation, globals, choices }, (ended) => gather(request, ended))
}

/** A list that is to be made of a file. */
interface Request {
  readonly shell: Shell
  readonly operation: Operation
  readonly shape: Shape
  readonly into: string
  readonly given: Input
  readonly invocation: Invocation
  readonly choices: InputChoices
}

async function gather(request: Request, ended: (what: EndedBatch) => void): Promise<number> {
  const { shell, operation, shape, into, given, invocation, choices } = request
  const { context } = shell
  const { globals } = invocation
  const begun = context.clock.now()
  const ports = { ...toRunHome(context), streams: context.streams }
  const { table } = await openInput(ports, choices)
  const item = itemOf(shape, into)
  const subject = operation.batch?.identity ?? 'company'
  const columns = { header: table.header, fields: Object.keys(item.shape), subject }
  const { mapping } = await chooseMapping(context, globals, choices, columns, item)
  if (choices.mapOnly) return showMapping(shell, mapping, globals)
  for (const line of describeMapping(mapping)) context.notify(line, globals)
  const output = outputOf(context, globals)
  const rejects = choices.dryRun ? undefined : await openRejectsOf(output, table, choices)
  const rows = await readItems(operation, item, table, mapping, rejects)
  tellProblems(context, rows.problems, globals, rejects?.file ?? null)
  if (rows.items.length === 0) throw new UsageError(`${choices.file} has no row that could be sent.`)
  if (choices.dryRun) {
    checkSize(operation, { ...given, [into]: rows.items }, choices.file)
    const { quoteTogether } = await import('../../batch/quote-together.js')
    return quoteTogether(shell, operation, rows.items, rows.problems.length, globals)
  }
  const fields = fieldsOfSchema(shape.input)
  const input = await askMissing(context, shape, fields, { ...given, [into]: rows.items }, globals)
  checkSize(operation, input, choices.file)
  const lineOf = (ordinal: number) => rows.lines[ordinal - 1]
  const code = await runStarting(shell, operation, shape, input, invocation, lineOf)
  ended({ run: null, report: reportOf(request, rows, code, context.clock.now() - begun), rejects })
  const isFailure = choices.failOn === 'any' && rows.problems.length > 0
  return code === exits.ok && isFailure ? exits.someFailed : code
}

/** What a request for all rows did, as a run tells of it: its companies are in the list, or none of them. */
function reportOf(
  { shell: { context }, invocation: { globals } }: Request,
  { items, problems }: Items,
  code: number,
  ms: number,
): Report {
  const isDone = code === exits.ok
  const stopped = {
    ...{ reason: 'The list was not completed; stderr says why', hint: '', exit_code: code },
    ...{ at_row: null, rows_left: items.length },
  }
  return {
    ...{ rows: items.length + problems.length, found: isDone ? items.length : 0, not_found: 0 },
    ...{ invalid: problems.length, failed: isDone ? 0 : items.length, skipped: 0 },
    ...{ live: items.length, stored: 0, duplicates: 0, credits: 0, credits_before: 0, seconds: ms / 1_000 },
    ...(isDone ? {} : { stopped }),
    ...{ output: isDone ? outputOf(context, globals) : null, partial: null },
  }
}

/** Returns the absolute path of the output; null for stdout. */
function outputOf({ streams }: Context, globals: GlobalOptions): string | null {
  const file = fileOf(globals)
  return file === undefined ? null : resolve(streams.cwd, file)
}

/** The schema of the items of an array field. */
const itemOf = ({ input }: Shape, field: string): z.ZodObject =>
  (input.shape[field] as unknown as z.ZodArray<z.ZodObject>).element

/** More would be refused: the most items an array takes. */
const mostItems = 100_000

interface Problem {
  readonly line: number
  readonly text: string
}

interface Items {
  readonly items: readonly Input[]
  /** Line of each item, in their order. */
  readonly lines: readonly number[]
  readonly problems: readonly Problem[]
}

async function readItems(
  operation: Operation,
  item: z.ZodObject,
  table: Table,
  mapping: Mapping,
  rejects: Rejects | undefined,
): Promise<Items> {
  const toInput = rowInput(mapping, {}, valueReader(item))
  const shape: Shape = { input: item, output: item }
  const found = { items: [] as Input[], lines: [] as number[], problems: [] as Problem[] }
  try {
    for await (const rows of table.rows())
      for (const { cells, line } of rows) {
        const input = toInput(cells)
        const text = raggedText(cells, table.header) ?? refusalOf(() => validate(operation.id, shape, input))
        if (text !== undefined) {
          found.problems.push({ line, text })
          await rejects?.add([cells])
        } else {
          found.items.push(input)
          found.lines.push(line)
        }
        if (found.items.length > mostItems)
          throw new UsageError(
            `${table.path} has more than ${grouped(mostItems)} companies, which is the most a list takes.`,
            'Split the file.',
          )
      }
  } catch (error) {
    await rejects?.abandon()
    throw error
  }
  await rejects?.finish()
  return found
}

function raggedText(cells: readonly string[], header: readonly string[]): string | undefined {
  if (cells.length === header.length) return undefined
  return `it has ${cells.length} cells, and the header has ${header.length}`
}

function refusalOf(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error.message
    throw error
  }
}

/** Rows told one by one; the others are counted. */
const problemsTold = 10

function tellProblems(
  context: Context,
  problems: readonly Problem[],
  globals: GlobalOptions,
  rejects: string | null,
): void {
  for (const { line, text } of problems.slice(0, problemsTold))
    context.notify(`Line ${line} is left out: ${text}.`, globals)
  const more = problems.length - problemsTold
  if (more > 0)
    context.notify(`${grouped(more)} more ${more === 1 ? 'line is' : 'lines are'} left out.`, globals)
  if (rejects !== null) context.notify(`They are to mend and run again in ${rejects}`, globals)
}

function checkSize({ bodyLimit }: Operation, input: Input, file: string): void {
  const bytes = Buffer.byteLength(toJson(input))
  if (bodyLimit === undefined || bytes <= bodyLimit) return
  const mebibytes = (size: number) => `${Math.ceil(size / 1_048_576)} MiB`
  throw new UsageError(
    `${file} makes a request of ${mebibytes(bytes)}, and the most that is taken is ${mebibytes(bodyLimit)}.`,
    'Split the file.',
  )
}
