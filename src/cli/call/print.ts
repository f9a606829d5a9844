import type { Shape } from '../../api/areas/shapes.js'
import { askedWaitMs, type Reply } from '../../api/calls/caller.js'
import { ApiError, failureOf } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import {
  lostIn,
  notAskedIn,
  notAskedText,
  notFoundCode,
  type Operation,
  saysNothingFound,
  vendorKindsOf,
} from '../../api/operations/table.js'
import { requireCrmKind } from '../../runs/output/crm-layout.js'
import type { Context } from '../context/context.js'
import { hintOf, reportOfReply } from '../context/errors.js'
import { openWorkspaceOwner } from '../context/open-databases.js'
import { hasField, resolveFields } from '../options/schema-options.js'
import { asksForJson, fieldsOf, formatOf } from '../output/output.js'
import { isJson, print, redactBody, reportError } from '../output/print.js'
import { recordsIn, valueAt } from '../output/records.js'
import { duration, formatCredits } from '../output/text.js'
import { describeMissing } from '../target/local-target.js'
import type { OperationRequest } from './build.js'
import { type AskedData, describeMissingData } from './missing-data.js'

/** Prints a failed reply: its body where the output is JSON, and its meaning on stderr. Returns the exit code. */
export async function reportRefusal(
  context: Context,
  operation: Operation,
  reply: Reply,
  asked?: AskedData,
): Promise<number> {
  if (isJson(context)) await printRefusedBody(context, reply.body)
  const report = reportOfReply(reply, context.isLocal())
  // Some servers answer a lookup that finds nothing with 400 instead of 404.
  const isNotFound = operation.needs === 'unit' && reply.status === 400 && saysNothingFound(report.error)
  const exit_code = isNotFound ? exitCodes.notFound : report.exit_code
  const isMissing = operation.needs === 'unit' && exit_code === exitCodes.notFound
  const hint =
    (exit_code === exitCodes.notFound && (await explainSuppressed(context, asked, reply))) ||
    (isMissing && (await explainMissing(context, asked))) ||
    (isMissing
      ? `${await chargedText(context, operation, reply.credits)} ${hintOf(notFoundCode(operation))}`
      : report.hint)
  const skipped = notAskedText(notAskedIn(reply.body))
  const error = skipped === '' ? report.error : `${report.error}; not asked: ${skipped}`
  return reportError(context, { ...report, error, exit_code, hint, ...rateLimitReport(context, reply) })
}

function rateLimitReport(context: Context, { status, body, headers }: Reply) {
  // The report of a fault says which one it is.
  const isOurs = failureOf(status, body).means === 'rate_limited' && headers['x-prospect-fault'] === undefined
  const waitMs = isOurs ? askedWaitMs(headers, context.clock.now()) : undefined
  if (waitMs === undefined) return {}
  const hint = `Try again in ${duration(Math.max(1, Math.ceil(waitMs / 1_000)))}, or raise --max-wait.`
  return asksForJson(context.globals) ? { hint } : { hint, error: 'Rate limit reached' }
}

/** Prints the whole body of a failed reply on stdout: `--fields` and `-o` are about results. */
export function printRefusedBody(context: Context, body: unknown): Promise<void> {
  const whole = { fields: undefined, output: undefined, jq: undefined, format: formatOf(context) }
  return print(context.withGlobals(whole), redactBody(context, body))
}

/** Reports that a lookup found nothing, and which data vendors' answers were lost or not asked for; returns its exit code. */
export async function reportNothingFound(
  context: Context,
  status: number | null = null,
  bodies: readonly unknown[] = [],
  asked?: AskedData,
  reply?: Charged,
): Promise<number> {
  const lost = [...new Set(bodies.flatMap(lostIn))]
  if (lost.length > 0) {
    const { reportOf } = await import('../messages.js')
    const loss = reportOf(new ApiError('vendor_answer_lost', { names: lost.join(', ') }))
    if (loss) return reportError(context, loss)
  }
  const skipped = bodies.length === 1 ? notAskedText(notAskedIn(bodies[0])) : ''
  const error = skipped === '' ? 'Nothing was found.' : `Nothing was found; not asked: ${skipped}.`
  const report = { error, code: null, status, exit_code: exitCodes.notFound }
  const hint =
    (await explainSuppressed(context, asked, reply)) ??
    (await explainMissing(context, asked)) ??
    (await chargedText(context, asked?.operation, reply?.credits))
  return reportError(context, { ...report, hint })
}

