/** What a plan allows. Requests per minute are from the specification; quotas and grants are settings. */
export interface Plan {
  readonly requestsPerMinute: number
  readonly dailyProfiles: number
  readonly dailyCompanies: number
  readonly monthlyCompanies: number
  readonly monthlyCredits: number
}

const plan = (
  requestsPerMinute: number,
  dailyProfiles: number,
  dailyCompanies: number,
  monthlyCompanies: number,
  monthlyCredits: number,
): Plan => ({ requestsPerMinute, dailyProfiles, dailyCompanies, monthlyCompanies, monthlyCredits })

const free = plan(1, 50, 50, 200, 50)
const basic = plan(2, 250, 250, 2_000, 200)
const build = plan(10, 1_000, 1_000, 10_000, 1_000)
const growth = plan(100, 2_500, 2_500, 25_000, 5_000)
const scale = plan(1_000, 10_000, 10_000, 100_000, 20_000)

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
}

/** Returns whether a plan is listed; case is ignored. */
export const isListedPlan = (name: string): boolean => Object.hasOwn(plans, name.toLowerCase())

/** Returns the plan of a name; an unlisted one has the limits of Free. */
export const planOf = (name: string): Plan =>
  isListedPlan(name) ? (plans[name.toLowerCase()] ?? free) : free

/** Plan and credits of a new workspace. */
export const newWorkspace = { plan: 'growth', credits: 1_000 } as const
