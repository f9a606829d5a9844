import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import * as record from '../schemas/records.js'
import { markFields } from '../values/objects.js'

/** Identifies a company: at least one of these fields. */
const company = () => ({
  company_domain: field.domain('Website domain of the company').optional(),
  company_name: field.text('Name of the company').optional(),
  company_network_url: field.profileUrl('Profile of the company on the network').optional(),
})

const identity = () => ({
  company_network_url: field.profileUrl('Profile of the company on the network').optional(),
  name: field.text('Name of the company').optional(),
  domain: field.domain().optional(),
  country: field.country().optional(),
})

const identifiable = () => field.atLeastOne('company_network_url', 'name', 'domain')

const filters = () => ({
  keyword: field.keyword().optional(),
  included_industries: field.industries().optional(),
  excluded_industries: field.industries('Industries to exclude').optional(),
  included_locations: field.places().optional(),
  excluded_locations: field.places('Countries, regions or cities to exclude').optional(),
  company_size: field.companySizes().optional(),
  min_revenue: field.number('Minimum yearly revenue, in millions', 0).optional(),
  max_revenue: field.number('Maximum yearly revenue, in millions', 0).optional(),
  revenue_currency: field.currency('Currency of the revenue, such as EUR').optional(),
})

const filterNames = [
  'keyword',
  'included_industries',
  'excluded_industries',
  'included_locations',
  'excluded_locations',
  'company_size',
  'min_revenue',
  'max_revenue',
]

const someFilter = () =>
  field.rule((fields) =>
    filterNames.some((name) => field.isGiven(fields[name]))
      ? undefined
      : field.badRequest(`Provide at least one filter: ${markFields(filterNames)}`),
  )

const evolution = (months: number) =>
  value.object(`Evolution over ${months} months; omitted with live: false`, {
    base_headcount: value.maybeCount('Headcount then; null when not known'),
    current_headcount: value.count('Headcount now'),
    headcount_gain: value.maybeCount('Difference'),
    headcount_gain_percentage: value.maybeCount('Difference in percent, rounded'),
  })

