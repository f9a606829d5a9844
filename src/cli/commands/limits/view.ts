import { isListedPlan, planOf } from '../../../api/operations/plans.js'
import { operation } from '../../../api/operations/table.js'
import { grid, record } from '../../output/table.js'
import { grouped, type Look } from '../../output/text.js'
import type { Limits } from '../../quote/limits.js'
import { quotaTable } from './status-view.js'

/** `prospect limits` for a person: the money, then the quotas, then the windows of requests. */
export function limitsView(body: unknown, look: Look): string {
  const limits = body as Limits
  const parts = [
    record(facts(limits), look),
    Object.keys(limits.quotas).length === 0 ? '' : quotaTable(limits.quotas, look),
    windowTable(limits, 'plan', look),
    windowTable(limits, 'own', look),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function facts({ plan, credits, weekly }: Limits): Readonly<Record<string, string>> {
  const { enrichment, held, next_allocation: next } = credits
  return {
    Plan: plan === null ? '' : planText(plan),
    Credits: `${enrichment === null ? '–' : grouped(enrichment)}${held ? `, ${grouped(held)} held` : ''}`,
    'Next grant': next === null ? '' : `${grouped(next.credits)} at ${next.at}`,
    'This week':
      weekly === null
        ? ''
        : `${grouped(weekly.left)} left of ${grouped(weekly.limit)}: ${grouped(weekly.spent)} spent, ` +
          `${grouped(weekly.held)} held; resets at ${weekly.resets_at}`,
  }
}

function planText(plan: string): string {
  const { requestsPerMinute: requests } = planOf(plan)
  const each = `${grouped(requests)} ${requests === 1 ? 'request' : 'requests'} per minute and endpoint`
  return isListedPlan(plan) ? `${plan}, ${each}` : `${plan}, not listed: limits of Free, ${each}`
}

const counts = ['Used', 'Left', 'Of', 'Resets']

/** The windows of the plan, or those that endpoints have of their own; empty where there are none. */
function windowTable({ windows }: Limits, which: 'plan' | 'own', look: Look): string {
  const name = which === 'plan' ? "Plan's requests per minute" : 'Requests of one endpoint'
  const names = which === 'plan' ? [name, ...counts] : [name, 'Per', ...counts]
  const rows = windows
    .filter(({ operation: own }) => (own === null) === (which === 'plan'))
    .map((window) => ({
      [name]: commandOf(window),
      Per: window.per,
      Used: window.used,
      Left: window.remaining,
      Of: window.limit,
      Resets: window.resets_at,
    }))
  return rows.length === 0 ? '' : grid(names, rows, look)
}

/** The command that counts in a window. */
function commandOf({ operation: own, group, live }: Limits['windows'][number]): string {
  const id = own ?? group
  if (id === null) return ''
  const { command, flag } = operation(id)
  const words = [command, flag === undefined ? '' : `--${flag}`, live === false ? '--no-live' : '']
  return words.filter((word) => word !== '').join(' ')
}
