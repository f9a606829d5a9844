import type { CopiedTable } from '../dialect/dialect.js'
import { type StoredAccount, wordsOf } from '../records/company-row.js'
import { jobTexts, type StoredJob } from '../records/jobs.js'
import type { StoredPerson } from '../records/person.js'
import { textsOf } from '../records/person-row.js'

const whole = 'whole'
const number = 'number'
const text = 'text'

/** The tables of a catalogue, each behind those it refers to. */
export const copiedTables: Readonly<Record<string, CopiedTable>> = {
  companies: {
    keys: 1,
    columns: {
      ...{ key: whole, domain: text, network_id: text, slug: text, name: text, country: text },
      ...{ industry: text, size: whole, headcount: whole, id: text, city: text, region: text },
      ...{ industry_name: text, company_type: text, revenue: number, revenue_currency: text, record: text },
    },
    textsOf: (record) => wordsOf(JSON.parse(record) as StoredAccount),
  },
  technologies: { keys: 1, columns: { key: whole, slug: text, name: text, category: text } },
  company_technologies: {
    keys: 2,
    columns: { technology: whole, company: whole, confidence: number, mentions: whole },
  },
  headcount_history: {
    keys: 3,
    columns: { company: whole, department: text, date: text, headcount: whole },
  },
  headcount_growth: {
    keys: 2,
    columns: { company: whole, department: text, headcount: whole, growth: number },
  },
  people: {
    keys: 1,
    columns: {
      ...{ key: whole, company: whole, network_id: text, slug: text, email: text, personal_email: text },
      ...{ name: text, country: text, seniority: whole, function: whole, city: text, region: text },
      ...{ employer: text, first_name: text, last_name: text, years_of_experience: whole },
      ...{ position_since: whole, months_in_position: whole, months_in_company: whole, record: text },
    },
    textsOf: (record) => textsOf(JSON.parse(record) as StoredPerson),
  },
  phones: { keys: 2, columns: { number: text, person: whole, messenger: whole } },
  jobs: {
    keys: 1,
    columns: {
      ...{ key: whole, company: whole, identity: text, posted_at: whole, country: text, region: text },
      ...{ city: text, statuses: text, record: text },
    },
    textsOf: (record) => jobTexts(JSON.parse(record) as StoredJob),
  },
  posts: {
    keys: 1,
    columns: { key: whole, identity: text, author: text, published_at: whole, record: text },
  },
  engagers: { keys: 3, columns: { post: whole, profile: text, engagement: text, url: text } },
}
