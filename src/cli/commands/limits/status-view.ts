import { type Row, valueAt } from '../../output/records.js'
import { grid, record } from '../../output/table.js'
import { grouped, type Look } from '../../output/text.js'

const labels: Readonly<Record<string, string>> = {
  daily_profile_scraping: 'Profiles per day',
  daily_company_import: 'Companies per day',
  monthly_company_import: 'Companies per month',
}

/** Quotas for a person: a line each. */
export function quotaTable(quotas: object, look: Look): string {
  const rows = Object.entries(quotas as Row).map(([name, state]) => ({
    Quota: labels[name] ?? name,
    Used: valueAt(state, 'used'),
    Left: valueAt(state, 'remaining'),
    Of: valueAt(state, 'limit'),
    Resets: valueAt(state, 'resets_at'),
  }))
  return grid(['Quota', 'Used', 'Left', 'Of', 'Resets'], rows, look)
}

/** `prospect engine status` for a person. */
export function statusView(body: unknown, look: Look): string {
  const at = (path: string) => valueAt(body, path)
  const number = (path: string) => grouped(Number(at(path) ?? 0))
  const facts = {
    Workspace: at('workspace.name'),
    Plan: at('plan_listed') === false ? `${at('plan')} (not listed: limits of free)` : at('plan'),
    Credits: `${number('credits.enrichment')}${at('credits.held') ? `, ${number('credits.held')} held` : ''}`,
    'Next grant': at('next_allocation_at'),
    Members: at('members'),
    'Valid keys': at('keys'),
    Jobs: counted(at('jobs'), ['queued', 'running'], 'none under way'),
    Deliveries: counted(at('deliveries'), ['pending', 'failed', 'delivered'], 'none'),
    Sessions: `network ${valid(at('sessions.network'))}, premium ${valid(at('sessions.premium'))}`,
    Clock: `${at('clock.now')}${clockNote(at('clock.frozen'), Number(at('clock.offset_seconds')))}`,
    Catalogue: Object.entries((at('catalogue') ?? {}) as Row)
      .map(([kind, count]) => `${grouped(Number(count))} ${kind}`)
      .join(', '),
    Schema: at('schema_version'),
  }
  return `${record(facts, look)}\n${quotaTable((at('quotas') ?? {}) as object, look)}`
}

/** Counts of some states in words; what does not occur is left out. */
function counted(counts: unknown, states: readonly string[], none: string): string {
  const parts = states
    .map((state) => [state, Number(valueAt(counts, state) ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${grouped(count)} ${state}`)
  return parts.join(', ') || none
}

const valid = (state: unknown): string => (state === true ? 'valid' : 'not valid')

function clockNote(frozen: unknown, offsetSeconds: number): string {
  if (frozen === true) return ' (frozen)'
  if (offsetSeconds === 0) return ''
  return ` (${grouped(Math.abs(offsetSeconds))} s ${offsetSeconds > 0 ? 'ahead' : 'behind'})`
}
