import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'

const quotas = (of: string) => ({
  daily_profile_scraping: value.count(`${of} of profiles today`),
  daily_company_import: value.count(`${of} of companies today`),
  monthly_company_import: value.count(`${of} of companies this month`),
})

export const shapes = field.declare({
  'account.show': () => ({
    input: {},
    output: () => ({
      account: value.object('The user', {
        email: value.string('Email of the user who owns the key'),
        name: value.maybe('Name of that user'),
        plan: value.string('Plan of the workspace'),
        weekly_limit: value
          .object('What the user may spend in a week; null without a limit', {
            limit: value.count('Credits per week'),
            spent: value.count('Credits spent this week'),
            held: value.count('Credits held for accepted work'),
            left: value.count('Credits that can be spent this week'),
            resets_at: value.moment('When the next week begins'),
          })
          .nullable(),
      }),
      workspace: value.object('The workspace, which owns credits and quotas', {
        id: value.uuid('Identifier'),
        name: value.string('Name'),
        plan: value.string('Plan, which sets request limits and quotas'),
      }),
      integrations: value.object('The stored sessions', {
        network_session_valid: value.yesNo('Whether calls that act on the network can'),
        premium_session_valid: value.yesNo('Whether calls that need the premium search tool can'),
      }),
    }),
  }),
  'credits.show': () => ({
    input: {},
    output: () => ({
      credits: value.object('The balance, and what remains of the quotas', {
        enrichment: value.count('Credits that can be spent'),
        ...quotas('Remaining quota'),
      }),
      limits: value.object('The quotas', quotas('Quota')),
    }),
  }),
  'credits.consumption': () => ({
    input: {
      start_date: field.date('First day (UTC), YYYY-MM-DD'),
      end_date: field.date('Last day (UTC), included, YYYY-MM-DD'),
    },
    checks: [field.inOrder('start_date', 'end_date')],
    output: () => ({
      credits: value.count('Credits that can be spent now'),
      start_date: value.string('First day', { format: 'date' }),
      end_date: value.string('Last day', { format: 'date' }),
      credits_consumed: value.count('Credits consumed on these days'),
    }),
  }),
})