/** Says what was charged; where data vendors of the workspace may have been asked, also where it stands what they charged. */
async function chargedText(context: Context, operation?: Operation, credits = 0): Promise<string> {
  if (!operation || !(await mayAskVendors(context, operation)))
    return credits > 0 ? `Charged ${formatCredits(credits)}.` : 'Nothing was charged.'
  const own = credits > 0 ? `Charged ${formatCredits(credits)}.` : 'Nothing was charged here.'
  return `${own} What your data vendors charged: prospect ledger --by provider.`
}

async function mayAskVendors(context: Context, operation: Operation): Promise<boolean> {
  if (!context.isLocal() || vendorKindsOf(operation).length === 0) return false
  const workspace = await openWorkspaceOwner(context)
  if (!workspace) return false
  const { hasProviders } = await import('../../engine/tables/providers.js')
  return hasProviders(workspace.driver, workspace.owner)
}

/** What an answer cost, and whether it was about somebody suppressed. */
type Charged = Pick<Reply, 'credits'> & { readonly isSuppressed?: true | undefined }

/** Says that nothing was found because whom a lookup is about is suppressed; `undefined` where they are not. */
async function explainSuppressed(
  context: Context,
  asked: AskedData | undefined,
  { credits, isSuppressed: isHidden }: Charged = { credits: 0 },
): Promise<string | undefined> {
  const see = 'See: prospect suppress list'
  if (isHidden && credits > 0)
    return `The answer is about somebody who is suppressed, so it is not shown. The server charged ${formatCredits(credits)}. ${see}`
  const [isSuppressed] = (asked && (await (await context.suppressor())?.areAskedAbout([asked.input]))) ?? []
  if (isSuppressed)
    return `It asks about somebody who is suppressed: nothing was sent, and nothing charged. ${see}`
  return isHidden
    ? `The answer is about somebody who is suppressed, so it is not shown. Nothing was charged. ${see}`
    : undefined
}

/** Says why nothing can be found, where the data of this machine is the reason. */
const explainMissing = async (context: Context, asked: AskedData | undefined): Promise<string | undefined> =>
  describeMissing(await context.source()) ?? (asked && (await describeMissingData(context, asked)))

export async function notifyMissing(context: Context, asked: AskedData): Promise<void> {
  const hint = await explainMissing(context, asked)
  if (hint !== undefined) context.notify(hint)
}

/** Throws a Refusal for a field that no result has, and for a `--layout` of records that it does not have. */
export function withFields(context: Context, shape: Pick<Shape, 'output'>): Context {
  if (context.globals.layout !== undefined) requireCrmKind(shape.output)
  const fields = fieldsOf(context.globals)
  return fields ? context.withGlobals({ fields: resolveFields(shape.output, fields).join(',') }) : context
}

/** Returns the context without `--fields`, after a warning, where the body has none of a field that only it could know. */
export function withKnownFields(context: Context, { shape }: OperationRequest, body: unknown): Context {
  const fields = fieldsOf(context.globals) ?? []
  const { rows } = recordsIn(body, fields)
  const isMissing = (field: string) =>
    rows.length > 0 && rows.every((row) => valueAt(row, field) === undefined)
  const missing = fields.find((field) => isMissing(field) && !hasField(shape.output, field))
  if (missing === undefined) return context
  context.notify(`The result has no field "${missing}", so all of it is printed.`)
  return context.withGlobals({ fields: undefined })
}
