import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import { inOrder } from '../schemas/rules.js'

const quotas = (of: string) => ({
  daily_profile_scraping: value.count(`${of} of profiles today`),
  daily_company_import: value.count(`${of} of companies today`),
  monthly_company_import: value.count(`${of} of companies this month`),
})

/** Schemas of the area `credits`. */
export const credits = {
  'credits.show': () => ({
    input: z.object({}),
    output: z.object({
      credits: field.describe(
        z.object({ enrichment: value.count('Credits that can be spent'), ...quotas('Remaining quota') }),
        'The balance, and what remains of the quotas',
      ),
      limits: field.describe(z.object(quotas('Quota')), 'The quotas'),
    }),
  }),
  'credits.consumption': () => ({
    input: z
      .object({
        start_date: field.date('First day (UTC), YYYY-MM-DD'),
        end_date: field.date('Last day (UTC), included, YYYY-MM-DD'),
      })
      .check(inOrder('start_date', 'end_date')),
    output: z.object({
      credits: value.count('Credits that can be spent now'),
      start_date: value.string('First day', { format: 'date' }),
      end_date: value.string('Last day', { format: 'date' }),
      credits_consumed: value.count('Credits consumed on these days'),
    }),
  }),
} as const
