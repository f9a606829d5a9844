import * as z from 'zod'
import { engineFilters } from '../operations/facts.js'
import { companyTypes, importFields, liveOnlyFilters, years } from '../schemas/enumerations.js'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import * as record from '../schemas/records.js'
import { markFields } from '../values/objects.js'

const yearIds = (of: string) =>
  field.idWords(Object.keys(years), `Years ${of}: 1 = under 1, 2 = 1–2, 3 = 3–5, 4 = 6–10, 5 = over 10`)

/** It is no filter of the specification: only the engine of this program applies it. */
const maxPerCompany = () =>
  field.whole('Maximum number of people at each company; only the engine applies it', 1).optional()

/** Filters of the specification that only the network itself can apply. */
const liveFilters = () => ({
  connections_of_profile: field.text('Connections of this profile').optional(),
  relationship: field.texts('Degrees of connection').optional(),
  follows_your_company: field.describe(z.boolean(), 'Follows your company').optional(),
  viewed_your_profile: field.describe(z.boolean(), 'Has viewed your profile').optional(),
  with_shared_experiences: field.describe(z.boolean(), 'Shares experiences with you').optional(),
  posted_on_linkedin: field.describe(z.boolean(), 'Has posted recently').optional(),
  past_colleague: field.describe(z.boolean(), 'Has been a colleague of yours').optional(),
})

const filters = () => ({
  keyword: field.keyword().optional(),
  job_titles: field
    .texts('Current job titles, by words as titles have them: CTO does not find a Chief Technology Officer')
    .optional(),
  excluded_job_titles: field.texts('Current job titles to exclude').optional(),
  past_titles: field.texts('Past job titles').optional(),
  excluded_past_titles: field.texts('Past job titles to exclude').optional(),
  included_locations: field.places().optional(),
  excluded_locations: field.places('Countries, regions or cities to exclude').optional(),
  company_headquarters: field
    .places('Countries, regions or cities of the headquarters, by name or id')
    .optional(),
  included_industries: field.industries().optional(),
  excluded_industries: field.industries('Industries to exclude').optional(),
  included_companies: field.companies('Current companies, by name, id or website').optional(),
  excluded_companies: field.companies('Current companies to exclude').optional(),
  past_companies: field.companies('Past companies, by name, id or website').optional(),
  functions: field.functions().optional(),
  seniority_levels: field.seniorities().optional(),
  years_of_experience: yearIds('of experience').optional(),
  years_at_current_company: yearIds('at the current company').optional(),
  years_in_current_position: yearIds('in the current position').optional(),
  company_size: field.companySizes().optional(),
  company_type: field
    .of(z.enum(Object.keys(companyTypes)), 'Company types: C public, P private, N non-profit, and others')
    .optional(),
  included_account_lists: field.ids('Lists of companies to include').optional(),
  excluded_account_lists: field.ids('Lists of companies to exclude').optional(),
  included_lead_lists: field.ids('Lists of people to include; there are none yet').optional(),
  excluded_lead_lists: field.ids('Lists of people to exclude; there are none yet').optional(),
  first_name: field.text('First name').optional(),
  last_name: field.text('Last name').optional(),
  max_per_company: maxPerCompany(),
  ...liveFilters(),
})

const filtersOf = (fields: Readonly<Record<string, unknown>>): string[] =>
  Object.keys(fields).filter((name) => !notFilters.has(name) && field.isGiven(fields[name]))
const notFilters = new Set<string>([...importFields, ...engineFilters, 'live'])

const someFilter = () =>
  field.rule((fields) =>
    filtersOf(fields).length > 0 ? undefined : field.badRequest('Provide at least one filter or a keyword'),
  )

const liveFiltersOnlyLive = () =>
  field.rule((fields) => {
    const refused = fields.live === false ? liveOnlyFilters.filter((name) => field.isGiven(fields[name])) : []
    return refused.length > 0 ? field.invalid(`Only with live results: ${markFields(refused)}`) : undefined
  })

/** There are no lists of people yet; a search that ignored them would find others. */
const noLeadLists = () =>
  field.rule((fields) => {
    const given = ['included_lead_lists', 'excluded_lead_lists'].filter((name) => field.isGiven(fields[name]))
    return given.length > 0 ? field.invalid(`There are no lists of people: ${markFields(given)}`) : undefined
  })

