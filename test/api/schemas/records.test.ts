import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import * as record from '../../../src/api/schemas/records.js'

/** The keys of a record; those that may be missing end with a question mark. */
const keysOf = (schema: z.ZodObject): string =>
  Object.entries(schema.shape)
    .map(([key, field]) => (field._zod.optin === undefined ? key : `${key}?`))
    .join(', ')

describe('record schemas', () => {
  it.each([
    [
      'account',
      record.accountRecord(),
      'id, name, cleaned_name, domain, website, description, industry, industry_id, company_type, employee_range, headcount, headquarters, location, city, country, founded_year, revenue, revenue_currency, phone?, network_id, network_url, company_profile_picture, technologies, source?, not_asked?',
    ],
    [
      'person',
      record.personRecord(),
      'id, status, first_name, last_name, full_name, title, headline, summary, seniority, function, location, city, country, connections_count, company_name, company_domain, current_position, years_in_position, months_in_position, years_in_company, months_in_company, network_id, network_profile_url, premium_profile_url, profile_image_url, most_probable_email?, most_probable_email_status?, phones?, source?, not_asked?',
    ],
    [
      'lead',
      record.leadRecord(),
      'first_name, last_name, full_name, gender, title, title_description, summary, most_probable_email, most_probable_email_status, phones, network_profile_url, premium_profile_url, profile_image_url, is_premium_network, is_open_profile_network, is_open_to_work_network, connection_degree, connections_count?, current_positions_count, years_in_position, months_in_position, years_in_company, months_in_company, status, rejection_reason, headline?',
    ],
    [
      'job',
      record.jobRecord(),
      'job_title, job_url, job_location, country_code, employment_statuses, date_posted, description, hiring_team, company',
    ],
    [
      'contact result',
      record.contactResult(),
      'enrichment_id, first_name, last_name, network_profile_url, status, email?, email_status?, personal_email?, personal_email_status?, phone?, phone_details?, email_source?, personal_email_source?, phone_source?, answers_lost?, not_asked?, credits_used, custom?, message?',
    ],
    ['list', record.listRecord(), 'id, name, network_list_id, created_at, updated_at, status'],
    ['pagination', record.pagination(), 'page?, per_page, total_count, has_more, next_cursor?'],
    ['account preview', record.accountPreview(), 'company_name, industry, network_id, network_url'],
    [
      'lead preview',
      record.leadPreview(),
      'full_name, headline, current_company, current_title, network_id, profile_url',
    ],
  ] as const)('%s has its keys', (_, schema, keys) => {
    expect(keysOf(schema)).toBe(keys)
  })

  it('allow null for every value of an account but its id, technologies, and what is said of vendors', () => {
    const fields = Object.entries(record.accountRecord().shape)
    const known = fields.filter(([, field]) => !z.safeParse(field, null).success)
    expect(known.map(([key]) => key)).toEqual(['id', 'technologies', 'source', 'not_asked'])
  })
})
