import { type Shape, shapeOf } from '../../api/areas/shapes.js'
import {
  type Caller,
  type CallOptions,
  type Input,
  isOk,
  type Layer,
  type Reply,
  retryAfterMs,
} from '../../api/calls/caller.js'
import { ApiError, failureOf } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isShortLimit } from '../../api/calls/retry.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, saysNothingFound } from '../../api/operations/table.js'
import { differencesOf } from '../../api/validation/fits.js'
import { type Fields, isObject } from '../../api/values/objects.js'
import type { Context } from '../context/context.js'
import { reportOfReply, UsageError } from '../context/errors.js'
import { reportOf } from '../messages.js'
import { formatOf } from '../output/output.js'
import { isJson, print, redactBody, reportError } from '../output/print.js'
import { canDraw, startProgress } from '../output/progress.js'
import { duration, formatCredits } from '../output/text.js'
import { describeMissing } from '../target/local-target.js'
import { targetIn } from '../target/resolve-target.js'
import { costOfCall, createDoubtRecorder, isCostKnown, recordSpent } from './record-spending.js'

/** Seconds that a command waits for rate limits by default. */
const defaultMaxWait = 10

/**
 * Calls an operation and records what it cost. Waits for rate limits as long as the waits together stay within
 * `--max-wait`, and says so on stderr.
 */
export async function callOnce(
  context: Context,
  caller: Caller,
  operation: Operation,
  input: Input,
  idempotencyKey?: string,
): Promise<Reply> {
  const target = targetIn(context)
  const timeout = context.globals.timeout ?? target.timeout
  const apiKey = await context.apiKey()
  let fresh: string | undefined
  const freshKey = () => {
    fresh ??= context.ids.uuid()
    return fresh
  }
  const doubt = createDoubtRecorder(context)
  const keys = { apiKey, idempotencyKey, freshKey, onDoubted: () => doubt({ operation: operation.id }) }
  const send = () => {
    const call: CallOptions = { ...keys, ...deadline(timeout) }
    return callAndLog(context, caller, operation, input, call)
  }
  const reply = await waitForRateLimits(context, send)
  const credits = costOfCall(operation, reply, idempotencyKey !== undefined)
  if (isPriced(operation) && isCostKnown(operation, reply)) await recordSpent(context, operation.id, credits)
  const note = noteIn(reply)
  if (note !== undefined) context.notify(note)
  return reply
}

/** Returns what a person should know of a search that was accepted; its `message` may have it. */
function noteIn(reply: Reply): string | undefined {
  if (!isOk(reply) || !isObject(reply.body)) return undefined
  const { note, message } = reply.body
  const said = note ?? (isObject(message) ? message.note : undefined)
  return typeof said === 'string' ? said : undefined
}

/** Sends a request again after each rate limit, as long as the waits together stay within `--max-wait`. */
export async function waitForRateLimits(context: Context, send: () => Promise<Reply>): Promise<Reply> {
  const target = targetIn(context)
  for (let left = context.globals.maxWait ?? target.maxWait ?? defaultMaxWait; ; ) {
    const reply = await send()
    const seconds = isShortLimit(reply) ? secondsToWait(reply, context.clock.now()) : undefined
    if (seconds === undefined || seconds > left) return reply
    await waitInSight(context, seconds)
    left -= seconds
  }
}

/** Waits for a rate limit and says so: counting down where stderr has a cursor, else in one line. */
async function waitInSight(context: Context, seconds: number): Promise<void> {
  const endsAt = context.clock.now() + seconds * 1_000
  const isDrawn = canDraw(context.streams)
  if (!isDrawn) context.notify(`Rate limited: waiting ${seconds} s.`)
  const progress = await startProgress(
    isDrawn ? context : context.withGlobals({ quiet: true }),
    (_, __, now) => `waiting ${duration((endsAt - now) / 1_000)} for the rate limit`,
  )
  progress.update({ rows: 0, found: 0, credits: 0, total: undefined })
  await context.sleep(seconds * 1_000).finally(() => progress.stop())
}

/** The longest timer of Node: about 24 days. */
const maxTimeoutMs = 2_147_483_647

const deadline = (seconds: number | undefined): { signal?: AbortSignal } =>
  seconds === undefined
    ? {}
    : { signal: AbortSignal.timeout(Math.min(maxTimeoutMs, Math.ceil(seconds * 1_000))) }

/** Gives each call so many seconds; `undefined` without a number. */
export const withTimeout = (seconds: number | undefined): Layer | undefined =>
  seconds === undefined
    ? undefined
    : (caller) => ({
        ...caller,
        call: (id, input, options = {}) => {
          const signals = [options.signal, deadline(seconds).signal].filter((one) => one !== undefined)
          return caller.call(id, input, { ...options, signal: AbortSignal.any(signals) })
        },
      })

