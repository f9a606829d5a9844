import { isOk, type Reply } from '../../../api/calls/caller.js'
import { type OperationId, operation } from '../../../api/operations/table.js'
import type { TargetRefusal } from '../../../batch/ports.js'
import type { QuotaName } from '../../../engine/credits/quotas.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { callOnce } from '../../operation/call.js'
import { valueAt } from '../../output/records.js'
import { targetOf } from '../../target/resolve-target.js'
import type { Limits, ShownQuota } from './result.js'

/** Whether the server refused. */
export const isRefused = (found: Limits | TargetRefusal): found is TargetRefusal => 'reply' in found

/**
 * What a server says of limits, in its two free answers: balance, quotas and plan. It tells nothing of holds, of weekly
 * limits and of when quotas reset; windows are as this machine knows them.
 */
export async function serverLimits(
  context: Context,
  globals: GlobalOptions,
): Promise<Limits | TargetRefusal> {
  const credits = await ask(context, 'credits.show', globals)
  if (!isOk(credits.reply)) return credits
  const account = await ask(context, 'account.show', globals)
  // Some servers have no such path for a key of few scopes; the plan is then not known, and the rest still is.
  const told = isOk(account.reply) ? valueAt(account.reply.body, 'workspace.plan') : undefined
  const plan = typeof told === 'string' ? told : undefined
  return {
    plan: plan ?? null,
    credits: { enrichment: countAt(credits.reply, 'credits.enrichment'), held: null, next_allocation: null },
    weekly: null,
    quotas: quotasOf(credits.reply),
    windows: await windowsKnown(context, plan, globals),
  }
}

/** The windows that this machine keeps to; none with `--direct`, where it keeps to none. */
async function windowsKnown(
  context: Context,
  plan: string | undefined,
  globals: GlobalOptions,
): Promise<Limits['windows']> {
  const target = targetOf(globals, context.streams.env, context.settings())
  if (target.kind === 'local' || target.direct) return []
  const { windowsOfServer } = await import('./windows.js')
  return windowsOfServer(context, target, await context.apiKey(globals), target.plan ?? plan)
}

async function ask(context: Context, id: OperationId, globals: GlobalOptions): Promise<TargetRefusal> {
  const caller = await context.caller(globals)
  return { operation: operation(id), reply: await callOnce(context, caller, operation(id), {}, globals) }
}

const names: readonly QuotaName[] = [
  'daily_profile_scraping',
  'daily_company_import',
  'monthly_company_import',
]

/** The quotas that the server tells both sides of. */
function quotasOf(reply: Reply): Limits['quotas'] {
  const known: Partial<Record<QuotaName, ShownQuota>> = {}
  for (const name of names) {
    const [limit, remaining] = [countAt(reply, `limits.${name}`), countAt(reply, `credits.${name}`)]
    if (limit === null || remaining === null) continue
    known[name] = { limit, used: Math.max(0, limit - remaining), remaining, resets_at: null }
  }
  return known
}

function countAt({ body }: Reply, path: string): number | null {
  const value = valueAt(body, path)
  return typeof value === 'number' ? value : null
}
