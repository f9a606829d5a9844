import { ApiError } from '../../api/calls/errors.js'
import type { Quota } from '../../api/operations/facts.js'
import { planOf, type QuotaName, quotaNames, quotas } from '../../api/operations/plans.js'
import type { Connection } from '../../storage/driver/connection.js'
import { countedAt } from '../clock.js'
import { type Counter, readCounter, setCounter } from '../tables/counters.js'
import type { Workspace } from '../tables/members.js'

type Rule = (typeof quotas)[QuotaName]

/** How a quota stands, and when it resets (engine time). */
export type QuotaState = ReturnType<typeof toQuotaState>

export type QuotaReport = Readonly<Record<QuotaName, QuotaState>>

const ownerOf = (workspace: Workspace) => `workspace:${workspace.id}`

/** Returns the ceiling set by hand, or the plan's. */
const limitOf = (workspace: Workspace, { ceiling }: Rule): number =>
  workspace[ceiling] ?? planOf(workspace.plan)[ceiling]

function toQuotaState(workspace: Workspace, rule: Rule, counter: Counter | undefined, now: number) {
  const limit = limitOf(workspace, rule)
  const { count: used, resetsAt } = countedAt(counter, rule, now)
  return { limit, used, remaining: Math.max(0, limit - used), resetsAt }
}

export async function readQuotas(tx: Connection, workspace: Workspace, now: number): Promise<QuotaReport> {
  const report: Partial<Record<QuotaName, QuotaState>> = {}
  for (const name of quotaNames) {
    const counter = await readCounter(tx, ownerOf(workspace), name)
    report[name] = toQuotaState(workspace, quotas[name], counter, now)
  }
  return report as QuotaReport
}

/** Throws 422 when a quota is used up in one of its periods. */
export async function checkQuota(tx: Connection, workspace: Workspace, quota: Quota, now: number) {
  const report = await readQuotas(tx, workspace, now)
  if (quotaNames.some((name) => quotas[name].quota === quota && report[name].remaining === 0))
    throw new ApiError('plan_limit_reached')
}

/** Takes up to `units` from a quota, from all of its periods. Returns how many it took. */
export async function takeQuota(
  tx: Connection,
  workspace: Workspace,
  quota: Quota,
  units: number,
  now: number,
): Promise<number> {
  const owner = ownerOf(workspace)
  const counters: { name: QuotaName; startedAt: number; count: number; remaining: number }[] = []
  for (const name of quotaNames.filter((name) => quotas[name].quota === quota)) {
    const { started_at: startedAt, count } = countedAt(await readCounter(tx, owner, name), quotas[name], now)
    counters.push({ name, startedAt, count, remaining: limitOf(workspace, quotas[name]) - count })
  }
  const taken = Math.min(units, ...counters.map(({ remaining }) => remaining))
  if (taken <= 0) return 0
  for (const { name, startedAt, count } of counters)
    await setCounter(tx, owner, name, { started_at: startedAt, count: count + taken })
  return taken
}
