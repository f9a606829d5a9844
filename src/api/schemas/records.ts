import * as z from 'zod'
import { companySizes, emailStatuses } from './enumerations.js'
import { describe } from './fields.js'
import * as value from './output-fields.js'

/** Records are functions, so that an area builds only those it answers with. */
const record =
  <S extends z.ZodRawShape>(fields: () => S) =>
  () =>
    z.object(fields())

const notAsked = () =>
  value
    .objects('Data vendors that could not be asked, and why', {
      provider: value.string('Name of the vendor'),
      reason: value.string('The reason, such as out_of_credits'),
    })
    .optional()

export const accountRecord = record(() => ({
  id: value.string('Identifier of the company in the service'),
  name: value.maybe('Name'),
  cleaned_name: value.maybe('Name without its legal form'),
  domain: value.maybe('Website domain'),
  website: value.address('Website'),
  description: value.maybe('Description of the company, in its own words'),
  industry: value.maybe('Industry'),
  industry_id: value.maybe('Id of the industry'),
  company_type: value.maybe('Kind of company, such as Public'),
  employee_range: describe(z.enum(companySizes), 'Company size').nullable(),
  headcount: value.maybeCount('Number of employees'),
  headquarters: value.maybe('Headquarters in words'),
  location: value.maybe('Location in words'),
  city: value.maybe('City'),
  country: value.maybe('ISO 3166-1 alpha-2 code of the country'),
  founded_year: value.maybeCount('Year of foundation'),
  revenue: describe(z.number(), 'Yearly revenue').nullable(),
  revenue_currency: value.maybe('Currency of the revenue'),
  phone: value.maybe('Phone number; omitted with live: false').optional(),
  network_id: value.maybe('Identifier on the network'),
  network_url: value.address('Profile on the network'),
  company_profile_picture: value.address('Logo'),
  technologies: value.strings('Slugs of the technologies it uses'),
  source: value.string('The data vendor of the workspace that said it; absent where none did').optional(),
  not_asked: notAsked(),
  original_name: value.string('Name as open data spells it; absent where that is the same').optional(),
  legal_name: value.string('Name in a public register; absent where none was imported').optional(),
  registry_number: value.string('Number in that register').optional(),
  registry_status: value.string('Status in that register').optional(),
  _source_name: value.string('The open data that says it; absent for any other company').optional(),
  _source_date: value.string('Day of the snapshot of that open data').optional(),
  _source_licence: value.string('Licence of that open data').optional(),
}))

/** The results of a bulk request, in the order of its items. */
export const bulkResults = <S extends z.ZodType>(record: S) =>
  z.object({
    results: value.list(
      record.nullable(),
      'One record for each item, in the order given; null where nothing was found',
    ),
    answers_lost: value.strings('Data vendors whose answer was lost, and who may have charged').optional(),
  })

const position = record(() => ({
  title: value.maybe('Job title'),
  company_name: value.maybe('Name of the company'),
  company_network_id: value.maybe('Identifier of the company on the network'),
  started_at: value.maybe('When it began'),
}))

const terms = () => ({
  years_in_position: value.maybeCount('Full years in the position'),
  months_in_position: value.maybeCount('Months in the position beyond the full years'),
  years_in_company: value.maybeCount('Full years in the company'),
  months_in_company: value.maybeCount('Months in the company beyond the full years'),
})

const profileUrls = () => ({
  network_profile_url: value.address('Profile on the network'),
  premium_profile_url: value.address('Profile in the premium search tool'),
  profile_image_url: value.address('Profile picture'),
})

export const emailStatus = (of: string) => describe(z.enum(emailStatuses), `How sure ${of} is`)

/** A person, as enrichment and reverse lookup return it. */
export const personRecord = record(() => ({
  id: value.string('Identifier of the person in the service'),
  status: describe(z.literal('QUALIFIED'), 'Always QUALIFIED'),
  first_name: value.maybe('First name'),
  last_name: value.maybe('Last name'),
  full_name: value.maybe('Full name'),
  title: value.maybe('Job title'),
  headline: value.maybe('Headline of the profile'),
  summary: value.maybe('Summary of the profile'),
  seniority: value.maybe('Seniority level'),
  function: value.maybe('Function (department)'),
  location: value.maybe('Location in words'),
  city: value.maybe('City'),
  country: value.maybe('ISO 3166-1 alpha-2 code of the country'),
  connections_count: value.maybeCount('Number of connections'),
  company_name: value.maybe('Name of the company'),
  company_domain: value.maybe('Website domain of the company'),
  current_position: describe(position(), 'Current position').nullable(),
  ...terms(),
  network_id: value.maybe('Identifier on the network'),
  ...profileUrls(),
  most_probable_email: value.maybe('Email address; omitted with live: false').optional(),
  most_probable_email_status: emailStatus('the email address').nullable().optional(),
  phones: value.strings('Phone numbers in E.164; omitted with live: false').optional(),
  source: value.string('The data vendor of the workspace that said it; absent where none did').optional(),
  not_asked: notAsked(),
}))

