import type { Shape } from '../../../api/areas/shapes.js'
import type { Input } from '../../../api/calls/caller.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { Operation } from '../../../api/operations/table.js'
import { checkSize, type Items } from '../../../batch/gather-items.js'
import { type GatherRequest, gatherRows } from '../../batch/gather.js'
import { showMapping, withSavedMap } from '../../batch/map-columns.js'
import { inputChoicesOf, runChoicesOf } from '../../batch/options.js'
import { type EndedBatch, withSummary } from '../../batch/summary-json.js'
import { UsageError } from '../../context/errors.js'
import { askMissing } from '../../operation/ask-fields.js'
import type { CommandEnvironment, Invocation } from '../../options/command-environment.js'
import { fieldsOfSchema } from '../../options/schema-options.js'
import { runStarting } from '../../wait/run-async.js'

/** Sends all rows of a file together, in one request: as the items of its field `into`. Returns the exit code. */
export async function sendTogether(
  environment: CommandEnvironment,
  operation: Operation,
  shape: Shape,
  into: string,
  given: Input,
  invocation: Invocation,
): Promise<number> {
  const { context } = environment
  const { globals, options } = invocation
  if (given[into] !== undefined)
    throw new UsageError(`--csv and --${into} exclude each other.`, `Put all ${into} into the file.`)
  const { summaryJson } = runChoicesOf(options, context.streams)
  const asked = { ...inputChoicesOf(invocation, context.streams), summaryJson }
  const choices = withSavedMap(context, asked, options.useMap)
  const request = { environment, operation, shape, into, given, invocation, choices }
  return withSummary(context, { operation, globals, choices }, (ended) => send(request, ended))
}

async function send(request: GatherRequest, ended: (what: EndedBatch) => void): Promise<number> {
  const { environment, operation, shape, into, given, invocation, choices } = request
  const { context } = environment
  const { globals } = invocation
  const begun = context.clock.now()
  const { mapping, output, rows, rejects } = await gatherRows(request)
  if (!rows) return showMapping(environment, mapping, globals)
  if (choices.dryRun) {
    checkSize(operation, { ...given, [into]: rows.items }, choices.file)
    const { quoteTogether } = await import('../../batch/quote-together.js')
    return quoteTogether(environment, operation, rows.items, rows.problems.length, globals)
  }
  const fields = fieldsOfSchema(shape.input)
  const input = await askMissing(context, shape, fields, { ...given, [into]: rows.items }, globals)
  checkSize(operation, input, choices.file)
  const lineOf = (ordinal: number) => rows.lines[ordinal - 1]
  const code = await runStarting(environment, operation, shape, input, invocation, lineOf)
  ended({ run: null, report: createReport(rows, output, code, context.clock.now() - begun), rejects })
  const isFailure = choices.failOn === 'any' && rows.problems.length > 0
  return code === exitCodes.ok && isFailure ? exitCodes.someFailed : code
}

/** What a request for all rows did, as a run tells of it: its companies are in the list, or none of them. */
function createReport(
  { items, problems }: Items,
  output: string | null,
  code: number,
  ms: number,
): EndedBatch['report'] {
  const isDone = code === exitCodes.ok
  const stopped = {
    ...{ reason: 'The list was not completed; stderr says why', hint: '', exit_code: code },
    ...{ at_row: null, rows_left: items.length },
  }
  return {
    ...{ rows: items.length + problems.length, found: isDone ? items.length : 0, not_found: 0 },
    ...{ invalid: problems.length, failed: isDone ? 0 : items.length, skipped: 0 },
    ...{ live: items.length, stored: 0, duplicates: 0, credits: 0, credits_before: 0, seconds: ms / 1_000 },
    ...(isDone ? {} : { stopped }),
    ...{ output: isDone ? output : null, partial: null },
  }
}