const imports = () => ({
  limit: field.limit('people').optional(),
  streaming: field.flag('Deliver each lead as it is found'),
  scale: field.flag('Smaller records, without connections_count, headline and the vanity profile url'),
  custom: field.custom().optional(),
})

const searchFilters = [
  'persona_id',
  'job_titles',
  'excluded_job_titles',
  'functions',
  'seniority_levels',
  'included_locations',
  'excluded_locations',
] as const

const identity = () => ({
  network_url: field.profileUrl('Profile of the person on the network').optional(),
  first_name: field.text('First name').optional(),
  last_name: field.text('Last name').optional(),
  company_name: field.text('Name of the company').optional(),
  domain: field.domain('Website domain of the company').optional(),
})

/** A person is identified by the profile, or by name and company. */
const identifiable = () =>
  field.rule(({ network_url, first_name, last_name, company_name, domain }) =>
    field.isGiven(network_url) ||
    (field.isGiven(first_name) &&
      field.isGiven(last_name) &&
      (field.isGiven(company_name) || field.isGiven(domain)))
      ? undefined
      : field.badRequest(field.identified('first_name', 'last_name', 'company_name', 'domain')),
  )

export const shapes = field.declare({
  'leads.extract': () => ({
    input: {
      search_url: field.searchUrl('people', 'Search URL of the network'),
      name: field.text('Name of the search').optional(),
      webhook_url: field.webhookUrl().optional(),
      max_per_company: maxPerCompany(),
      ...imports(),
    },
    output: () => ({
      id: value.uuid('Identifier of the search'),
      status: value.processing(),
      note: value.note(),
    }),
  }),
  'leads.advanced_search': () => ({
    input: {
      webhook_url: field.webhookUrl(),
      name: field.text('Name of the search').optional(),
      ...filters(),
      ...imports(),
      live: field.live(),
    },
    checks: [someFilter(), liveFiltersOnlyLive(), noLeadLists()],
    output: () => ({
      message: value.object('The search', {
        id: value.uuid('Identifier of the search'),
        search_name: value.string('Name of the search'),
        search_url: value.address('The search on the network'),
        expected_profiles_count: value.count('People that match, estimated'),
        created_at: value.moment('When it was created'),
        custom: value.echo(),
        note: value.note(),
      }),
    }),
  }),
  'leads.advanced_search_preview': () => ({
    input: { ...filters(), live: field.live() },
    checks: [someFilter(), liveFiltersOnlyLive(), noLeadLists()],
    output: () => ({
      total_count: value.count('People that match, estimated'),
      preview: value.list(record.leadPreview(), 'The first 25 of them'),
      note: value.note(),
    }),
  }),
  'leads.search': () => ({
    input: {
      company_network_id: field.id('Identifier of the company on the network').optional(),
      company_network_url: field.profileUrl('Profile of the company on the network').optional(),
      company_domain: field.domain('Website domain of the company').optional(),
      persona_id: field.text('Saved persona that gives the titles', 200).optional(),
      job_titles: field.texts('Job titles; * for everyone').optional(),
      excluded_job_titles: field.texts('Job titles to exclude').optional(),
      functions: field.functions().optional(),
      seniority_levels: field.seniorities().optional(),
      included_locations: field.places().optional(),
      excluded_locations: field.places('Countries, regions or cities to exclude').optional(),
      name: field.text('Name of the search').optional(),
      webhook_url: field.webhookUrl().optional(),
      ...imports(),
      live: field.live(),
    },
    checks: [
      field.atLeastOne('company_network_id', 'company_network_url', 'company_domain'),
      field.atLeastOne(...searchFilters),
      field.notTogether('persona_id', 'job_titles', 'excluded_job_titles'),
    ],
    output: () => ({
      id: value.uuid('Identifier of the search'),
      status: value.processing(),
      search_name: value.string('Name of the search'),
      search_url: value.address('The search on the network'),
      created_at: value.moment('When it was created'),
      custom: value.echo(),
    }),
  }),
  'leads.enrich': () => ({
    input: { ...identity(), live: field.live() },
    checks: [identifiable()],
    output: () => record.personRecord(),
  }),
  'leads.bulk_enrich': () => ({
    input: {
      leads: field.bulk(z.object(identity()).check(identifiable()), '2 to 100 people'),
      live: field.live(),
    },
    output: () => record.bulkResults(record.personRecord()),
  }),
})
