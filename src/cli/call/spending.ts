import { createHash } from 'node:crypto'
import { shapeOf } from '../../api/areas/shapes.js'
import { type Input, isOk, type Layer, type Reply } from '../../api/calls/caller.js'
import { ApiError, Refusal } from '../../api/calls/errors.js'
import { isPriced } from '../../api/operations/facts.js'
import {
  immediateOperation,
  type Operation,
  type OperationId,
  operation,
} from '../../api/operations/table.js'
import { ownWebhook } from '../../api/validation/own-webhook.js'
import { formatAge } from '../../api/values/duration.js'
import { once } from '../../api/values/objects.js'
import { mostCredits } from '../../engine/credits/cost.js'
import { longestInProgressMs } from '../../lookups/answer.js'
import type { Spender } from '../../lookups/budgets.js'
import type { Spending } from '../../runs/journal/spending.js'
import type { RunsLocation } from '../../runs/records.js'
import { defaultMaxAgeMs } from '../../runs/request.js'
import type { ClaimedWork, SingleLookupPorts, SingleLookups, StoredPart } from '../../runs/stored-lookups.js'
import { type Driver, isPostgres } from '../../storage/driver/connection.js'
import type { Context, Machine } from '../context/context.js'
import { profileInUse } from '../context/home.js'
import { isThere, openStateOf } from '../context/open-databases.js'
import { durationMs } from '../options/values.js'
import { waitOf } from '../options/webhooks.js'
import { countOf } from '../output/text.js'
import { openOwnEngine, sentAgain } from '../target/local-target.js'
import { answersFrom } from '../target/required-records.js'
import { memberEmail, profileName, targetIn, targetName, workspaceName } from '../target/resolve-target.js'
import type { OperationRequest } from './build.js'

/**
 * Of this machine, or of all machines that share a database. It closes with the command. What this machine lists has the work
 * that members have started at any of the proxies over its database.
 */
export async function openSpending(context: Machine, { database: address }: RunsLocation = {}) {
  const { spendingOver } = await import('../../runs/journal/spending.js')
  const own = spendingOver(await stateAt(context, address))
  const { engine } = context.home
  if (address !== undefined || !isPostgres(engine)) return own
  const list: typeof own.list = async (filter) => {
    const { findShared } = await import('../../storage/state/open.js')
    const database = await findShared(engine)
    if (!database) return own.list(filter)
    const shared = await spendingOver(database)
      .list(filter)
      .finally(() => database.close())
    const ofMembers = shared.filter(({ run, member }) => run === null && member !== null)
    const all = [...(await own.list(filter)), ...ofMembers]
    return all.sort((one, other) => Number(one.day > other.day) - Number(one.day < other.day))
  }
  return { ...own, list }
}

/** Opens the state of this machine, or that at an address. It closes with the command. */
const stateAt = (context: Machine, address: string | undefined): Promise<Driver> =>
  address === undefined ? stateOf(context) : openStateOf(context, address)

const states = new WeakMap<Machine['onClose'], Promise<Driver>>()

/** Opens this machine's state once for all that the calls of a command look for and record. */
function stateOf({ home, onClose }: Machine): Promise<Driver> {
  const opening = states.get(onClose) ?? openStateOf({ home, onClose })
  states.set(onClose, opening)
  opening.catch(() => states.delete(onClose))
  return opening
}

/** The ids of credits that are held for the call of a command, by its streams, until its cost is recorded. */
export const holds = new WeakMap<object, string>()

interface SpendingOptions {
  readonly open?: () => Promise<Spending>
  readonly held?: string | undefined
  readonly member?: string | undefined
  /** What the cost is recorded for once, such as accepted work that several commands wait for. */
  readonly once?: string | undefined
  /** What it is recorded for, whatever was recorded before. */
  readonly marks?: string | undefined
}

/** Rows of runs are recorded with their answers. A failure is only a notice, because the paid answer matters more. */
export async function recordSpent(
  context: Context,
  operation: OperationId,
  credits: number,
  {
    open = () => openSpending(context),
    held = holds.get(context.streams),
    member,
    once: first,
    marks,
  }: SpendingOptions = {},
): Promise<void> {
  context.log?.spend(credits)
  if (credits === 0 && held === undefined) return
  holds.delete(context.streams)
  const [spent, now] = [{ credits, calls: 1, once: first, marks }, context.clock.now()]
  await record(context, { operation, member }, `The ${credits} credits of this call`, async (spender) => {
    const spending = await open()
    if (held === undefined) await spending.count(spender, spent, now)
    else await spending.settle(held, spender, spent, now)
  })
}

