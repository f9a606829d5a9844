import { createHash } from 'node:crypto'
import { type Shape, shapeOf } from '../../api/areas/shapes.js'
import {
  ageOf,
  askedWaitMs,
  type Caller,
  type CallOptions,
  ConnectionLost,
  compose,
  type Input,
  isFromStore,
  isOk,
  type Layer,
  lostCall,
  partIn,
  type Reply,
} from '../../api/calls/caller.js'
import { isRefusal, Refusal } from '../../api/calls/errors.js'
import { isShortLimit } from '../../api/calls/retry.js'
import { inputsOfItems, isPriced } from '../../api/operations/facts.js'
import { type Operation, type OperationId, operation } from '../../api/operations/table.js'
import { differencesOf } from '../../api/validation/fits.js'
import { toJson } from '../../api/values/json.js'
import { type Fields, isObject, once } from '../../api/values/objects.js'
import { affordable, maxCreditsOf } from '../../engine/credits/cost.js'
import type { StoredPart } from '../../runs/stored-lookups.js'
import type { Context } from '../context/context.js'
import { profileInUse } from '../context/home.js'
import { anySignal, timeLimit } from '../context/io.js'
import { canDraw, startProgress } from '../output/progress.js'
import { duration, formatCredits } from '../output/text.js'
import { profileName, targetIn } from '../target/resolve-target.js'
import type { OperationRequest } from './build.js'
import {
  costOfCall,
  holds,
  isCostKnown,
  maxAgeGiven,
  openSpending,
  openStoredLookups,
  recordSpent,
  reportStored,
  suspectLayer,
  usesStoredAnswers,
} from './spending.js'

/** Seconds that a command waits for rate limits by default. */
const defaultMaxWait = 10

/** Calls an operation and records what it cost. Waits for rate limits, no longer than `--max-wait` in all, and says so. */
export async function callOnce(
  context: Context,
  id: OperationId,
  input: Input,
  idempotencyKey?: string,
  open = () => recordingCaller(context),
  maxAgeMs?: number,
): Promise<Reply> {
  const row = operation(id)
  const timeout = context.globals.timeout ?? targetIn(context).timeout
  const called = compose([withTimeout(timeout), suspectLayer(context)], await open())
  const apiKey = await context.apiKey()
  let sentKey = idempotencyKey
  const freshKey = once(() => (sentKey = context.ids.uuid()))
  // With --direct nothing is kept, so that only the user can send the same key again.
  const noteKey = (unknown: boolean | undefined) => {
    if (unknown && context.globals.direct && sentKey !== undefined)
      context.notify(`It was sent with --idempotency-key ${sentKey}.`)
  }
  const keys: CallOptions = { apiKey, idempotencyKey, freshKey, maxAgeMs }
  const reply = await waitForRateLimits(context, () => callAndLog(context, called, row, input, keys)).catch(
    (error) => {
      noteKey(lostCall(error).unknown)
      throw error
    },
  )
  noteKey(reply.unknown)
  // What was held is released where the last answer was a rate limit.
  if (isPriced(row) && isCostKnown(row, reply)) await recordSpent(context, id, 0)
  const note = noteIn(reply)
  if (note !== undefined) context.notify(note)
  return reply
}

/**
 * Returns the target of commands, whose calls are recorded with their cost as soon as they are answered: before an answer is
 * stored, because whoever takes a stored one records no cost.
 */
async function recordingCaller(context: Context): Promise<Caller> {
  const caller = await context.caller()
  return {
    ...caller,
    call: async (id, input, call) => {
      const reply = await caller.call(id, input, call)
      const row = operation(id)
      if (!isPriced(row) || !isCostKnown(row, reply) || isShortLimit(reply)) return reply
      const { credits, ...counted } = costOfCall(row, reply, call?.idempotencyKey)
      await recordSpent(context, id, credits, counted)
      return reply
    },
  }
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
  const shown = isDrawn ? context : context.withGlobals({ quiet: true })
  const left = (now: number) => duration((endsAt - now) / 1_000)
  const progress = await startProgress(shown, (_, __, now) => `waiting ${left(now)} for the rate limit`)
  progress.update({ rows: 0 })
  await context.sleep(seconds * 1_000).finally(() => progress.stop())
}

