import { resolve } from 'node:path'
import { openInput } from '../../runs/find-run.js'
import { describeMapping } from '../../runs/input/mapping.js'
import { checkTable, selectRows } from '../../runs/input/table.js'
import { type ItemProblem, itemOf, readItems } from '../../runs/items.js'
import { openRejectsOf } from '../../runs/open-output.js'
import type { InputChoices } from '../../runs/request.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import type { OperationRequest } from '../operation/request.js'
import { fileOf } from '../output/output.js'
import { formatLeftOut, formatNumber, formatToFix, oneLine } from '../output/text.js'
import { chooseMapping } from './map-columns.js'
import { filePorts, toRunHome } from './run-home.js'

/**
 * Reads the rows of a file as items of the field `into`, and reports those that are invalid. `rows` is absent with
 * `--map-only`.
 */
export async function gatherRows(
  context: Context,
  { operation, shape }: OperationRequest,
  into: string,
  choices: InputChoices,
) {
  const { table } = await openInput(
    { ...toRunHome(context), ...filePorts(context), streams: context.streams },
    choices,
  )
  const item = itemOf(shape, into)
  const subject = operation.batch?.identity ?? 'company'
  const columns = {
    ...{ header: table.header, samples: table.samples, notes: table.notes },
    ...{ fields: Object.keys(item.shape), subject },
    overrides: choices.overrides,
  }
  const { mapping } = await chooseMapping(context, choices, columns, item)
  const file = fileOf(context.globals)
  const output = file === undefined ? null : resolve(context.streams.cwd, file)
  if (choices.mapOnly) return { mapping, output }
  for (const line of describeMapping(mapping, context.streams.stderr.columns)) context.notify(oneLine(line))
  const rejects = choices.dryRun ? undefined : await openRejectsOf(filePorts(context), output, table, choices)
  const total = choices.sample === undefined ? 0 : (await checkTable(table)).rows
  const selected = selectRows(table, choices.sample === undefined ? {} : choices, total).table
  const rows = await readItems(operation, item, selected, mapping, rejects, choices.overrides)
  showProblems(context, rows.problems, rejects?.file ?? null)
  for (const line of formatLeftOut(rows.leftOut)) context.notify(`Left out: ${oneLine(line)}`)
  if (rows.items.length === 0) throw new UsageError(`${choices.file} has no valid rows.`)
  return { mapping, output, rows, rejects }
}

/** The most rows that are reported one by one. */
const maxProblems = 10

function showProblems(context: Context, problems: readonly ItemProblem[], rejects: string | null): void {
  for (const { line, text } of problems.slice(0, maxProblems))
    context.notify(`Line ${line} was skipped: ${text}.`)
  const more = problems.length - maxProblems
  if (more > 0)
    context.notify(`${formatNumber(more)} more ${more === 1 ? 'line was' : 'lines were'} skipped.`)
  if (rejects !== null) context.notify(formatToFix(problems.length, rejects))
}
