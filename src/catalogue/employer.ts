import { companiesAt, matchCompany } from './match.js'
import { prepareCompany, writeCompany } from './companies.js'
import { profileOf } from './profile.js'
import type { Writing } from './writing.js'

/** The company that a person or a job names. */
export interface Employer {
  readonly company_domain?: string | undefined
  readonly company_network_url?: string | undefined
  readonly company_network_id?: string | undefined
  readonly company_name?: string | undefined
}

/**
 * The key of the company that a record names. One that is not there is created when its domain or profile says
 * which it is; a name alone never makes a company, and finds one only where there is no doubt.
 */
export async function employerKey(writing: Writing, employer: Employer): Promise<number | undefined> {
  const { company_domain, company_network_url, company_network_id, company_name } = employer
  const found = await matchCompany(writing.connection, {
    url: company_network_url,
    domain: company_domain,
    name: company_name,
  })
  if (found) return found.key
  const atId = company_network_id ? await companiesAt(writing.connection, { kind: 'company', id: company_network_id }) : []
  if (atId[0]) return atId[0].key
  const known = company_domain ?? (profileOf(company_network_url ?? '') ? company_network_url : company_network_id)
  return known === undefined ? undefined : await createEmployer(writing, employer)
}

async function createEmployer(writing: Writing, employer: Employer): Promise<number> {
  const company = prepareCompany({
    domain: employer.company_domain,
    network_url: employer.company_network_url,
    network_id: employer.company_network_id,
    name: employer.company_name,
  })
  const { key, written } = await writeCompany(writing, company)
  if (written === 'added') writing.companies += 1
  return key
}