/** Puts something about an answer on record; `what` is said to be missing where that fails. */
async function record(
  context: Context,
  { operation, member }: Answered,
  what: string,
  write: (spender: Omit<Spender, 'number'>) => Promise<void>,
): Promise<void> {
  try {
    const [profile, target] = [profileName(context), await targetName(context)]
    await write({ profile, target, operation, member: member ?? (await memberEmail(context)) })
  } catch (error) {
    const { reasonOf } = await import('../messages.js')
    context.notify(`${what} are missing in prospect ledger: ${reasonOf(error)}`)
  }
}

/** Whose answer something is about: that of a member of a proxy, or of a run. */
interface Answered {
  readonly operation: OperationId
  readonly member?: string | undefined
}

/**
 * Returns what counts and names answers that turned out to be suspect after they were passed on: on stderr and in the log, and
 * in the ledger unless `inLedger` is false. Those of one moment are one message.
 */
export function createSuspectRecorder(context: Context, inLedger = true) {
  let suspect: Answered[] = []
  const record = () => {
    const groups = Map.groupBy(suspect, ({ operation: id, member = '' }) => JSON.stringify([id, member]))
    suspect = []
    for (const group of groups.values()) {
      const [{ operation: id, member } = {} as Answered] = group
      const answers = group.length
      context.log?.write('suspect', { operation: id, member: member ?? null, answers })
      context.notify(formatSuspect(id, answers, member))
      if (inLedger) void countSuspect(context, { operation: id, member }, answers)
    }
  }
  return (one: Answered): void => {
    if (suspect.push(one) === 1) setImmediate(record)
  }
}

const countSuspect = (context: Context, one: Answered, suspect: number): Promise<void> =>
  record(context, one, `Suspect answers of ${one.operation}`, async (spender) => {
    const spending = await openSpending(context)
    const counted = spending.count(spender, { credits: 0, calls: 0, suspect }, context.clock.now())
    // The command does not end before that.
    context.onClose(() => counted)
    await counted
  })

export const suspectLayer = (context: Context, inLedger = true): Layer => {
  const note = createSuspectRecorder(context, inLedger)
  return (caller) => ({
    ...caller,
    call: (id, input, options = {}) =>
      caller.call(id, input, {
        ...options,
        onSuspect: options.onSuspect ?? (() => note({ operation: id, member: options.member?.email })),
      }),
  })
}

function formatSuspect(id: OperationId, answers: number, member: string | undefined): string {
  const subject = countOf(answers, 'answer')
  const others = answers === 1 ? 'the answer to another request' : 'answers to other requests'
  const to = member === undefined ? '' : ` to ${member}`
  return `Suspect: the server sent more than was asked, so ${subject} of ${id}${to} in the last second may be ${others}.`
}

/** Whether the cost of a call is known with its reply: not that of accepted work, nor after a fault on the way. */
export const isCostKnown = ({ starts }: Operation, reply: Reply): boolean =>
  !reply.unknown && (starts === undefined || !isOk(reply))

/** Refuses a call with 402 whose maximum price is more than the setting `max_credits_per_day` leaves. */
export function createSpendingLayer(context: Context): Layer {
  const open = once(() => openSpending(context))
  const { max_credits_per_day: perDay } = profileInUse(context)
  const profile = profileName(context)
  const hold = async (row: Operation, input: Input): Promise<string | undefined> => {
    const most = mostCredits(row, input)
    if (perDay === undefined || most === 0) return undefined
    const id = context.ids.uuid()
    const decide = (left: number) => (most !== null && most <= left ? most : undefined)
    const held = await (await open()).hold({ id, profile, perDay }, decide, context.clock.now())
    const { left, credits, until } = held
    if (credits !== undefined) return id
    const { aheadText } = await import('../messages.js')
    const have = `${left} left of max_credits_per_day ${perDay} (UTC)${aheadText(until)}`
    throw new ApiError('insufficient_credits', { need: most ?? left + 1, have })
  }
  return (caller) => ({
    ...caller,
    call: async (id, input, call) => {
      const row = operation(id)
      const held = await hold(row, input)
      const reply = await caller.call(id, input, call)
      const member = call?.member?.email
      const { credits, ...counted } = costOfCall(row, reply, call?.idempotencyKey, member)
      const settled = isCostKnown(row, reply) ? held : undefined
      await recordSpent(context, id, credits, { ...counted, open, held: settled, member })
      return reply
    },
  })
}