export const shapes = field.declare({
  'accounts.extract': () => ({
    input: {
      search_url: field.searchUrl('companies', 'Company-search URL of the premium search tool', {
        premium: true,
      }),
      name: field.text('Name of the import'),
      webhook_url: field.webhookUrl(),
      streaming: field.flag('Deliver each company as it is found'),
      custom: field.custom().optional(),
      limit: field.limit('companies').optional(),
    },
    output: () => ({
      message: value.object('The import', {
        id: value.uuid('Identifier of the import'),
        import_name: value.string('Name of the import'),
        import_url: value.string('The search URL', { format: 'uri' }),
        created_at: value.moment('When it was created'),
        limit: value.count('Maximum number of companies, when given').optional(),
        custom: value.echo(),
      }),
    }),
  }),
  'accounts.search': () => ({
    input: {
      webhook_url: field.webhookUrl().optional(),
      name: field.text('Name of the import').optional(),
      ...filters(),
      limit: field.limit('companies').optional(),
      streaming: field.flag('Deliver each company as it is found'),
      custom: field.custom().optional(),
      live: field.live(),
    },
    checks: [someFilter(), field.inOrder('min_revenue', 'max_revenue')],
    output: () => ({
      message: value.string('Status message'),
      id: value.uuid('Identifier of the import'),
      status: value.processing(),
      total: value.count('Companies that match'),
      preview: value.list(record.accountPreview(), 'The first of them'),
    }),
  }),
  'accounts.search_preview': () => ({
    input: { ...filters(), live: field.live() },
    checks: [someFilter(), field.inOrder('min_revenue', 'max_revenue')],
    output: () => ({
      total_count: value.count('Companies that match'),
      preview: value.list(record.accountPreview(), 'The first 25 of them'),
    }),
  }),
  'accounts.enrich': () => ({
    input: { ...identity(), live: field.live() },
    checks: [identifiable()],
    output: () => record.accountRecord(),
  }),
  'accounts.bulk_enrich': () => ({
    input: {
      accounts: field.bulk(z.object(identity()).check(identifiable()), '2 to 100 companies'),
      live: field.live(),
    },
    output: () => record.bulkResults(record.accountRecord()),
  }),
  'accounts.count_profiles': () => ({
    input: {
      company_network_id: field.id('Identifier of the company on the network').optional(),
      company_network_url: field.profileUrl('Profile of the company on the network').optional(),
      title_to_include: field.texts('Job titles to include').optional(),
      title_to_exclude: field.texts('Job titles to exclude').optional(),
      included_locations: field.places().optional(),
      excluded_locations: field.places('Countries, regions or cities to exclude').optional(),
    },
    checks: [field.exactlyOne('company_network_id', 'company_network_url')],
    output: () => ({
      total: value.count('Profiles that match'),
      title_to_include: value.strings('As given'),
      title_to_exclude: value.strings('As given'),
      included_locations: value.strings('As given'),
      excluded_locations: value.strings('As given'),
    }),
  }),
  'accounts.headcount': () => ({
    input: {
      company_network_id: field.id('Identifier of the company on the network').optional(),
      company_network_url: field.profileUrl('Profile of the company on the network').optional(),
      company_domain: field.domain('Website domain of the company').optional(),
      departments: field.texts('Functions by name, such as Sales').optional(),
      live: field.live(),
    },
    checks: [field.atLeastOne('company_network_id', 'company_network_url', 'company_domain')],
    output: () =>
      field.describe(
        z.record(
          z.string(),
          z.object({
            current_headcount: value.count('Headcount now'),
            '3_months_evolution': evolution(3).optional(),
            '6_months_evolution': evolution(6).optional(),
            '12_months_evolution': evolution(12).optional(),
          }),
        ),
        'By function, and All',
      ),
  }),
  'accounts.hiring': () => ({
    input: {
      ...company(),
      posted_within_days: field.whole('Only postings of the last N days', 1, 3_650).optional(),
      limit: field.whole('Maximum number of jobs', 1, 100).default(100),
      job_title_keywords: field.texts('Words in the title').optional(),
      excluded_job_title_keywords: field.texts('Words not in the title').optional(),
      job_description_keywords: field.texts('Words in the description').optional(),
      excluded_job_description_keywords: field.texts('Words not in the description').optional(),
      job_country_codes: field.countries('Countries of the jobs').optional(),
      excluded_job_country_codes: field.countries('Countries to exclude').optional(),
      full_description: field.flag('Whole descriptions instead of the first 300 characters'),
    },
    checks: [field.atLeastOne('company_domain', 'company_name', 'company_network_url')],
    output: () => ({
      total_jobs: value.count('Jobs that match'),
      truncated: value.yesNo('Whether credits, the weekly limit or a budget reduced the number of jobs'),
      jobs: value.list(record.jobRecord(), 'The jobs, newest first'),
    }),
  }),
  'accounts.stack': () => ({
    input: company(),
    checks: [field.atLeastOne('company_domain', 'company_name', 'company_network_url')],
    output: () => ({
      technologies: value.strings('Names'),
      technologies_with_confidence: value.objects('Names with slugs and confidence', {
        name: value.string('Name'),
        slug: value.string('Slug'),
        confidence: field.describe(z.number(), 'From 0 to 1'),
      }),
    }),
  }),
  'accounts.technologies': () => ({
    input: {
      query: field.text('Part of a name or slug; all when omitted').optional(),
      limit: field.whole('Maximum number of technologies', 1, 100).default(20),
    },
    output: () => ({
      technologies: value.objects('Technologies, best match first', {
        slug: value.string('Slug, as filters take it'),
        name: value.string('Name'),
        category: value.maybe('Category'),
      }),
    }),
  }),
})