/** Calls an operation; with `--verbose`, prints status, cost, time and headers of the reply. */
async function callAndLog(
  context: Context,
  caller: Caller,
  operation: Operation,
  input: Input,
  call: CallOptions,
): Promise<Reply> {
  const started = context.clock.now()
  const reply = await caller.call(operation.id, input, call)
  if (context.globals.verbose) {
    const took = `${context.clock.now() - started} ms`
    const headers = Object.entries(reply.headers).map(([name, value]) => `${name}: ${value}`)
    const facts = [`${reply.status}`, formatCredits(reply.credits), took, ...headers]
    context.notify(`${operation.method} ${operation.path} → ${facts.join(', ')}`)
    for (const difference of isOk(reply) ? differencesOf(await shapeOf(operation.id), reply.body) : [])
      context.notify(`The reply differs from the documented one: ${difference}`)
  }
  return reply
}

/** Returns the whole seconds of `Retry-After`, at least one; `undefined` without that header. */
export function secondsToWait({ headers }: Pick<Reply, 'headers'>, now: number): number | undefined {
  const ms = retryAfterMs(headers['retry-after'], now)
  return ms === undefined ? undefined : Math.max(1, Math.ceil(ms / 1_000))
}

/** The most rows that a page can have, so that there are few requests. */
const rowsPerPage = 500

export const hasPages = ({ output }: Shape): boolean =>
  'shape' in output && Object.hasOwn(output.shape as object, 'pagination')

/** Ends with the last page, one that fails, or a cursor that was used before. */
export async function* readPages(ask: (input: Input) => Promise<Reply>, input: Input): AsyncGenerator<Reply> {
  const seen = new Set<unknown>()
  for (let { cursor } = input; !seen.has(cursor); ) {
    seen.add(cursor)
    const page = await ask({ per_page: rowsPerPage, ...input, ...(cursor === undefined ? {} : { cursor }) })
    yield page
    const { has_more, next_cursor } = isOk(page) ? paginationOf(page) : {}
    if (has_more !== true || next_cursor === undefined) return
    cursor = next_cursor
  }
}

/** Returns one reply, or that of the page that failed. Throws UsageError where a page is given. */
export async function everyPage(
  ask: (input: Input) => Promise<Reply>,
  input: Input,
  option: '--all' | '--paginate' = '--all',
): Promise<Reply> {
  if (input.page !== undefined)
    throw new UsageError(`${option} and a page cannot be used together: ${option} has every page.`)
  const pages = await Array.fromAsync(readPages(ask, input))
  const last = pages.at(-1) as Reply
  return isOk(last) && isPage(last) ? joinPages(pages, last) : last
}

const isPage = ({ body }: Reply): boolean => isObject(body) && Object.hasOwn(body, 'pagination')

const paginationOf = ({ body }: Reply): Fields =>
  isObject(body) && isObject(body.pagination) ? body.pagination : {}

/** Returns one reply with the rows of all pages; its other fields are those of the last page. */
function joinPages(pages: readonly Reply[], last: Reply): Reply {
  const { page: _, ...pagination } = paginationOf(last)
  const lists = Object.keys(last.body as Fields).filter((name) => Array.isArray((last.body as Fields)[name]))
  const rows = lists.map((name) => [name, pages.flatMap(({ body }) => (body as Fields)[name] ?? [])])
  return {
    ...last,
    body: { ...(last.body as Fields), ...Object.fromEntries(rows), pagination },
    credits: pages.reduce((sum, { credits }) => sum + credits, 0),
  }
}

/** Prints a failed reply: its body where the output is JSON, and its meaning on stderr. Returns the exit code. */
export async function reportRefusal(context: Context, operation: Operation, reply: Reply): Promise<number> {
  if (isJson(context)) await printRefusedBody(context, reply.body)
  const report = reportOfReply(reply)
  // Some servers answer a lookup that finds nothing with 400 instead of 404.
  const isNotFound = operation.needs === 'unit' && reply.status === 400 && saysNothingFound(report.error)
  const exit_code = isNotFound ? exitCodes.notFound : report.exit_code
  const isMissing = operation.needs === 'unit' && exit_code === exitCodes.notFound
  const hint = (isMissing && (await explainMissing(context))) || report.hint
  return reportError(context, { ...report, exit_code, hint, ...rateLimitReport(context, reply) })
}

function rateLimitReport(context: Context, { status, body, headers }: Reply) {
  // The report of a fault says which one it is.
  const isOurs = failureOf(status, body).means === 'rate_limited' && headers['x-prospect-fault'] === undefined
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

/** Reports that a lookup found nothing, and which data vendors' answers were lost; returns its exit code. */
export async function reportNothingFound(
  context: Context,
  status: number | null = null,
  lost: readonly string[] = [],
): Promise<number> {
  const loss =
    lost.length > 0 ? reportOf(new ApiError('vendor_answer_lost', { names: lost.join(', ') })) : undefined
  if (loss) return reportError(context, loss)
  const report = { error: 'Nothing was found.', code: null, status, exit_code: exitCodes.notFound }
  const hint = (await explainMissing(context)) ?? 'Nothing was charged.'
  return reportError(context, { ...report, hint })
}

/** Says why nothing can be found, where the data of this machine is the reason. */
export const explainMissing = async (context: Pick<Context, 'source'>): Promise<string | undefined> =>
  describeMissing(await context.source())
