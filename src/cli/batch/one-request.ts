import { resolve } from 'node:path'
import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { footerNote } from '../../csv/footer.js'
import { openInput } from '../../runs/find-run.js'
import { checkTable, selectRows } from '../../runs/input/table.js'
import { checkCount, checkSize, type Items, itemOf, quoteItems, readItems } from '../../runs/items.js'
import { openKnownRows } from '../../runs/lists.js'
import { openRejectsOf } from '../../runs/open-output.js'
import { explainRows } from '../../runs/plan/explain.js'
import type { InputChoices } from '../../runs/request.js'
import { runAsync } from '../call/await.js'
import { type OperationRequest, requireOptions } from '../call/build.js'
import { readRemaining } from '../call/limits.js'
import type { Context } from '../context/context.js'
import { describe } from '../messages.js'
import { fileOf } from '../output/output.js'
import { chooseEncoding } from '../output/prompt.js'
import { formatLeftOut, formatNumber, formatToFix, oneLine } from '../output/text.js'
import { targetIn } from '../target/resolve-target.js'
import { chooseMapping, describeMapping, mappingView } from './map-columns.js'
import { inputChoicesOf, runChoicesOf } from './options.js'
import { showQuote } from './quote.js'
import { type EndedBatch, emptyReport, withSummary } from './report.js'
import { filePorts, listPorts } from './run-home.js'

/** Sends all rows of a file in one request, as the items of its field `into`. Returns the exit code. */
export async function sendTogether(
  context: Context,
  request: OperationRequest,
  into: string,
): Promise<number> {
  const { operation, shape, input: constants } = request
  const { options } = request.invocation
  if (constants[into] !== undefined) throw new Refusal('usage.csv_or_many', { into })
  const { summaryJson } = runChoicesOf(options, context.streams)
  const choices = { ...inputChoicesOf(options, context.streams), summaryJson }
  return withSummary(context, { operation, choices }, async (onEnd) => {
    const startedAt = context.clock.now()
    const { mapping, output, rows, rejects } = await gatherRows(context, request, into, choices)
    const given = { ...constants, [into]: rows.items }
    const checkFits = (input: Input) => {
      const target = targetIn(context)
      // Another server has its own limits.
      if (target.kind === 'local' || !target.direct) checkSize(input, into, choices.file, rows)
      checkCount(rows, choices.file)
    }
    if (choices.dryRun) {
      checkFits(given)
      const left = await readRemaining(context, operation, {})
      return showQuote(
        context,
        { operation, constants: {} },
        'reply' in left ? left : quoteItems(operation, { input: itemOf(shape, into) }, rows, left),
        mappingView(mapping),
      )
    }
    const input = await requireOptions(context, shape, given)
    checkFits(input)
    const lineOf = (ordinal: number) => rows.lines[ordinal - 1]
    const code = await runAsync(context, { ...request, input }, lineOf)
    onEnd({ run: null, report: createReport(rows, output, code, context.clock.now() - startedAt), rejects })
    const isFailure = choices.failOn === 'any' && rows.problems.length > 0
    return code === exitCodes.ok && isFailure ? exitCodes.someFailed : code
  })
}

/** Returns the report of a request for all rows: its companies are all in the list, or none of them. */
function createReport(
  { items, counts }: Items,
  output: string | null,
  code: number,
  ms: number,
): EndedBatch['report'] {
  const isDone = code === exitCodes.ok
  const stopped = {
    reason: 'The list was not completed; stderr says why',
    hint: '',
    exit_code: code,
    at_row: null,
    rows_left: items.length,
  }
  return {
    ...emptyReport,
    ...counts,
    without_result: counts.invalid_reasons.map((one) => ({ status: 'invalid' as const, ...one })),
    found: isDone ? items.length : 0,
    failed: isDone ? 0 : items.length,
    live: items.length,
    seconds: ms / 1_000,
    ...(isDone ? {} : { stopped }),
    output: isDone ? output : null,
  }
}

/** Reads the rows of a file as items of the field `into`, and reports invalid ones. */
async function gatherRows(
  context: Context,
  { operation, shape }: OperationRequest,
  into: string,
  choices: InputChoices,
) {
  const { table } = await openInput(listPorts(context), choices, (refusal) =>
    chooseEncoding(context, refusal),
  )
  const item = itemOf(shape, into)
  const { header, samples, notes } = table
  const subject = operation.batch?.identity ?? 'company'
  const fields = Object.keys(item.shape)
  const columns = { header, samples, notes, fields, subject }
  const { mapping } = await chooseMapping(context, choices, columns, item)
  const file = fileOf(context.globals)
  const output = file === undefined ? null : resolve(context.streams.cwd, file)
  for (const line of describeMapping(mapping, context.streams.stderr.columns)) context.notify(oneLine(line))
  await context.requireRecords([operation])
  const rejects = choices.dryRun ? undefined : await openRejectsOf(filePorts(context), output, table, choices)
  const total = choices.sample === undefined ? 0 : (await checkTable(table)).rows
  const selected = selectRows(table, choices.sample === undefined ? {} : choices, total).table
  const known = await openKnownRows(listPorts(context), operation, choices.skipKnown)
  const isKnown = known && ((input: Input) => known.has(input))
  const explain = explainRows(describe, mapping)
  const rows = await readItems(operation, item, selected, mapping, explain, rejects, isKnown)
  showProblems(context, rows.problems, rejects?.file ?? null)
  if (rows.footer) context.notify(describe(footerNote(rows.footer)))
  for (const line of formatLeftOut(rows.counts.not_understood))
    context.notify(`Not understood: ${oneLine(line)}`)
  if (rows.items.length === 0) throw new Refusal('usage.no_valid_rows', { file: choices.file })
  return { mapping, output, rows, rejects }
}

const maxProblems = 10

function showProblems(context: Context, problems: Items['problems'], rejects: string | null): void {
  for (const { line, text } of problems.slice(0, maxProblems))
    context.notify(`Line ${line} was skipped: ${text}.`)
  const more = problems.length - maxProblems
  if (more > 0)
    context.notify(`${formatNumber(more)} more ${more === 1 ? 'line was' : 'lines were'} skipped.`)
  if (rejects !== null) context.notify(formatToFix(problems.length, rejects))
}
