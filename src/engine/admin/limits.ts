import { type CountedWindow, planOf, windowsOn } from '../../api/operations/plans.js'
import type { Connection } from '../../storage/driver/connection.js'
import { countedAt, engineTime, settleCounters } from '../clock.js'
import {
  grantDue,
  readBalances,
  readSpentAtServers,
  readWeek,
  type ServerSpending,
} from '../credits/ledger.js'
import { type QuotaReport, readQuotas } from '../credits/quotas.js'
import { createAccess } from '../request/access.js'
import { readCounter } from '../tables/counters.js'
import { readHeldBy } from '../tables/jobs.js'
import { findWorkspace, type Member } from '../tables/members.js'
import type { AdminPorts } from './workspaces.js'

/** What a member can still spend this week, in credits, at engine time. */
export interface WeeklyState {
  readonly limit: number
  readonly spent: number
  /** Held for accepted work, which counts as spent. */
  readonly held: number
  readonly left: number
  readonly resetsAt: number
  /** The same limit at each server that a governed proxy calls for the member, in real time. */
  readonly servers: readonly (ServerSpending & { readonly left: number })[]
}

/** A rate window of a member. It is full until the first request opens it. */
export interface WindowState extends Omit<CountedWindow, 'window'> {
  readonly per: 'second' | 'minute'
  readonly limit: number
  readonly used: number
  readonly remaining: number
  /** Engine time; null while the window is not open. */
  readonly resetsAt: number | null
}

/** The limits of a key, and when they reset. */
export interface LimitsReport {
  readonly plan: string
  /** Spendable and held credits, and the next monthly grant (engine time). */
  readonly credits: {
    readonly enrichment: number
    readonly held: number
    readonly nextAllocation: { readonly credits: number; readonly at: number }
  }
  /** null when the member has no weekly limit. */
  readonly weekly: WeeklyState | null
  readonly quotas: QuotaReport
  readonly windows: readonly WindowState[]
}

/** Reports the limits of the member of a key. */
export function limitsAdmin({ store, clock }: AdminPorts) {
  const access = createAccess(store, { clock, sleep: async () => {} })
  return {
    /** Reads the limits without counting as a request. Throws `invalid_api_key` as the API does. */
    limits: async (apiKey: string | undefined): Promise<LimitsReport> => {
      const principal = await access(apiKey)
      const { member } = principal
      const now = engineTime(principal.clock, clock.now())
      await grantDue(store, principal.workspace, now)
      await settleCounters(store, now)
      return await store.read(async (tx) => {
        const workspace = (await findWorkspace(tx, principal.workspace.id)) ?? principal.workspace
        const { credits, held } = await readBalances(tx, workspace.id)
        const { monthlyCredits } = planOf(workspace.plan)
        const nextAllocation = { credits: monthlyCredits, at: workspace.nextAllocationAt }
        return {
          plan: workspace.plan,
          credits: { enrichment: credits, held, nextAllocation },
          weekly: await readWeeklyState(tx, member, now, clock.now()),
          quotas: await readQuotas(tx, workspace, now),
          windows: await readWindows(tx, member, workspace.plan, now),
        }
      })
    },
  }
}

async function readWeeklyState(
  tx: Connection,
  member: Member,
  now: number,
  realNow: number,
): Promise<WeeklyState | null> {
  const limit = member.weeklyLimit
  if (limit === null) return null
  const { count: spent, resetsAt } = await readWeek(tx, member, now)
  const held = await readHeldBy(tx, member.id)
  const left = Math.max(0, limit - spent - held)
  const servers = (await readSpentAtServers(tx, member, realNow)).map((one) => ({
    ...one,
    left: Math.max(0, limit - one.spent),
  }))
  return { limit, spent, held, left, resetsAt, servers }
}

async function readWindows(
  tx: Connection,
  member: Member,
  plan: string,
  now: number,
): Promise<readonly WindowState[]> {
  const states: WindowState[] = []
  for (const { window, operation, group, live } of windowsOn(plan)) {
    const counter = await readCounter(tx, `user:${member.id}`, window.name)
    const { count, resetsAt: endsAt } = countedAt(counter, window, now)
    const remaining = Math.max(0, window.limit - count)
    const per = window.windowMs === 1_000 ? 'second' : 'minute'
    const resetsAt = count > 0 ? endsAt : null
    states.push({ operation, group, live, per, limit: window.limit, used: count, remaining, resetsAt })
  }
  return states
}
