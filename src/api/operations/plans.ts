import { type Limit, type Quota, rateOf } from './facts.js'
import { type Operation, type OperationId, operation, operations } from './table.js'

/** What a plan allows. Requests per minute are from the specification; quotas and grants are settings. */
const plan = (
  requestsPerMinute: number,
  dailyProfiles: number,
  dailyCompanies: number,
  monthlyCompanies: number,
  monthlyCredits: number,
) => ({ requestsPerMinute, dailyProfiles, dailyCompanies, monthlyCompanies, monthlyCredits })

export type Plan = Readonly<ReturnType<typeof plan>>

const free = plan(1, 50, 50, 200, 50)
const basic = plan(2, 250, 250, 2_000, 200)
const build = plan(10, 1_000, 1_000, 10_000, 1_000)
const growth = plan(100, 2_500, 2_500, 25_000, 5_000)
const scale = plan(1_000, 10_000, 10_000, 100_000, 20_000)

/** What a workspace without limits reports as left: the API has whole numbers only. */
const unlimited = 1_000_000_000
const own = plan(1_000, unlimited, unlimited, unlimited, 0)

/** Whether a balance or a rest of a quota is that of a workspace without limits. */
export const isUnlimited = (left: number): boolean => left >= unlimited / 2

/** The plan of a workspace that answers from its owner's data: nothing is charged, and nothing counted. */
export const ownPlan = 'own'

/** All plans by lower-case name. */
export const plans: Readonly<Record<string, Plan>> = {
  free,
  basic,
  starter: build,
  premium: build,
  build,
  advanced: growth,
  professional: growth,
  growth,
  boost: growth,
  scale,
  enterprise: scale,
  agency: scale,
  team: scale,
  [ownPlan]: own,
}

/** Returns whether a plan is listed; case is ignored. */
export const isListedPlan = (name: string): boolean => Object.hasOwn(plans, name.toLowerCase())

/** Returns the plan of a name; an unlisted one has the limits of Free. */
export const planOf = (name: string) => (isListedPlan(name) ? (plans[name.toLowerCase()] ?? free) : free)

/** What a workspace for practice begins with. */
export const newWorkspace = { plan: 'growth', credits: 1_000 } as const

/** Whether a plan has credits and quotas. */
export const isMeteredPlan = (plan: string): boolean => planOf(plan) !== own

/** Returns an operation as a plan charges and counts it. */
export function operationOn(row: Operation, plan: string): Operation {
  const { price, quota } = operation(row.id)
  const isMetered = isMeteredPlan(plan)
  if (isMetered && row.price === price) return row
  const { quota: _, ...uncounted } = row
  return isMetered ? { ...uncounted, price, ...(quota ? { quota } : {}) } : { ...uncounted, price: {} }
}

/** Returns the balance of a workspace as the API reports it. */
export const reportedCredits = (plan: string, credits: number): number =>
  isMeteredPlan(plan) ? credits : unlimited

/** The quotas of a workspace, named as in `GET /credits`. */
export const quotas = {
  daily_profile_scraping: { quota: 'profiles', period: 'day', ceiling: 'dailyProfiles' },
  daily_company_import: { quota: 'companies', period: 'day', ceiling: 'dailyCompanies' },
  monthly_company_import: { quota: 'companies', period: 'month', ceiling: 'monthlyCompanies' },
} as const satisfies Record<string, { quota: Quota; period: string; ceiling: keyof Plan }>

export type QuotaName = keyof typeof quotas

export const quotaNames = Object.keys(quotas) as readonly QuotaName[]

/** Returns what people call a quota, such as `Profiles per day`. */
export function quotaLabel(name: QuotaName): string {
  const { quota, period } = quotas[name]
  return `${quota === 'profiles' ? 'Profiles' : 'Companies'} per ${period}`
}

/** A fixed window of requests of one user, opened by its first request. */
export interface Window {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
}

const windowMsOf = { second: 1_000, minute: 60_000 } as const

/** Returns the windows of a request on a plan; none for an exempt operation. `observed` adds limits not specified. */
export function windowsOf(operation: Operation, plan: string, live: unknown, observed = false): Window[] {
  const rate = rateOf(operation, live)
  const windows: Window[] = []
  if (rate.plan)
    windows.push({
      name: `plan:${operation.group}`,
      limit: planOf(plan).requestsPerMinute,
      windowMs: windowMsOf.minute,
    })
  const own = rate.own ?? (observed ? operation.observedLimit : undefined)
  if (own) windows.push(ownWindow(operation, own, live))
  return windows
}

const ownWindow = (operation: Operation, [limit, per]: Limit, live: unknown): Window => ({
  // Live and database requests of one endpoint have a window each.
  name: 'live' in operation.rate && live === false ? `own:${operation.id}:database` : `own:${operation.id}`,
  limit,
  windowMs: windowMsOf[per],
})

export interface CountedWindow {
  readonly window: Window
  /** The operation that the window belongs to; null for a window of the plan. */
  readonly operation: OperationId | null
  /** The group that a window of the plan counts; null for an operation's own window. */
  readonly group: OperationId | null
  /** Whether only live or only database results are counted; null when both are. */
  readonly live: boolean | null
}

/** Returns every window of a plan: those of the plan first, in the order of the table. */
export function windowsOn(plan: string): readonly CountedWindow[] {
  const all = new Map<string, CountedWindow>()
  for (const operation of operations())
    for (const live of [true, false])
      for (const window of windowsOf(operation, plan, live)) {
        const known = all.get(window.name)
        const isOwn = window.name.startsWith('own:')
        const of = {
          operation: isOwn ? operation.id : null,
          group: isOwn ? null : (operation.group as OperationId),
        }
        all.set(window.name, { ...of, window, live: known && known.live !== live ? null : live })
      }
  return [...all.values()].sort((one, other) => Number(one.group === null) - Number(other.group === null))
}