export const withTimeout = (seconds: number | undefined): Layer | undefined =>
  seconds === undefined
    ? undefined
    : (caller) => ({
        ...caller,
        call: (id, input, options = {}) =>
          caller.call(id, input, { ...options, signal: anySignal(options.signal, timeLimit(seconds)) }),
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

/** Returns the whole seconds that a reply asks to wait, at least one; `undefined` where it does not say. */
export function secondsToWait({ headers }: Pick<Reply, 'headers'>, now: number): number | undefined {
  const ms = askedWaitMs(headers, now)
  return ms === undefined ? undefined : Math.max(1, Math.ceil(ms / 1_000))
}

/** The most rows that a page can have, so that there are few requests. */
const rowsPerPage = 500

export const hasPages = ({ input }: Shape): boolean => Object.hasOwn(input.shape, 'cursor')

/** No walk has more pages: five million rows of full ones. */
const maxPages = 10_000

/**
 * Ends with the last page, or one that fails. Throws a Refusal behind the pages that came where the server says that there
 * are more, and gives none: its cursor is missing or was used before, or a page is empty or one that has come already.
 */
export async function* readPages(ask: (input: Input) => Promise<Reply>, input: Input): AsyncGenerator<Reply> {
  const seen = new Set<unknown>()
  const pages = new Set<string>()
  let rows = 0
  for (let { cursor } = input; ; ) {
    seen.add(cursor)
    const page = await ask({ per_page: rowsPerPage, ...input, ...(cursor === undefined ? {} : { cursor }) })
    const { has_more, next_cursor, total_count: total } = isOk(page) ? paginationOf(page) : {}
    const lists = listsIn(page)
    const found = lists.reduce((sum, [, list]) => sum + list.length, 0)
    // A server that does not say it has more where it gives a cursor, until all rows came.
    const isMore = has_more ?? (isGiven(next_cursor) && found > 0 && !(Number(total) <= rows + found))
    const refuse = (reason: string) => new Refusal('pages.incomplete', { reason, rows, total, max: maxPages })
    const isNew = !seen.has(next_cursor) && found > 0
    if (isMore === true && isNew && isRepeated(lists, pages)) throw refuse('same_page')
    yield page
    if (isMore !== true) return
    rows += found
    const reason = isBeyond(rows, total) ? 'beyond_total' : whyNoMore(next_cursor, seen, found)
    if (reason !== undefined) throw refuse(reason)
    cursor = next_cursor
  }
}

const isGiven = (cursor: unknown): boolean => cursor !== undefined && cursor !== null && cursor !== ''

/** Whether far more rows came than there are; a total may be an estimate, or grow meanwhile. */
const isBeyond = (rows: number, total: unknown): boolean =>
  typeof total === 'number' && total > 0 && rows > 2 * total + rowsPerPage

/** Returns why no further page can be asked for, or none would come; `undefined` where the next one can. */
function whyNoMore(next: unknown, seen: ReadonlySet<unknown>, found: number): string | undefined {
  if (!isGiven(next)) return 'no_cursor'
  if (seen.has(next)) return 'same_cursor'
  if (found === 0) return 'empty'
  return seen.size >= maxPages ? 'too_many' : undefined
}

/** Whether a page has come before, under another cursor. */
function isRepeated(lists: unknown, pages: Set<string>): boolean {
  const count = pages.size
  pages.add(createHash('sha256').update(toJson(lists)).digest('base64'))
  return pages.size === count
}

/** A reply with the rows of all pages, and why some are missing. */
export type WholeReply = Reply & { readonly incomplete?: Refusal }

/** Returns one reply, or that of the page that failed. Throws a Refusal where a page is given. */
export async function everyPage(
  ask: (input: Input) => Promise<Reply>,
  input: Input,
  option = '--all',
): Promise<WholeReply> {
  if (input.page !== undefined) throw new Refusal('usage.all_or_page', { option })
  const pages: Reply[] = []
  let incomplete: Refusal | undefined
  try {
    for await (const page of readPages(ask, input)) pages.push(page)
  } catch (error) {
    if (!isRefusal(error, 'pages.incomplete')) throw error
    incomplete = error
  }
  const last = pages.at(-1) as Reply
  const whole = isOk(last) && isPage(last) ? joinPages(pages, last) : last
  return incomplete ? { ...whole, incomplete } : whole
}

const listsIn = ({ body }: Reply): (readonly [string, readonly unknown[]])[] =>
  isObject(body)
    ? Object.entries(body).flatMap(([name, list]) => (Array.isArray(list) ? [[name, list]] : []))
    : []

const isPage = ({ body }: Reply): boolean => isObject(body) && Object.hasOwn(body, 'pagination')

export const paginationOf = ({ body }: Reply): Fields =>
  isObject(body) && isObject(body.pagination) ? body.pagination : {}

/** Returns one reply with the rows of all pages; its other fields are those of the last page. */
function joinPages(pages: readonly Reply[], last: Reply): Reply {
  const { page: _, ...pagination } = paginationOf(last)
  const rows = listsIn(last).map(([name]) => [
    name,
    pages.flatMap(({ body }) => (body as Fields)[name] ?? []),
  ])
  return {
    ...last,
    body: { ...(last.body as Fields), ...Object.fromEntries(rows), pagination },
    credits: pages.reduce((sum, { credits }) => sum + credits, 0),
  }
}

/** Answers the request of a command from the store, or sends it: one request, or one for each page with `--all`. */
export async function sendRequest(context: Context, request: OperationRequest): Promise<Reply> {
  const { operation: row, input, invocation } = request
  if (!isPriced(row) || !usesStoredAnswers(context, invocation)) return sendToTarget(context, request)
  const sender: Caller = {
    call: async (id, fields) => {
      // What is left of a request for several may be one for a single one.
      const own = id === row.id ? request : { ...request, operation: operation(id), shape: await shapeOf(id) }
      const open = async () => stored.keep(await recordingCaller(context))
      return sendToTarget(context, { ...own, input: fields }, open)
    },
    close: async () => {},
  }
  const options = {
    idempotencyKey: keyOf(invocation.options),
    maxAgeMs: maxAgeGiven(context, invocation),
  }
  let isKnown = false
  const onStored = (answeredAt: number, part?: StoredPart) => {
    isKnown = true
    reportStored(context, answeredAt, part)
  }
  const stored = await openStoredLookups(context, invocation, { onStored })
  try {
    await stored.open()
  } catch (error) {
    // A lookup needs no records: where they cannot be read, it is sent.
    const { reasonOf } = await import('../messages.js')
    context.notify(`Stored answers cannot be read, so the lookup is sent again: ${reasonOf(error)}`)
    return sendToTarget(context, request)
  }
  const reply = await stored.recall(sender).call(row.id, input, options)
  // A proxy says so of what its team has paid for.
  const part = partIn(reply)
  const answeredAt = context.clock.now() - ageOf(reply)
  if (!isKnown && isFromStore(reply)) reportStored(context, answeredAt)
  else if (!isKnown && part !== undefined)
    reportStored(context, answeredAt, { stored: part, items: inputsOfItems(input).length })
  return reply
}

const keyOf = ({ idempotencyKey: key }: OperationRequest['invocation']['options']): string | undefined =>
  typeof key === 'string' ? key : undefined

async function sendToTarget(
  context: Context,
  request: OperationRequest,
  open = () => recordingCaller(context),
) {
  const { id } = request.operation
  const { options } = request.invocation
  const input = await holdWithinBudget(context, request)
  const caller = await open()
  const isStored = isPriced(request.operation) && context.globals.direct !== true
  const maxAgeMs = isStored ? maxAgeGiven(context, request.invocation) : undefined
  const ask = (fields: Input) => callOnce(context, id, fields, keyOf(options), async () => caller, maxAgeMs)
  try {
    return await (options.all === true ? everyPage(ask, input) : ask(input))
  } catch (error) {
    // What was not sent costs nothing.
    if (error instanceof ConnectionLost && !error.unknown) await recordSpent(context, id, 0)
    throw error
  }
}

/**
 * Returns the input of a request as the budgets permit it: an operation priced per record gets a lower `limit`. Holds
 * its maximum price in the budget of the day. Throws (exit 12) where a budget leaves too little.
 */
async function holdWithinBudget(
  context: Context,
  { operation: row, shape, input, invocation: { options } }: OperationRequest,
): Promise<Input> {
  const settings = profileInUse(context)
  const number = (name: string) => (typeof options[name] === 'number' ? options[name] : undefined)
  const perCommand = number('maxCredits') ?? settings.max_credits
  const perDay = number('maxCreditsPerDay') ?? settings.max_credits_per_day
  if (!isPriced(row) || (perCommand === undefined && perDay === undefined)) return input
  const most = maxCreditsOf(row, shape, input)
  const refuse = (budget: string, setting: string, left: number, until?: string): never => {
    throw new Refusal('usage.over_budget', { most, budget, setting, left, until })
  }
  let granted = affordable(row, most, perCommand ?? Number.POSITIVE_INFINITY)
  if (!granted) return refuse('--max-credits', 'max_credits', perCommand ?? 0)
  if (perDay !== undefined) {
    const id = context.ids.uuid()
    const decide = (left: number) => {
      granted = affordable(row, most, Math.min(left, perCommand ?? left))
      return granted?.credits
    }
    const held = { id, profile: profileName(context), perDay }
    const { left, until } = await (await openSpending(context)).hold(held, decide, context.clock.now())
    if (!granted) return refuse('the budget of the day (UTC)', 'max_credits_per_day', left, until)
    holds.set(context.streams, id)
  }
  const { limit } = granted
  if (limit === undefined) return input
  context.notify(`--limit ${limit} is added: the budget pays for no more.`)
  return { ...input, limit }
}
