import type { Account } from '../engine/ports.js'

const blank: Omit<Account, 'technologies'> = {
  id: '',
  name: null,
  cleaned_name: null,
  domain: null,
  website: null,
  description: null,
  industry: null,
  industry_id: null,
  company_type: null,
  employee_range: null,
  headcount: null,
  headquarters: null,
  location: null,
  city: null,
  country: null,
  founded_year: null,
  revenue: null,
  revenue_currency: null,
  phone: null,
  network_id: null,
  network_url: null,
  company_profile_picture: null,
}

/** A stored company: an account without its absent keys, but always with its id. */
export type StoredAccount = Partial<Account> & Pick<Account, 'id'>

/** The account that a company's stored JSON stands for, with every key. */
export function accountOf(record: string): Account {
  const { technologies = [], ...known } = JSON.parse(record) as StoredAccount
  return { ...blank, ...known, technologies }
}
