import { dayOf } from '../../api/values/dates.js'
import { periodEnd } from '../clock.js'
import { type QuotaName, type QuotaReport, quotaReport } from '../credits/quotas.js'
import type { Handler } from './handler.js'

const pick = (report: QuotaReport, field: 'remaining' | 'limit'): Record<QuotaName, number> => ({
  daily_profile_scraping: report.daily_profile_scraping[field],
  daily_company_import: report.daily_company_import[field],
  monthly_company_import: report.monthly_company_import[field],
})

/** The balance without holds, and what remains of the plan's quotas. */
export const show: Handler<'credits.show'> = async ({ principal: { workspace }, now, store }) =>
  await store.read(async (reads) => {
    const { credits } = await reads.position(workspace.id)
    const report = await quotaReport(reads, workspace, now)
    return {
      output: {
        credits: { enrichment: credits, ...pick(report, 'remaining') },
        limits: pick(report, 'limit'),
      },
    }
  })

/** Credits consumed between two days, both inclusive, in UTC. */
export const consumption: Handler<'credits.consumption'> = async ({
  input,
  principal: { workspace },
  store,
}) => {
  const { start_date, end_date } = input
  const from = dayOf(start_date) ?? 0
  const to = periodEnd('day', dayOf(end_date) ?? 0)
  return await store.read(async (reads) => ({
    output: {
      credits: (await reads.position(workspace.id)).credits,
      start_date,
      end_date,
      credits_consumed: await reads.consumed(workspace.id, from, to),
    },
  }))
}
