import type { Shape } from '../../api/areas/shapes.js'
import { type Caller, ConnectionLost, type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import { lostIn, resolvesNothing } from '../../api/operations/table.js'
import { withoutUndefined } from '../../api/values/objects.js'
import { dryRun, mostCredits, unitsFor } from '../../engine/credits/cost.js'
import { requireCrmKind } from '../../runs/output/crm-layout.js'
import type { Context } from '../context/context.js'
import { Stop } from '../context/errors.js'
import { profileInUse } from '../context/home.js'
import { hasField, resolveFields } from '../options/schema-options.js'
import { fieldsOf, withSink } from '../output/output.js'
import { print, printTo } from '../output/print.js'
import { recordsIn, valueAt } from '../output/records.js'
import { formatCredits, formatNumber } from '../output/text.js'
import { profileName } from '../target/resolve-target.js'
import { callOnce, everyPage, explainMissing, reportNothingFound, reportRefusal } from './call.js'
import { extraOf } from './extras.js'
import {
  findStored,
  holds,
  openSpending,
  openStoredLookups,
  recordSpent,
  reportStored,
  sharesLookups,
  usesStoredAnswers,
} from './record-spending.js'
import type { OperationRequest } from './request.js'

/** Sends one request and prints its reply, or prints only the request with `--dry-run`. Returns the exit code. */
export async function runSync(context: Context, request: OperationRequest): Promise<number> {
  const { operation, shape, input, invocation } = request
  const { options } = invocation
  if (options.dryRun === true) {
    const isSearch = typeof input.search_url === 'string'
    const search = isSearch ? await (await import('./filter-names.js')).explainSearch(context, request) : {}
    const quote = dryRun(operation, shape, input)
    const stored = (await findStored(context, request)) && { in_store: true, price: { min: 0, max: 0 } }
    const source = await context.source()
    await print(context, { ...quote, ...stored, ...search, ...(source && { source }) })
    return exitCodes.ok
  }
  const reply = await sendAndPrint(withFields(context, shape), request)
  if (!isOk(reply)) return reportRefusal(context, operation, reply)
  return reportSuccess(context, request, reply)
}

/** Sends a request and prints a success. Opens the output first, so that no paid result is without a place to go. */
export async function sendAndPrint(context: Context, request: OperationRequest): Promise<Reply> {
  const { operation } = request
  const { layout, ids } = extraOf(operation.id)
  return withSink(context, async (sink) => {
    const reply = await sendRequest(context, request)
    // The times of an engine are those of its clock.
    const isLocal = context.isLocal()
    const now = isLocal ? async () => (await (await context.admin()).clock()).now : undefined
    const view = {
      columns: operation.columns,
      ...withoutUndefined({ layout, now, ids: isLocal ? ids : undefined }),
    }
    if (isOk(reply)) await printTo(sink, withKnownFields(context, request, reply.body), reply.body, view)
    else await sink.discard()
    return reply
  })
}

/** Whether a reply is a list of results without any. */
const isEmptyList = (body: unknown): boolean => {
  const lists = Object.values(body ?? {}).filter(Array.isArray)
  return lists.length > 0 && lists.every(({ length }) => length === 0)
}

/** Reports on stderr what a success means beside its body; returns the exit code. */
export async function reportSuccess(
  context: Context,
  { operation, invocation }: OperationRequest,
  reply: Reply,
): Promise<number> {
  if (resolvesNothing(operation, reply.body))
    return reportNothingFound(context, reply.status, lostIn(reply.body))
  if (reply.credits > 0 && context.streams.stdout.isTTY)
    context.notify(`Charged ${formatCredits(reply.credits)}.`)
  const facts = operation.id === 'credits.show' ? reply.body : { status: reply.status }
  context.log?.write('result', facts as object)
  const { check, after } = extraOf(operation.id)
  await check?.(context, reply, invocation)
  if (operation.method === 'POST' && isEmptyList(reply.body)) {
    const hint = await explainMissing(context)
    if (hint !== undefined) context.notify(hint)
  }
  await after?.(context, reply, invocation)
  return exitCodes.ok
}

/** Answers the request of a command from the store, or sends it: one request, or one for each page with `--all`. */
export async function sendRequest(context: Context, request: OperationRequest): Promise<Reply> {
  const { operation, input, invocation } = request
  const { options } = invocation
  const open = () => context.caller()
  const begun = context.clock.now()
  const isStored = isPriced(operation) && usesStoredAnswers(context, invocation)
  if (!isStored && !(await sharesLookups(context, request))) return sendToTarget(context, request, open)
  const onStored = (answeredAt: number) => reportStored(context, answeredAt)
  const stored = await openStoredLookups(context, invocation, onStored, begun)
  const sender: Caller = {
    call: () => sendToTarget(context, request, async () => stored.keep(await open())),
    close: async () => {},
  }
  const reply = await stored.recall(sender).call(operation.id, input, { idempotencyKey: keyOf(options) })
  // An answer may have been stored before.
  return (await context.suppressor())?.reply(operation, reply) ?? reply
}

const keyOf = ({ idempotencyKey: key }: OperationRequest['invocation']['options']): string | undefined =>
  typeof key === 'string' ? key : undefined

async function sendToTarget(
  context: Context,
  request: OperationRequest,
  open: () => Promise<Caller>,
): Promise<Reply> {
  const { operation, invocation } = request
  const { options } = invocation
  const input = await holdWithinBudget(context, request)
  const caller = await open()
  const ask = (fields: Input) => callOnce(context, caller, operation, fields, keyOf(options))
  try {
    return await (options.all === true ? everyPage(ask, input) : ask(input))
  } catch (error) {
    // What was not sent costs nothing.
    if (error instanceof ConnectionLost && !error.unknown) await recordSpent(context, operation.id, 0)
    throw error
  }
}

/**
 * Returns the input of a request as the budgets permit it: an operation priced per record gets a lower `limit`. Sets its
 * maximum price aside in the budget of the day. Throws Stop (exit 12) where a budget leaves too little.
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
  const parsed = shape.input.safeParse(input)
  const most = mostCredits(row, parsed.success ? parsed.data : input)
  /** The part of the request that credits pay for: its limit, where that is lower than the one asked for. */
  const grantWithin = (left: number): { readonly credits: number; readonly limit?: number } | undefined => {
    if (most !== null && most <= left) return { credits: most }
    const isMany = row.needs === 'records' || row.price.job !== undefined
    const limit = isMany ? unitsFor(row, left) : 0
    return limit > 0 ? { credits: mostCredits(row, { limit }) ?? left, limit } : undefined
  }
  const refuse = (budget: string, setting: string, left: number): never => {
    const price =
      most === null ? 'What this costs depends on what is found' : `This can cost ${formatCredits(most)}`
    throw new Stop(
      `Budget reached: ${price}, and ${budget} leaves ${formatNumber(left)}`,
      exitCodes.budget,
      `Raise --${setting.replaceAll('_', '-')} or the setting ${setting}.`,
      'budget',
    )
  }
  const ofCommand = grantWithin(perCommand ?? Number.POSITIVE_INFINITY)
  if (!ofCommand) return refuse('--max-credits', 'max_credits', perCommand ?? 0)
  let granted = ofCommand
  if (perDay !== undefined) {
    const id = context.ids.uuid()
    const decide = (left: number) => {
      granted = grantWithin(Math.min(left, perCommand ?? left)) ?? { credits: -1 }
      return granted.credits < 0 ? undefined : granted.credits
    }
    const held = { id, profile: profileName(context), perDay }
    const { left } = await (await openSpending(context)).hold(held, decide, context.clock.now())
    if (granted.credits < 0) return refuse('the budget of the day (UTC)', 'max_credits_per_day', left)
    holds.set(context.streams, id)
  }
  const { limit } = granted
  if (limit === undefined) return input
  context.notify(`--limit ${limit} is added: the budget pays for no more.`)
  return { ...input, limit }
}

/** Throws a Refusal for a field that no result has, and for a `--layout` of records that it does not have. */
export function withFields(context: Context, { output }: Pick<Shape, 'output'>): Context {
  if (context.globals.layout !== undefined) requireCrmKind(output)
  const fields = fieldsOf(context.globals)
  return fields ? context.withGlobals({ fields: resolveFields(output, fields).join(',') }) : context
}

/** Returns the context without `--fields`, after a warning, where the body has none of a field that only it could know. */
function withKnownFields(context: Context, { shape }: OperationRequest, body: unknown): Context {
  const fields = fieldsOf(context.globals) ?? []
  const { rows } = recordsIn(body, fields)
  const isMissing = (field: string) =>
    rows.length > 0 && rows.every((row) => valueAt(row, field) === undefined)
  const missing = fields.find((field) => isMissing(field) && !hasField(shape.output, field))
  if (missing === undefined) return context
  context.notify(`The result has no field "${missing}", so all of it is printed.`)
  return context.withGlobals({ fields: undefined })
}
