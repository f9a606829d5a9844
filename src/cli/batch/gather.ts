import { resolve } from 'node:path'
import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { itemOf, type Problem, readItems } from '../../batch/gather-items.js'
import { describeMapping } from '../../batch/input/mapping.js'
import { openInput } from '../../batch/run/find-run.js'
import { openRejectsOf } from '../../batch/run/open-output.js'
import type { InputChoices } from '../../batch/run/request.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import type { CommandEnvironment, Invocation } from '../options/command-environment.js'
import { fileOf } from '../output/output.js'
import { formatToFix, grouped } from '../output/text.js'
import { chooseMapping } from './map-columns.js'
import { toRunHome } from './ports.js'

/** A file whose rows go out in one request, as the items of its field `into`. */
export interface GatherRequest {
  readonly environment: CommandEnvironment
  readonly operation: Operation
  readonly shape: Shape
  readonly into: string
  readonly given: Input
  readonly invocation: Invocation
  readonly choices: InputChoices
}

/** Reads the rows of a file and reports those that are invalid; `rows` is absent where only the mapping is wanted. */
export async function gatherRows({
  environment: { context },
  operation,
  shape,
  into,
  invocation,
  choices,
}: GatherRequest) {
  const { globals } = invocation
  const { table } = await openInput({ ...toRunHome(context), streams: context.streams }, choices)
  const item = itemOf(shape, into)
  const subject = operation.batch?.identity ?? 'company'
  const columns = { header: table.header, fields: Object.keys(item.shape), subject }
  const { mapping } = await chooseMapping(context, globals, choices, columns, item)
  const file = fileOf(globals)
  const output = file === undefined ? null : resolve(context.streams.cwd, file)
  if (choices.mapOnly) return { mapping, output }
  for (const line of describeMapping(mapping)) context.notify(line, globals)
  const rejects = choices.dryRun ? undefined : await openRejectsOf(output, table, choices)
  const rows = await readItems(operation, item, table, mapping, rejects)
  showProblems(context, rows.problems, globals, rejects?.file ?? null)
  if (rows.items.length === 0) throw new UsageError(`${choices.file} has no row that could be sent.`)
  return { mapping, output, rows, rejects }
}

/** Rows reported one by one; the others are counted. */
const problemsShown = 10

function showProblems(
  context: Context,
  problems: readonly Problem[],
  globals: GlobalOptions,
  rejects: string | null,
): void {
  for (const { line, text } of problems.slice(0, problemsShown))
    context.notify(`Line ${line} is left out: ${text}.`, globals)
  const more = problems.length - problemsShown
  if (more > 0)
    context.notify(`${grouped(more)} more ${more === 1 ? 'line is' : 'lines are'} left out.`, globals)
  if (rejects !== null) context.notify(formatToFix(problems.length, rejects), globals)
}
