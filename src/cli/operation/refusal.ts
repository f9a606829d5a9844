import type { Reply } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { Operation } from '../../api/operations/table.js'
import { saysNothingFound } from '../../api/operations/units.js'
import type { ClockContext, GlobalOptions, StreamsContext } from '../context/context.js'
import { reportOfReply } from '../context/errors.js'
import { formatOf, print } from '../output/output.js'
import { isJson, redactBody, reportError } from '../output/report-error.js'

/** Prints a failed reply: its body where the output is JSON, and its meaning on stderr. Returns the exit code. */
export async function reportRefusal(
  context: StreamsContext & ClockContext,
  operation: Operation,
  reply: Reply,
  globals: GlobalOptions,
): Promise<number> {
  if (isJson(context, globals)) await printRefusedBody(context, reply.body, globals)
  const report = reportOfReply(reply)
  // Some servers answer a lookup that finds nothing with 400 instead of 404.
  const isNotFound = operation.needs === 'unit' && reply.status === 400 && saysNothingFound(report.error)
  return reportError(context, isNotFound ? { ...report, exit_code: exitCodes.notFound } : report, globals)
}

/** Prints the whole body of a failed reply on stdout: `--fields` and `-o` are about results. */
export function printRefusedBody(
  context: StreamsContext & ClockContext,
  body: unknown,
  globals: GlobalOptions,
): Promise<void> {
  const { fields: _, output: __, ...rest } = globals
  return print(context, redactBody(context, body), { ...rest, format: formatOf(globals, context.streams) })
}

/** Reports that a lookup found nothing; returns its exit code. */
export function reportNothingFound(
  context: StreamsContext & ClockContext,
  globals: GlobalOptions,
  status: number | null = null,
): Promise<number> {
  const report = { error: 'Nothing was found.', code: null, status, exit_code: exitCodes.notFound }
  return reportError(context, { ...report, hint: 'Nothing was charged.' }, globals)
}
