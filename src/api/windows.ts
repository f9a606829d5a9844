import { type Limit, rateOf } from './operation.js'
import { planOf } from './plans.js'
import type { Operation } from './table.js'

/** A fixed window of requests of one user, opened by its first request. */
export interface Window {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
}

const windowMsOf = { second: 1_000, minute: 60_000 } as const

/** The windows that a request must fit in on a plan; none for an exempt operation. */
export function windowsOf(operation: Operation, plan: string, live: unknown): Window[] {
  const rate = rateOf(operation, live)
  const windows: Window[] = []
  if (rate.plan)
    windows.push({
      name: `plan:${operation.group}`,
      limit: planOf(plan).requestsPerMinute,
      windowMs: windowMsOf.minute,
    })
  if (rate.own) windows.push(ownWindow(operation, rate.own, live))
  return windows
}

const ownWindow = (operation: Operation, [limit, per]: Limit, live: unknown): Window => ({
  // The live and the database rate of one endpoint are two windows.
  name: 'live' in operation.rate && live === false ? `own:${operation.id}:database` : `own:${operation.id}`,
  limit,
  windowMs: windowMsOf[per],
})
