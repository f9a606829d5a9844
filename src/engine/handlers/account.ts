import { type QuotaName, quotaNames, reportedCredits } from '../../api/operations/plans.js'
import { dayOf } from '../../api/values/dates.js'
import { periodEnd } from '../clock.js'
import { readBalances, readConsumed } from '../credits/ledger.js'
import { type QuotaReport, readQuotas } from '../credits/quotas.js'
import { readWeekLeft, reportWeek } from '../credits/weekly-limit.js'
import type { HandlersOf } from './handler.js'

export const account: HandlersOf<'account'> = {
  'account.show': async ({ principal: { member, workspace }, now, store }) => ({
    output: {
      account: {
        email: member.email,
        name: member.name,
        plan: workspace.plan,
        weekly_limit: reportWeek(await store.read((tx) => readWeekLeft(tx, member, now))),
      },
      workspace: { id: workspace.id, name: workspace.name, plan: workspace.plan },
      integrations: {
        network_session_valid: workspace.networkSession,
        premium_session_valid: workspace.premiumSession,
      },
    },
  }),
}

export const credits: HandlersOf<'credits'> = {
  /** The balance without holds, and what remains of the plan's quotas. */
  'credits.show': async ({ principal: { workspace }, now, store }) =>
    await store.read(async (tx) => {
      const { credits } = await readBalances(tx, workspace.id)
      const report = await readQuotas(tx, workspace, now)
      return {
        output: {
          credits: { enrichment: reportedCredits(workspace.plan, credits), ...pick(report, 'remaining') },
          limits: pick(report, 'limit'),
        },
      }
    }),
  /** Credits consumed between two days, both inclusive, in UTC. */
  'credits.consumption': async ({ input, principal: { workspace }, store }) => {
    const { start_date, end_date } = input
    const from = dayOf(start_date) ?? 0
    const to = periodEnd('day', dayOf(end_date) ?? 0)
    return await store.read(async (tx) => ({
      output: {
        credits: reportedCredits(workspace.plan, (await readBalances(tx, workspace.id)).credits),
        start_date,
        end_date,
        credits_consumed: await readConsumed(tx, workspace.id, from, to),
      },
    }))
  },
}

const pick = (report: QuotaReport, field: 'remaining' | 'limit') =>
  Object.fromEntries(quotaNames.map((name) => [name, report[name][field]])) as Record<QuotaName, number>