/**
 * Returns what a single call cost. A replayed reply was paid for before: under a key of the user's own it was recorded then,
 * unless the command was killed in between.
 */
export function costOfCall(
  operation: Operation,
  { credits, replayed = 0 }: Reply,
  ownKey: string | undefined,
  member = '',
): { readonly credits: number; readonly once?: string; readonly marks?: string } {
  if (!isPriced(operation)) return { credits: 0 }
  if (ownKey === undefined) return { credits: credits + replayed }
  // Keys are often made of what they are for, and members are people.
  const key = `key ${createHash('sha256')
    .update(JSON.stringify([member, ownKey]))
    .digest('hex')}`
  return credits > 0 ? { credits, marks: key } : { credits: replayed, once: key }
}

type Given = Pick<OperationRequest['invocation'], 'options'>

/** Throws a Refusal for `--max-age` with `--direct`, which stores nothing. */
export function usesStoredAnswers(context: Context, { options: { maxAge } }: Given): boolean {
  if (context.globals.direct && maxAge !== undefined) throw new Refusal('usage.max_age_direct')
  return !context.globals.direct
}

/**
 * Returns how old a stored answer may be for a single lookup, in milliseconds, where an option or a setting says so; 0 asks
 * again.
 */
export function maxAgeGiven(context: Context, { options: { maxAge, refresh } }: Given): number | undefined {
  if (refresh === true) return 0
  if (typeof maxAge === 'number') return maxAge
  const age = profileInUse(context).max_age
  return age === undefined ? undefined : durationMs(age)
}

/** Returns when the target gave the stored reply that a request would get; `undefined` where it would be sent. */
export async function findStored(context: Context, request: OperationRequest): Promise<number | undefined> {
  const lookup = await storedLookupOf(context, request)
  if (!lookup) return undefined
  const stored = await openStoredLookups(context, request.invocation)
  // Where it cannot be read, the lookup is sent, which says so.
  return stored.find(...lookup).catch(() => undefined)
}

/** Returns the result that was paid for before of work that a request would start; `undefined` where it is to be started. */
export async function findResult(context: Context, request: OperationRequest): Promise<Reply | undefined> {
  const lookup = await storedLookupOf(context, request)
  if (!lookup) return undefined
  const onStored = (answeredAt: number) => reportStored(context, answeredAt)
  const stored = await openStoredLookups(context, request.invocation, { onStored })
  return stored.reply(...lookup).catch(() => undefined)
}

/**
 * Claims the lookup that a request starts work for, so that work which a killed command has started is followed and not paid
 * for again (decision 7). Returns the result where another command got it meanwhile; `undefined` where it is no lookup.
 */
export async function claimWork(
  context: Context,
  request: OperationRequest,
): Promise<ClaimedWork | Reply | undefined> {
  const { options } = request.invocation
  const lookup = options.idempotencyKey === undefined ? await lookupOf(context, request) : undefined
  if (!lookup || !usesStoredAnswers(context, request.invocation) || !(await context.isSetUp()))
    return undefined
  const onStored = (answeredAt: number) => reportStored(context, answeredAt)
  const stored = await openStoredLookups(context, request.invocation, { onStored })
  // Where nothing can be recorded, the work is started, which says so.
  return stored.claimWork(...lookup).catch(() => undefined)
}

/** Stores the result of work that a request has started, so that no later lookup pays for it again. */
export async function storeResult(
  context: Context,
  request: OperationRequest,
  body: unknown,
  credits: number,
): Promise<void> {
  const lookup = await lookupOf(context, request)
  if (!lookup || context.globals.direct) return
  const stored = await openStoredLookups(context, request.invocation)
  await stored.add(...lookup, { status: 200, body, headers: {}, credits })
}