/** A person in a search or a delivery. */
export const leadRecord = record(() => ({
  first_name: value.maybe('First name'),
  last_name: value.maybe('Last name'),
  full_name: value.maybe('Full name'),
  gender: value.maybe('Gender'),
  title: value.maybe('Job title'),
  title_description: value.maybe('Description of the position'),
  summary: value.maybe('Summary of the profile'),
  most_probable_email: value.maybe('Email address'),
  most_probable_email_status: emailStatus('the email address').nullable(),
  phones: value.strings('Phone numbers in E.164'),
  ...profileUrls(),
  is_premium_network: value.maybeYesNo('Whether the person pays for the network'),
  is_open_profile_network: value.maybeYesNo('Whether anyone may write to the person'),
  is_open_to_work_network: value.maybeYesNo('Whether the person looks for work'),
  connection_degree: value.maybeCount('Degree of connection'),
  connections_count: value.maybeCount('Number of connections; omitted with scale: true').optional(),
  current_positions_count: value.maybeCount('Number of current positions'),
  ...terms(),
  status: describe(z.enum(['QUALIFIED', 'DISQUALIFIED']), 'Whether the person matches the search'),
  rejection_reason: value.strings('Why the person does not match'),
  headline: value.maybe('Headline of the profile; omitted with scale: true').optional(),
}))

export const leadAndCompany = record(() => ({
  lead: describe(leadRecord(), 'The person'),
  company: describe(accountRecord(), 'The company').nullable(),
}))

export const accountPreview = record(() => ({
  company_name: value.maybe('Name'),
  industry: value.maybe('Industry'),
  network_id: value.maybe('Identifier on the network'),
  network_url: value.address('Profile on the network'),
}))

export const leadPreview = record(() => ({
  full_name: value.maybe('Full name'),
  headline: value.maybe('Headline of the profile'),
  current_company: value.maybe('Name of the company'),
  current_title: value.maybe('Job title'),
  network_id: value.maybe('Identifier on the network'),
  profile_url: value.address('Profile on the network'),
}))

export const jobRecord = record(() => ({
  job_title: value.maybe('Job title'),
  job_url: value.address('The posting'),
  job_location: value.maybe('Place of work in words'),
  country_code: value.maybe('ISO 3166-1 alpha-2 code of the country'),
  employment_statuses: value.strings('Kinds of employment, such as Full-time'),
  date_posted: value.maybe('Day of the posting'),
  description: value.maybe('The description, or its first 300 characters'),
  hiring_team: value.objects('The hiring team', {
    name: value.maybe('Name'),
    title: value.maybe('Job title'),
    network_url: value.address('Profile on the network'),
  }),
  company: value.object('The employer', {
    name: value.maybe('Name'),
    domain: value.maybe('Website domain'),
    network_url: value.address('Profile on the network'),
  }),
}))

const phoneTypes = [
  'mobile',
  'fixed_or_mobile',
  'fixed_line',
  'voip',
  'toll_free',
  'premium_rate',
  'shared_cost',
  'personal_number',
  'pager',
  'uan',
  'voicemail',
  'unknown',
] as const

/** The result of a waterfall. Fields of a type that was not requested are absent. */
export const contactResult = record(() => ({
  enrichment_id: value.uuid('Identifier of the enrichment'),
  first_name: value.maybe('First name'),
  last_name: value.maybe('Last name'),
  network_profile_url: value.address('Profile on the network'),
  status: describe(z.enum(['pending', 'finished']), 'Whether the work is done'),
  email: value.maybe('Professional email address').optional(),
  email_status: emailStatus('the email address').nullable().optional(),
  personal_email: value.maybe('Personal email address').optional(),
  personal_email_status: emailStatus('the personal email address').nullable().optional(),
  phone: value.strings('Phone numbers in E.164').optional(),
  phone_details: value
    .objects('The same numbers with their kinds', {
      number: value.string('Phone number in E.164'),
      type: describe(z.enum(phoneTypes), 'Kind of number'),
      country_code: value.maybe('ISO 3166-1 alpha-2 code of the country'),
    })
    .optional(),
  email_source: value
    .maybe(
      'Who gave the email address; pattern: guessed from those of colleagues. Absent for a known one without data vendors of your own',
    )
    .optional(),
  personal_email_source: value.maybe('Who gave the personal email address').optional(),
  phone_source: value.maybe('Who gave the phone numbers').optional(),
  answers_lost: value.strings('Data vendors whose answer was lost, and who may have charged').optional(),
  not_asked: notAsked(),
  credits_used: value.count('Credits charged for this contact'),
  custom: value.echo(),
  message: value.string('No data found, when nothing was, and why').optional(),
}))

export const listRecord = record(() => ({
  id: value.uuid('Identifier'),
  name: value.string('Name'),
  network_list_id: value.count('Identifier of the list on the network'),
  created_at: value.moment('When it was created'),
  updated_at: value.moment('When it was last changed'),
  status: describe(z.enum(['pending', 'completed', 'failed']), 'Status of the import'),
}))

/** Where a page stands among all rows. */
export const pagination = () =>
  value.object('Where the page stands', {
    page: value.count('Number of the page; absent with a cursor').optional(),
    per_page: value.count('Rows per page'),
    total_count: value.count('Rows in all'),
    has_more: value.yesNo('Whether another page follows'),
    next_cursor: value.string('Cursor of the next page; absent on the last').optional(),
  })

// Findings of signals with a company: functions, for the same reason as records.

export const technologiesFound = () =>
  value.objects('Technologies that match', {
    technology_name: value.string('Name'),
    confidence: describe(z.enum(['low', 'medium', 'high']), 'How sure it is'),
    job_mentions: value.count('Job postings that mention it'),
  })

const share = (of: string) => describe(z.number(), `Similarity in ${of}, from 0 to 1`)

export const similarity = () =>
  value.object('Why it resembles the companies given', {
    score: share('all'),
    industry: share('industry'),
    size: share('headcount'),
    country: share('country'),
    technologies: share('technologies'),
    growth: share('growth of the headcount'),
  })
