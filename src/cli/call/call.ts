import { isFromStore, isOk, type Reply } from '../../api/calls/caller.js'
import { ApiError, toRefusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { hasBody, isMetered, isPriced } from '../../api/operations/facts.js'
import { resolvesNothing } from '../../api/operations/table.js'
import { coerceQuery, validate } from '../../api/validation/validate.js'
import { isObject, withoutUndefined } from '../../api/values/objects.js'
import { dryRun } from '../../engine/credits/cost.js'
import { idempotencyKey } from '../../engine/credits/settlement.js'
import { sourceNames } from '../../runs/output/columns.js'
import type { Context } from '../context/context.js'
import { formatOf, withSink } from '../output/output.js'
import { isJson, print, printTo } from '../output/print.js'
import { numberAt } from '../output/records.js'
import { formatCredits, formatNumber } from '../output/text.js'
import { targetTime } from '../target/resolve-target.js'
import type { OperationRequest } from './build.js'
import { checkWeek } from './confirm.js'
import { extraOf } from './extras.js'
import { weekLeft } from './limits.js'
import { notifyMissing, reportNothingFound, reportRefusal, withFields, withKnownFields } from './print.js'
import { paginationOf, sendRequest, type WholeReply } from './send.js'
import { findStored } from './spending.js'

/** Sends one request and prints its reply, or prints only the request with `--dry-run`. Returns the exit code. */
export async function runSync(context: Context, request: OperationRequest): Promise<number> {
  const { operation, shape, input, invocation } = request
  const { options } = invocation
  if (options.dryRun === true) {
    const refusal = refusalOf(context, request)
    if (refusal) return reportRefusal(context, operation, refusal)
    // The options of output are about the result.
    if (!operation.starts) withFields(context, shape)
    const shown = context.withGlobals({ fields: undefined, layout: undefined })
    const isSearch = typeof input.search_url === 'string'
    const search = isSearch ? await (await import('./filter-names.js')).explainSearch(context, request) : {}
    const quote = dryRun(operation, shape, input)
    const stored = (await findStored(context, request)) && { in_store: true, price: { min: 0, max: 0 } }
    const source = await context.source()
    const quota = operation.quota && { [`${operation.quota}_max`]: input.limit ?? null }
    const week = isPriced(operation) && !stored ? await weekLeft(context) : undefined
    const allowance = week === undefined ? {} : { weekly_allowance: week }
    await print(shown, {
      ...quote,
      ...stored,
      ...allowance,
      ...quota,
      ...search,
      ...(source && { source }),
    })
    if (quota && input.limit === undefined)
      context.notify(`Without --limit, all that match count against the quota of ${operation.quota}.`)
    return week === undefined ? exitCodes.ok : checkWeek(context, operation, quote.price.max, week)
  }
  const shown = withFields(context, shape)
  await context.requireRecords([operation])
  const reply = await sendAndPrint(shown, request)
  if (!isOk(reply)) return reportRefusal(context, operation, reply, request)
  return reportSuccess(context, request, reply)
}

/** Returns how the engine of this machine refuses the fields or the key of a request; `undefined` where it may do what is asked. */
function refusalOf(context: Context, { operation, shape, input, invocation }: OperationRequest) {
  // What a server takes is for the server to say.
  if (!context.isLocal()) return undefined
  const { idempotencyKey: key } = invocation.options
  try {
    validate(operation.id, shape, hasBody(operation) ? input : coerceQuery(shape.input, input))
    if (operation.idempotent && typeof key === 'string') idempotencyKey(key)
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return toRefusal(error, operation)
    throw error
  }
}

/** Sends a request and prints a success. Opens the output first, so that no paid result is without a place to go. */
export async function sendAndPrint(context: Context, request: OperationRequest): Promise<Reply> {
  const { operation } = request
  const { layout, ids, empty } = extraOf(operation.id)
  const now = () => targetTime(context)
  return withSink(context, async (sink) => {
    const reply = await sendRequest(context, request)
    const shown = withoutUndefined({ layout, empty, ids: context.isLocal() ? ids : undefined })
    const view = { ...shown, columns: operation.columns, isOnce: isMetered(operation) }
    if (isOk(reply)) {
      const body = withSource(context, reply)
      await printTo(sink, withKnownFields(context, request, body), body, { ...view, now })
    } else await sink.discard()
    return reply
  })
}

/** Returns the body of a reply that was stored as JSON says it, in the words of a batch. */
export function withSource(context: Context, reply: Reply): unknown {
  if (!isFromStore(reply) || !isJson(context) || !isObject(reply.body)) return reply.body
  return { ...reply.body, _credits: 0, _source: sourceNames.team }
}

/** Whether a result has no records: a total of 0, or lists that are all empty. */
const countsNothing = (body: unknown): boolean => {
  const total = numberAt(body, 'total') ?? numberAt(body, 'total_count')
  if (total !== undefined) return total === 0
  const lists = Object.values(body ?? {}).filter(Array.isArray)
  return lists.length > 0 && lists.every(({ length }) => length === 0)
}

/** Says where a page has fewer rows than were asked for; `name` is how that was asked. */
export function notifyShorterPage(
  context: Pick<Context, 'notify'>,
  reply: Reply,
  name: string,
  wanted: unknown,
): void {
  const { per_page: most } = paginationOf(reply)
  if (typeof most === 'number' && typeof wanted === 'number' && most < wanted)
    context.notify(`${name} ${formatNumber(wanted)}: a page has at most ${formatNumber(most)} rows.`)
}

/** Reports on stderr what a success means beside its body; returns the exit code. */
export async function reportSuccess(
  context: Context,
  { operation, input, invocation }: OperationRequest,
  reply: Reply,
): Promise<number> {
  const { options } = invocation
  if (resolvesNothing(operation, reply.body))
    return reportNothingFound(context, reply.status, [reply.body], { operation, input }, reply)
  if (reply.credits > 0 && context.streams.stdout.isTTY)
    context.notify(`Charged ${formatCredits(reply.credits)}.`)
  const facts = operation.id === 'credits.show' ? reply.body : { status: reply.status }
  context.log?.write('result', facts as object)
  if (!operation.starts) await context.notifySamples()
  // What an import found is reported when it has ended.
  if (operation.method === 'POST' && !operation.starts && countsNothing(reply.body))
    await notifyMissing(context, { operation, input })
  const { has_more, total_count: total } = paginationOf(reply)
  notifyShorterPage(context, reply, '--per-page', input.per_page)
  const isChosen = [options.all, input.page, input.cursor].some((one) => one !== undefined)
  // JSON and tables say it themselves.
  if (has_more === true && !isChosen && !['json', 'table'].includes(formatOf(context))) {
    const rows = typeof total === 'number' ? ` of ${formatNumber(total)} rows` : ''
    context.notify(`This is the first page${rows}. Add --all for the rest.`)
  }
  await extraOf(operation.id).after?.(context, reply, invocation)
  const { incomplete }: WholeReply = reply
  if (incomplete) throw incomplete
  return exitCodes.ok
}
