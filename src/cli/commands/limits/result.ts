import type { WeeklyState, WindowState } from '../../../engine/admin/limits.js'
import type { QuotaName, QuotaState } from '../../../engine/credits/quotas.js'

/** A quota as the result carries it; null for what a server does not say. */
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
