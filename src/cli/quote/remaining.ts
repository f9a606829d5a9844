import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { windowsOf } from '../../api/operations/windows.js'
import type { RateWindow } from '../../batch/plan/quote.js'
import type { Remaining, TargetRefusal } from '../../batch/ports.js'
import type { Context, GlobalOptions } from '../context/context.js'
import type { Limits } from '../limits/limits.js'
import { isRefused, limitsOf } from '../limits/limits.js'
import { targetOf } from '../target/resolve-target.js'

const nothingKnown: Remaining['spendable'] = { balance: null, allowance: null, quotas: {}, quotaLeft: null }

/** Asks a target, for free, what is left; what it does not say is null. A key that is not accepted is refused. */
export async function readRemaining(
  context: Context,
  operation: Operation,
  { live }: Input,
  globals: GlobalOptions,
): Promise<Remaining | TargetRefusal> {
  const found = await limitsOf(context, globals)
  const isKnown = !isRefused(found)
  if (!isKnown && found.reply.status === 401) return found
  const spendable = isKnown ? readSpendableCredits(operation, found, context.isLocal(globals)) : nothingKnown
  const target = targetOf(globals, context.streams.env, context.settings())
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
    // Only the own engine tells of weekly limits.
    allowance: weekly ? weekly.left : isLocal ? undefined : null,
    quotas,
    quotaLeft: left && (left.length > 0 ? Math.min(...left) : null),
  }
}

/** The windows that a request counts in, as they are now; null where the plan is needed and unknown. */
function openWindows(
  operation: Operation,
  plan: string | undefined,
  live: unknown,
  known: Limits['windows'],
  now: number,
): Remaining['windows'] {
  const windows: RateWindow[] = []
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
    // The clock of an engine can be set; no window lasts longer than its length.
    const resetsIn = Math.min(seconds, Math.max(0, until))
    windows.push({ limit, seconds, left: state?.remaining ?? limit, resetsIn })
  }
  return windows
}