async function storedLookupOf(context: Context, request: OperationRequest) {
  const { options } = request.invocation
  if (options.idempotencyKey !== undefined) return undefined
  const lookup = await lookupOf(context, request)
  if (!lookup || !usesStoredAnswers(context, request.invocation)) return undefined
  // A look creates nothing.
  return isThere(context.home.state) && (await context.isSetUp()) ? lookup : undefined
}

/**
 * Returns the lookup that a request is, or the one that its work answers: where the result is waited for, or this machine does
 * the work, and no webhook has to hear of it.
 */
async function lookupOf(
  context: Context,
  { operation: row, input, invocation }: OperationRequest,
): Promise<readonly [OperationId, Input] | undefined> {
  if (!isPriced(row)) return undefined
  if (row.starts === undefined) return [row.id, input]
  const { id } = immediateOperation(row)
  const { webhook_url: address } = input
  const isHeard = address !== undefined && address !== ownWebhook
  const { doesWork, printsResult } = waitOf(context, invocation, input)
  const isFollowed = printsResult || (doesWork && context.isLocal())
  if (id === row.id || isHeard || !isFollowed) return undefined
  const { shape } = (await shapeOf(id)).input
  const fields = Object.entries(input).filter(([name]) => Object.hasOwn(shape, name))
  return [id, Object.fromEntries(fields)]
}

interface StoredLookupsOptions
  extends Partial<Pick<SingleLookupPorts, 'onStored' | 'answersKeys' | 'sharesWork'>> {
  /** Of the state that several machines share; by default that of this machine. */
  readonly database?: string | undefined
}

/** Opens the answers of earlier lookups, for single ones. They close with the command. */
export async function openStoredLookups(
  context: Context,
  given: Given,
  { database: address, answersKeys = false, sharesWork = false, onStored }: StoredLookupsOptions = {},
): Promise<SingleLookups> {
  const { clock, ids } = context
  const target = targetIn(context)
  const { createSingleLookups } = await import('../../runs/stored-lookups.js')
  const { isKnown } = await import('../../client/kept-keys.js')
  const { holdLookups, fileLocks, leasesOver } = await import('../../runs/records.js')
  const { stopKilledRuns } = await import('../../runs/killed-runs.js')
  const opened = once(() => stateAt(context, address))
  let aheadMs = 0
  const now = () => clock.now() + aheadMs
  return createSingleLookups({
    clock: { now },
    ids,
    isKnown,
    answersKeys,
    sharesWork,
    sleep: (ms) => context.sleep(ms),
    maxAgeMs: maxAgeGiven(context, given) ?? defaultMaxAgeMs,
    names: target.kind === 'remote' ? target.names : undefined,
    open: once(async () => {
      const database = await opened()
      aheadMs = database.aheadMs?.() ?? 0
      const locks = address === undefined ? fileLocks(context) : await leasesOver(context, database)
      // The answers of a run that was killed serve, too.
      await stopKilledRuns({ database, locks, now }, undefined, () => openOwnEngine(context))
      return {
        database,
        locks,
        holdLock: () => holdLookups(context, address === undefined ? undefined : locks),
        profile: profileName(context),
        target: await targetName(context),
        workspace: await workspaceName(context),
        notBefore: await answersFrom(context),
      }
    }),
    areSuppressed: async (contacts) => (await (await context.suppressor())?.areAskedAbout(contacts)) ?? [],
    clean: async (id, reply) => (await context.suppressor())?.reply(operation(id), reply) ?? reply,
    onAgain: target.kind === 'remote' ? () => context.notify(sentAgain) : undefined,
    onWait: () =>
      context.notify(
        `An equal lookup is under way in another command: waiting for its answer, for up to ${longestInProgressMs / 60_000} minutes.`,
      ),
    ...(onStored ? { onStored } : {}),
    onFault: async (error) => {
      const { reasonOf } = await import('../messages.js')
      context.notify(
        `The answer could not be stored, so the same lookup will be charged again: ${reasonOf(error)}`,
      )
    },
  })
}

/** Says that a lookup was paid for before. */
export function reportStored(context: Context, answeredAt: number, part?: StoredPart): void {
  const age = formatAge(context.clock.now() - answeredAt)
  const ago = `${age === '0 s' ? 'a moment' : age} ago`
  const paid = part ? `${part.stored} of ${part.items} were paid ${ago}` : `Paid ${ago}`
  context.notify(`${paid}, not again; --refresh asks again.`)
}
