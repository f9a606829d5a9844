import { type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { type Operation, type OperationId, operation } from '../../api/operations/table.js'
import { windowsOf, windowsOn } from '../../api/operations/windows.js'
import type { LimitsReport, WeeklyState, WindowState } from '../../engine/admin/limits.js'
import type { QuotaName, QuotaState } from '../../engine/credits/quotas.js'
import type { Remaining, TargetRefusal } from '../../runs/ports.js'
import type { Context, TargetContext } from '../context/context.js'
import { openStateOf } from '../context/open-databases.js'
import { callOnce } from '../operation/call.js'
import { isoTime } from '../options/values.js'
import { numberAt, valueAt } from '../output/records.js'
import { type RemoteTarget, targetIn } from '../target/resolve-target.js'

/** Returns what is left of credits, quotas and rate windows at a target. */
export const limitsOf = (context: Context): Promise<Limits | TargetRefusal> =>
  context.isLocal() ? localLimits(context) : serverLimits(context)

async function localLimits(context: TargetContext): Promise<Limits> {
  const apiKey = await context.apiKey()
  const admin = await context.admin({ create: false })
  return toLimits(await admin.limits(apiKey))
}

function toLimits({ plan, credits, weekly, quotas, windows }: LimitsReport): Limits {
  const { enrichment, held, nextAllocation } = credits
  return {
    plan,
    credits: {
      enrichment,
      held,
      next_allocation: { credits: nextAllocation.credits, at: isoTime(nextAllocation.at) },
    },
    weekly: weekly && withResetTime(weekly),
    quotas: Object.fromEntries(Object.entries(quotas).map(([name, quota]) => [name, withResetTime(quota)])),
    windows: windows.map(withResetTime),
  }
}

const withResetTime = <T extends { readonly resetsAt: number | null }>({ resetsAt, ...rest }: T) => ({
  ...rest,
  resets_at: isoTime<T['resetsAt']>(resetsAt),
})

/** Whether the server refused to say what is left. */
export const isRefused = (found: Limits | TargetRefusal): found is TargetRefusal => 'reply' in found

/**
 * What a server says of limits, in its two free answers: balance, quotas and plan. It tells nothing of holds, of weekly
 * limits and of when quotas reset; windows are as this machine knows them.
 */
export async function serverLimits(context: Context): Promise<Limits | TargetRefusal> {
  const credits = await ask(context, 'credits.show')
  if (!isOk(credits.reply)) return credits
  const account = await ask(context, 'account.show')
  // Some servers have no such path for a key of few scopes; the plan is then not known, and the rest still is.
  const found = isOk(account.reply) ? valueAt(account.reply.body, 'workspace.plan') : undefined
  const plan = typeof found === 'string' ? found : undefined
  return {
    plan: plan ?? null,
    credits: {
      enrichment: numberAt(credits.reply.body, 'credits.enrichment') ?? null,
      held: null,
      next_allocation: null,
    },
    weekly: null,
    quotas: quotasOf(credits.reply),
    windows: await windowsKnown(context, plan),
  }
}

/** The windows that this machine keeps to; none with `--direct`, where it keeps to none. */
async function windowsKnown(context: Context, plan: string | undefined): Promise<Limits['windows']> {
  const target = targetIn(context)
  if (target.kind === 'local' || target.direct) return []
  return windowsOfServer(context, target, await context.apiKey(), target.plan ?? plan)
}

async function ask(context: Context, id: OperationId): Promise<TargetRefusal> {
  const caller = await context.caller()
  return { operation: operation(id), reply: await callOnce(context, caller, operation(id), {}) }
}

const names: readonly QuotaName[] = [
  'daily_profile_scraping',
  'daily_company_import',
  'monthly_company_import',
]

/** Returns the quotas of which the server gives limit and remainder. */
function quotasOf({ body }: Reply): Limits['quotas'] {
  const known: Partial<Record<QuotaName, ShownQuota>> = {}
  for (const name of names) {
    const [limit, remaining] = [numberAt(body, `limits.${name}`), numberAt(body, `credits.${name}`)]
    if (limit === undefined || remaining === undefined) continue
    known[name] = { limit, used: Math.max(0, limit - remaining), remaining, resets_at: null }
  }
  return known
}

/**
 * The windows of a server as this machine knows them: what it sent, and what the server said of it. Without a plan only
 * those whose limit the server has told.
 */
async function windowsOfServer(
  context: Context,
  { origin }: RemoteTarget,
  apiKey: string | undefined,
  plan: string | undefined,
): Promise<Limits['windows']> {
  const { ownerOf } = await import('../../client/paced.js')
  const { serverMemory } = await import('../../storage/state/remote-servers.js')
  const database = await openStateOf(context)
  const all = windowsOn(plan ?? '')
  const names = all.map(({ window }) => window.name)
  const known = await serverMemory(database, origin).windows(ownerOf(origin, apiKey), names)
  const now = context.clock.now()
  return all.flatMap(({ window, ...counting }, at) => {
    const { endsAt = 0, count = 0, most = null } = known[at] ?? {}
    const isOwn = counting.operation !== null
    const limit = most ?? (plan !== undefined || isOwn ? window.limit : undefined)
    if (limit === undefined) return []
    const used = endsAt > now ? count : 0
    const per = window.windowMs === 1_000 ? 'second' : 'minute'
    const resets_at = used > 0 ? isoTime(endsAt) : null
    return [{ ...counting, per, limit, used, remaining: Math.max(0, limit - used), resets_at } as const]
  })
}

/** A quota in the result; null for what a server does not say. */
export interface ShownQuota extends Omit<QuotaState, 'resetsAt'> {
  readonly resets_at: string | null
}

/** What `prospect limits` prints, for every target; null for what a server does not say. */
export interface Limits {
  readonly plan: string | null
  readonly credits: {
    readonly enrichment: number | null
    readonly held: number | null
    readonly next_allocation: { readonly credits: number; readonly at: string } | null
  }
  readonly weekly: (Omit<WeeklyState, 'resetsAt'> & { readonly resets_at: string }) | null
  readonly quotas: Partial<Readonly<Record<QuotaName, ShownQuota>>>
  readonly windows: readonly (Omit<WindowState, 'resetsAt'> & { readonly resets_at: string | null })[]
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
  const spendable = isKnown ? readSpendableCredits(operation, found, context.isLocal()) : nothingKnown
  const target = targetIn(context)
  const plan = (isKnown ? found.plan : null) ?? (target.kind === 'remote' ? target.plan : undefined)
  const known = isKnown ? found.windows : []
  return { spendable, windows: openWindows(operation, plan, live, known, context.clock.now()) }
}

function readSpendableCredits(
  { quota }: Operation,
  { credits, weekly, quotas }: Limits,
  isLocal: boolean,
): Remaining['spendable'] {
  const ofQuota = {
    profiles: [quotas.daily_profile_scraping],
    companies: [quotas.daily_company_import, quotas.monthly_company_import],
  }
  const left = quota && ofQuota[quota].flatMap((one) => (one ? [one.remaining] : []))
  return {
    balance: credits.enrichment,
    // Only the local engine has weekly limits.
    allowance: weekly ? weekly.left : isLocal ? undefined : null,
    quotas,
    quotaLeft: left && (left.length > 0 ? Math.min(...left) : null),
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
    const until = state?.resets_at == null ? seconds : (Date.parse(state.resets_at) - now) / 1_000
    // The clock of an engine can be set, and no window lasts longer than its length.
    const resetsIn = Math.min(seconds, Math.max(0, until))
    windows.push({ limit, seconds, left: state?.remaining ?? limit, resetsIn })
  }
  return windows
}
