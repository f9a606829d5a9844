import { type Reply, retryAfterMs } from '../../api/calls/caller.js'
import { errors } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { Operation } from '../../api/operations/table.js'
import { saysNothingFound } from '../../api/operations/table.js'
import type { Context } from '../context/context.js'
import { reportOfReply } from '../context/errors.js'
import { formatOf } from '../output/output.js'
import { print } from '../output/print.js'
import { isJson, redactBody, reportError } from '../output/report-error.js'
import { duration } from '../output/text.js'
import { describeMissing } from '../target/data-source.js'

/** Prints a failed reply: its body where the output is JSON, and its meaning on stderr. Returns the exit code. */
export async function reportRefusal(context: Context, operation: Operation, reply: Reply): Promise<number> {
  if (isJson(context)) await printRefusedBody(context, reply.body)
  const report = reportOfReply(reply)
  // Some servers answer a lookup that finds nothing with 400 instead of 404.
  const isNotFound = operation.needs === 'unit' && reply.status === 400 && saysNothingFound(report.error)
  const exit_code = isNotFound ? exitCodes.notFound : report.exit_code
  const isMissing = operation.needs === 'unit' && exit_code === exitCodes.notFound
  const hint = (isMissing && (await explainMissing(context))) || report.hint
  return reportError(context, { ...report, exit_code, hint, ...rateLimitReport(context, reply, report.hint) })
}

/** Returns what a reply says of a rate limit: when to try again, and for people in our words. */
function rateLimitReport(context: Context, { headers }: Reply, usual: string) {
  const isOurs = usual === errors.rate_limited.hint
  const waitMs = isOurs ? retryAfterMs(headers['retry-after'], context.clock.now()) : undefined
  if (waitMs === undefined) return {}
  const hint = `Try again in ${duration(Math.max(1, Math.ceil(waitMs / 1_000)))}, or raise --max-wait.`
  return isJson(context) ? { hint } : { hint, error: 'Rate limit reached' }
}

/** Prints the whole body of a failed reply on stdout: `--fields` and `-o` are about results. */
export function printRefusedBody(context: Context, body: unknown): Promise<void> {
  const whole = { fields: undefined, output: undefined, jq: undefined, format: formatOf(context) }
  return print(context.withGlobals(whole), redactBody(context, body))
}

/** Reports that a lookup found nothing; returns its exit code. */
export async function reportNothingFound(context: Context, status: number | null = null): Promise<number> {
  const report = { error: 'Nothing was found.', code: null, status, exit_code: exitCodes.notFound }
  const hint = (await explainMissing(context)) ?? 'Nothing was charged.'
  return reportError(context, { ...report, hint })
}

/** Says why nothing can be found, where the data of this machine is the reason. */
export const explainMissing = async (context: Pick<Context, 'source'>): Promise<string | undefined> =>
  describeMissing(await context.source())
