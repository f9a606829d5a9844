import { exitCodes } from '../../../api/calls/exit-codes.js'
import { isListedPlan, planOf, type QuotaName, quotaLabel } from '../../../api/operations/plans.js'
import { commandOf } from '../../../api/operations/table.js'
import { isRefused, type Limits, limitsOf, reportedWindows } from '../../call/limits.js'
import { reportRefusal } from '../../call/print.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { isoTime } from '../../options/values.js'
import { print } from '../../output/print.js'
import { type Row, toPrinted, valueAt } from '../../output/records.js'
import { grid, record } from '../../output/table.js'
import {
  cellOfLeft,
  countOf,
  formatLeft,
  formatNumber,
  formatTime,
  type Look,
  wrapMessage,
} from '../../output/text.js'
import type { AnswerSource } from '../../target/local-target.js'
import { targetTime } from '../../target/resolve-target.js'

const columns = ['operation', 'group', 'live', 'per', 'limit', 'used', 'remaining', 'resets_at']

export const limitsCommand: CommandFactory = ({ command }) =>
  command('limits', 'Credits, quotas and rate limits: what is left, and when they reset')
    .option('--all', 'show the rate limits that are not in use, too')
    .reads('engine')
    .run(async (context, { options }) => {
      const found = await limitsOf(context)
      if (isRefused(found)) return reportRefusal(context, found.operation, found.reply)
      if (!context.isLocal()) context.notify(describeUnknown(found))
      const { member, weekly = null, ...all } = found
      const limits = { ...all, windows: context.isLocal() ? all.windows : await reportedWindows(all) }
      const source = (await context.source(member)) ?? null
      const layout = (_: unknown, look: Look) =>
        formatLimits({ ...limits, weekly }, source, look, options.all === true)
      await print(context, toPrinted({ ...limits, weekly, source }), {
        layout,
        columns,
        now: () => targetTime(context),
      })
      return exitCodes.ok
    })

const describeUnknown = ({ windows, weekly }: Limits): string => {
  const week = weekly === undefined ? 'its weekly limit and ' : ''
  return windows.length === 0
    ? `Only the server knows its rate limits${week ? ', ' : ' and '}${week}when quotas reset.`
    : `Rate limits count the requests of this machine. Only the server knows ${week}when quotas reset.`
}

/** `prospect limits` for a person: the money, then the quotas, then the rate limits in use, or all of them. */
function formatLimits(limits: Limits, source: AnswerSource | null, look: Look, isWhole: boolean): string {
  const from = { 'Answers from': source?.text ?? '' }
  const windows = limits.windows.filter(({ used }) => isWhole || used > 0)
  const parts = [
    record({ ...from, ...listFacts(limits, look) }, look),
    Object.keys(limits.quotas).length === 0 ? '' : formatQuotas(toPrinted(limits.quotas) as object, look),
    formatWindows(windows, 'plan', look),
    formatWindows(windows, 'own', look),
    describeUnused(limits.windows.length - windows.length, windows.length, look),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function describeUnused(unused: number, shown: number, { width }: Look): string {
  if (unused === 0) return ''
  const sentence = shown === 0 ? 'No rate limit is in use.' : `${unused} more rate limits are not in use.`
  return `${wrapMessage(`${sentence} All of them: prospect limits --all`, width).join('\n')}\n`
}

function listFacts({ plan, credits, weekly = null }: Limits, look: Look): Readonly<Record<string, string>> {
  const { enrichment, held, nextAllocation: next } = credits
  return {
    Plan: plan === null ? '' : formatPlan(plan),
    Credits: `${enrichment === null ? '–' : formatLeft(enrichment)}${held ? `, ${formatNumber(held)} held` : ''}`,
    'Next grant': !next?.credits
      ? ''
      : `${formatNumber(next.credits)}, ${formatTime(isoTime(next.at), look)}`,
    'This week':
      weekly === null
        ? ''
        : `${formatNumber(weekly.left)} left of ${formatNumber(weekly.limit)}: ${formatNumber(weekly.spent)} spent, ` +
          `${formatNumber(weekly.held)} held; resets ${formatTime(isoTime(weekly.resetsAt), look)}`,
    ...Object.fromEntries(
      (weekly?.servers ?? []).map(({ server, spent, left }) => [
        `At ${new URL(server).host}`,
        `${formatNumber(left)} left of ${formatNumber(weekly?.limit ?? 0)}: ${formatNumber(spent)} spent`,
      ]),
    ),
  }
}

function formatPlan(plan: string): string {
  const { requestsPerMinute: requests } = planOf(plan)
  const each = `${countOf(requests, 'request')} per minute and endpoint`
  return isListedPlan(plan) ? `${plan}, ${each}` : `${plan}, not listed: limits of Free, ${each}`
}

const countColumns = ['Used', 'Left', 'Of', 'Resets']

/** Formats the windows of the plan, or those of single endpoints; returns an empty text when there are none. */
function formatWindows(windows: Limits['windows'], which: 'plan' | 'own', look: Look): string {
  const name = which === 'plan' ? "Plan's requests per minute" : 'Requests of one endpoint'
  const names = which === 'plan' ? [name, ...countColumns] : [name, 'Per', ...countColumns]
  const rows = windows
    .filter(({ operation: own }) => (own === null) === (which === 'plan'))
    .map((window) => ({
      [name]: formatCommand(window),
      Per: window.per,
      Used: window.used,
      Left: window.remaining,
      Of: window.limit,
      Resets: isoTime(window.resetsAt),
    }))
  return rows.length === 0 ? '' : grid(names, rows, look, { optional: ['Resets', 'Used'] })
}

function formatCommand({ operation: own, group, live }: Limits['windows'][number]): string {
  const id = own ?? group
  if (id === null) return ''
  return `${commandOf(id)}${live === false ? ' --no-live' : ''}`
}

export function formatQuotas(quotas: object, look: Look): string {
  const rows = Object.entries(quotas as Row).map(([name, state]) => ({
    Quota: quotaLabel(name as QuotaName),
    Used: valueAt(state, 'used'),
    Left: cellOfLeft(valueAt(state, 'remaining')),
    Of: cellOfLeft(valueAt(state, 'limit')),
    Resets: valueAt(state, 'resets_at'),
  }))
  return grid(['Quota', 'Used', 'Left', 'Of', 'Resets'], rows, look)
}
