import { type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { type QuotaName, quotaNames, quotas, windowsOf, windowsOn } from '../../api/operations/plans.js'
import { type Operation, operation as rowOf } from '../../api/operations/table.js'
import type { LimitsReport } from '../../engine/admin/admin.js'
import type { QuotaState } from '../../engine/credits/quotas.js'
import type { Remaining, TargetRefusal } from '../../runs/ports.js'
import type { Context } from '../context/context.js'
import { openStateOf } from '../context/open-databases.js'
import { numberAt, type Row, stringAt, toPrinted, valueAt } from '../output/records.js'
import { targetIn } from '../target/resolve-target.js'
import { callOnce } from './send.js'

/** Returns the windows to show: without those whose limit the server did not report. */
export async function reportedWindows({ windows }: Pick<Limits, 'windows'>): Promise<Limits['windows']> {
  const { unreportedLimit } = await import('../../client/paced.js')
  return windows.filter(({ limit }) => limit !== unreportedLimit)
}

/** Returns what is known of limits: of this machine's engine all, of a server what it says. */
export async function limitsOf(context: Context): Promise<Limits | TargetRefusal> {
  if (!context.isLocal()) return serverLimits(context)
  const apiKey = await context.apiKey()
  return (await context.admin()).limits(apiKey)
}

export const isRefused = (found: Limits | TargetRefusal): found is TargetRefusal => 'reply' in found

/** Who has the key of a command, as the server said with its limits, by the streams of the command. */
export const owners = new WeakMap<object, string>()

/**
 * What a server says of limits, in its two free answers: balance, quotas and plan; an engine and a proxy of ours also the
 * week of the member. It tells nothing of holds and of when quotas reset; windows are as this machine knows them.
 */
async function serverLimits(context: Context): Promise<Limits | TargetRefusal> {
  const credits = await callOnce(context, 'credits.show', {})
  if (!isOk(credits)) return { operation: rowOf('credits.show'), reply: credits }
  const account = await callOnce(context, 'account.show', {})
  // Some servers have no such path for a key of few scopes; the plan is then not known, and the rest still is.
  const plan = isOk(account) ? stringAt(account.body, 'workspace.plan') : undefined
  const enrichment = numberAt(credits.body, 'credits.enrichment') ?? null
  const member = isOk(account) ? stringAt(account.body, 'account.email') : undefined
  if (member !== undefined) owners.set(context.streams, member)
  return {
    plan: plan ?? null,
    credits: { enrichment, held: null, nextAllocation: null },
    weekly: isOk(account) ? weekOf(account) : undefined,
    member,
    quotas: quotasOf(credits),
    windows: await windowsKnown(context, plan),
  }
}

/** Returns the week of the owner of a key where a server says it, null where it says that there is no limit. */
function weekOf({ body }: Reply): Limits['weekly'] {
  if (valueAt(body, 'account.weekly_limit') === null) return null
  const [limit, spent, left] = ['limit', 'spent', 'left'].map((name) =>
    numberAt(body, `account.weekly_limit.${name}`),
  )
  const resetsAt = Date.parse(stringAt(body, 'account.weekly_limit.resets_at') ?? '')
  if (limit === undefined || spent === undefined || left === undefined || Number.isNaN(resetsAt))
    return undefined
  const held = numberAt(body, 'account.weekly_limit.held') ?? 0
  return { limit, spent, held, left, resetsAt, servers: [] }
}

/** Returns what the week of the owner of the key has left; `undefined` without a limit, and where nobody says it. */
export async function weekLeft(context: Context): Promise<number | undefined> {
  if (!context.isLocal()) {
    const account = await callOnce(context, 'account.show', {}).catch(() => undefined)
    return account && isOk(account) ? weekOf(account)?.left : undefined
  }
  if (!(await context.isSetUp())) return undefined
  return (await (await context.admin()).limits(await context.apiKey())).weekly?.left
}

function quotasOf({ body }: Reply): Limits['quotas'] {
  const known = quotaNames.flatMap((name) => {
    const [limit, remaining] = [numberAt(body, `limits.${name}`), numberAt(body, `credits.${name}`)]
    if (limit === undefined || remaining === undefined) return []
    return [[name, { limit, used: Math.max(0, limit - remaining), remaining, resetsAt: null }] as const]
  })
  return Object.fromEntries(known)
}

/**
 * The windows of a server as this machine knows them: what it sent, and what the server said of it. Without a plan only
 * those whose limit the server has told; none with `--direct`, where this machine keeps to none.
 */
async function windowsKnown(context: Context, said: string | undefined): Promise<Limits['windows']> {
  const target = targetIn(context)
  if (target.kind === 'local' || target.direct) return []
  const { origin, plan = said } = target
  const { ownerOf } = await import('../../client/paced.js')
  const { serverMemory } = await import('../../storage/state/remote-servers.js')
  const database = await openStateOf(context)
  const all = windowsOn(plan ?? '')
  const names = all.map(({ window }) => window.name)
  const known = await serverMemory(database, origin).windows(ownerOf(origin, await context.apiKey()), names)
  const now = context.clock.now()
  return all.flatMap(({ window, ...counting }, at) => {
    const { endsAt = 0, count = 0, most = null } = known[at] ?? {}
    const isOwn = counting.operation !== null
    const limit = most ?? (plan !== undefined || isOwn ? window.limit : undefined)
    if (limit === undefined) return []
    const used = endsAt > now ? count : 0
    const per = window.windowMs === 1_000 ? 'second' : 'minute'
    const resetsAt = used > 0 ? endsAt : null
    return [{ ...counting, per, limit, used, remaining: Math.max(0, limit - used), resetsAt } as const]
  })
}

/** Limits as far as they are known; null for what a server does not say. */
export interface Limits extends Pick<LimitsReport, 'windows'> {
  readonly plan: string | null
  /** Null without a limit; `undefined` where the server does not say. */
  readonly weekly: LimitsReport['weekly'] | undefined
  /** Who has the key, where the server says it. */
  readonly member?: string | undefined
  readonly credits: { readonly [Name in keyof LimitsReport['credits']]: LimitsReport['credits'][Name] | null }
  readonly quotas: Partial<
    Record<QuotaName, { readonly [Name in keyof QuotaState]: QuotaState[Name] | null }>
  >
}

const nothingKnown: Remaining['spendable'] = { balance: null, allowance: null, quotas: {}, quotaLeft: null }

/** Returns what is left for an operation, null where the target does not say; or its refusal of the key. */
export async function readRemaining(
  context: Context,
  operation: Operation,
  { live }: Input,
): Promise<Remaining | TargetRefusal> {
  const found = await limitsOf(context)
  const isKnown = !isRefused(found)
  if (!isKnown && found.reply.status === 401) return found
  const spendable = isKnown ? readSpendableCredits(operation, found) : nothingKnown
  const target = targetIn(context)
  const plan = (isKnown ? found.plan : null) ?? (target.kind === 'remote' ? target.plan : undefined)
  const known = isKnown ? found.windows : []
  return { spendable, windows: openWindows(operation, plan, live, known, context.clock.now()) }
}

function readSpendableCredits(operation: Operation, { credits, weekly, quotas: known }: Limits) {
  const ofIt = quotaNames.filter((name) => quotas[name].quota === operation.quota)
  const left = ofIt.flatMap((name) => known[name]?.remaining ?? [])
  return {
    balance: credits.enrichment,
    allowance: weekly === undefined ? null : weekly?.left,
    quotas: toPrinted(known) as Row,
    quotaLeft: operation.quota && (left.length > 0 ? Math.min(...left) : null),
  }
}

/** Returns the current rate windows of an operation; null where the plan is needed and unknown. */
function openWindows(
  operation: Operation,
  plan: string | undefined,
  live: unknown,
  known: Limits['windows'],
  now: number,
): Remaining['windows'] {
  const windows: NonNullable<Remaining['windows']>[number][] = []
  for (const { name, limit: usual, windowMs } of windowsOf(operation, plan ?? '', live)) {
    const isOfPlan = name.startsWith('plan:')
    const state = known.find(
      (one) =>
        (isOfPlan ? one.group === operation.group : one.operation === operation.id) &&
        (one.live === null || one.live === (live !== false)),
    )
    const limit = state?.limit ?? (isOfPlan && plan === undefined ? undefined : usual)
    if (limit === undefined) return null
    const seconds = windowMs / 1_000
    const until = state?.resetsAt == null ? seconds : (state.resetsAt - now) / 1_000
    // The clock of an engine can be set, and no window lasts longer than its length.
    const resetsIn = Math.min(seconds, Math.max(0, until))
    windows.push({ limit, seconds, left: state?.remaining ?? limit, resetsIn })
  }
  return windows
}
