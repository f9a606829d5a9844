import type { Value } from '../../storage/driver/connection.js'
import type { TextTable } from '../full-text/text-columns.js'
import { type StoredAccount, wordsOf } from '../records/company-row.js'
import { jobTexts, type StoredJob } from '../records/jobs.js'
import type { StoredPerson } from '../records/person.js'
import { textsOf } from '../records/person-row.js'

/** Whole numbers, other numbers and texts. */
export type ColumnType = 'whole' | 'number' | 'text'

/** A table as a copy takes it: its columns, and how many of the first ones its rows are known by. */
export interface CopiedTable {
  readonly keys: number
  readonly columns: Readonly<Record<string, ColumnType>>
}

/** A row by its columns. */
export type CopiedRow = Readonly<Record<string, Value>>

/** Writes a copy into an empty catalogue, within one transaction of its own. */
export interface CopyTarget {
  /** Before the first row: what would only cost time meanwhile is put aside. */
  begin(): Promise<void>
  add(table: string, rows: readonly CopiedRow[]): Promise<void>
  /** Behind the last one. */
  end(): Promise<void>
}

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
  },
  phones: { keys: 2, columns: { number: text, person: whole, messenger: whole } },
  jobs: {
    keys: 1,
    columns: {
      ...{ key: whole, company: whole, identity: text, posted_at: whole, country: text, region: text },
      ...{ city: text, statuses: text, record: text },
    },
  },
  posts: {
    keys: 1,
    columns: { key: whole, identity: text, author: text, published_at: whole, record: text },
  },
  engagers: { keys: 3, columns: { post: whole, profile: text, engagement: text, url: text } },
}

/** What the records of a table are searched by; they say it themselves. */
export const textsOfRecord: Readonly<Record<TextTable, (record: string) => readonly string[]>> = {
  companies: (record) => wordsOf(JSON.parse(record) as StoredAccount),
  people: (record) => textsOf(JSON.parse(record) as StoredPerson),
  jobs: (record) => jobTexts(JSON.parse(record) as StoredJob),
}
