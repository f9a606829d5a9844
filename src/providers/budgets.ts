import type { Asking } from '../api/ports/ports.js'
import { isoDay } from '../api/values/dates.js'
import {
  dropCall,
  type ProviderCall,
  readSpent,
  type StoredProvider,
  spendBudget,
  updateCall,
} from '../engine/tables/providers.js'
import type { Connection } from '../storage/driver/connection.js'
import { type CompiledProvider, micros } from './compile.js'

type Spending = Pick<Asking, 'run' | 'most' | 'others'>

interface Opened {
  readonly stored: Pick<StoredProvider, 'workspaceId' | 'name'>
  readonly compiled: Pick<CompiledProvider, 'file'>
}

interface Budget {
  readonly of: string
  /** In millionths; `undefined` where there is no limit. */
  readonly limit: number | undefined
}

const limitOf = (credits: number | undefined) =>
  credits === undefined ? undefined : Math.round(credits * micros)

/** The budget of the day that a call is counted in. */
export const dayBudgetOf = ({ file }: Opened['compiled'], now: number): Budget => ({
  of: `day ${isoDay(now)}`,
  limit: limitOf(file.max_cost_per_day),
})

/** The budgets that a call is counted in: that of its run, and that of the day. */
export const budgetsOf = (
  { run, most, others }: Spending,
  { stored, compiled }: Opened,
  now: number,
): readonly Budget[] => [
  { of: run, limit: limitOf(most?.[stored.name] ?? others) },
  dayBudgetOf(compiled, now),
]

/** What came of a call. */
export type Ending = Pick<ProviderCall, 'state' | 'cost'> & Partial<Pick<ProviderCall, 'answer' | 'error'>>

/** Keeps how a call ended, or forgets one that the vendor did not take, and corrects what was held where its cost is known. */
export async function endCall(
  tx: Connection,
  call: ProviderCall,
  budgets: readonly Budget[],
  ending: Ending | undefined,
  answeredAt: number,
): Promise<void> {
  const isEnded = ending
    ? await updateCall(tx, call, { ...ending, answeredAt })
    : (await dropCall(tx, call)) > 0
  if (!isEnded || ending?.state === 'unknown') return
  const { workspaceId, provider, reserved } = call
  for (const { of } of budgets)
    await spendBudget(tx, { workspaceId, provider, run: of }, (ending?.cost ?? 0) - reserved)
}

/** Returns for how many rows that cost at most so many millionths the budgets suffice. */
export async function leftFor(
  tx: Connection,
  spending: Spending,
  opened: Opened,
  most: number,
  now: number,
): Promise<number> {
  const { workspaceId, name: provider } = opened.stored
  let rows = Number.POSITIVE_INFINITY
  for (const { of, limit } of budgetsOf(spending, opened, now)) {
    if (limit === undefined) continue
    const left = limit - (await readSpent(tx, { workspaceId, provider, run: of }))
    if (limit === 0 || left < most) return 0
    if (most > 0) rows = Math.min(rows, Math.floor(left / most))
  }
  return rows
}
