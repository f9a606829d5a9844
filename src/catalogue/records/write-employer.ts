import { foldName } from '../normalize/name.js'
import { answered, type Steps } from '../write/sync-steps.js'
import type { Writing } from '../write/write-context.js'
import { prepareCompany } from './company.js'
import { atName, type Candidate } from './match-company.js'
import { existingCompany, writeCompany } from './write-company.js'

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
export function* employerKey(writing: Writing, employer: Employer): Steps<number | undefined> {
  const { company_domain, company_network_url, company_network_id, company_name } = employer
  const spelling = `${company_domain}\n${company_network_url}\n${company_network_id}\n${company_name}`
  if (!writing.employers.has(spelling))
    writing.employers.set(spelling, yield* findEmployer(writing, employer))
  return writing.employers.get(spelling)
}

function* findEmployer(writing: Writing, employer: Employer): Steps<number | undefined> {
  const { company_domain, company_network_url, company_network_id, company_name } = employer
  if (!company_domain && !company_network_url && !company_network_id)
    return yield* onlyOneNamed(writing, foldName(company_name ?? ''))
  // Most are known by their domain. A profile url must be read, to be refused where it is none.
  const known = company_domain && !company_network_url && (yield* keyAt(writing, company_domain))
  if (known) return known
  const company = prepareCompany(
    {
      domain: company_domain,
      network_url: company_network_url,
      network_id: company_network_id,
      name: company_name,
    },
    writing.ids,
  )
  const existing = yield* existingCompany(writing, company)
  if (existing) return existing.key
  const { key } = yield* writeCompany(writing, company)
  writing.companies += 1
  return key
}

/** Reads nothing but an index. */
function* keyAt({ connection, keyAt, mayHold }: Writing, domain: string): Steps<number | undefined> {
  const known = keyAt(domain)
  if (known !== undefined || !mayHold('companies', 'domain', domain)) return known
  const sql = 'SELECT key FROM companies WHERE domain = ?'
  return (yield* answered(connection.get<{ key: number }>(sql, domain)))?.key
}

function* onlyOneNamed({ connection }: Writing, name: string): Steps<number | undefined> {
  const [company, another] = name === '' ? [] : yield* answered(connection.all<Candidate>(...atName(name)))
  return another ? undefined : company?.key
}
