import { foldName } from '../normalize/name.js'
import { awaitResult, type Steps } from '../write/sync-steps.js'
import type { WriteContext } from '../write/write-context.js'
import { prepareCompany } from './company.js'
import { type CompanyMatch, selectByName } from './match-company.js'
import { findExistingCompany, writeCompany } from './write-company.js'

/** The company that a person or a job names. */
export interface Employer {
  company_domain?: string | undefined
  company_network_url?: string | undefined
  readonly company_network_id?: string | undefined
  readonly company_name?: string | undefined
}

/**
 * Returns the key of the company that a record names. A missing company is created when it has a domain or profile. A name
 * alone never creates a company, and finds one only when it is unambiguous.
 */
export function* findOrCreateEmployer(context: WriteContext, employer: Employer): Steps<number | undefined> {
  const { company_domain, company_network_url, company_network_id, company_name } = employer
  const spelling = `${company_domain}\n${company_network_url}\n${company_network_id}\n${company_name}`
  if (!context.employers.has(spelling))
    context.employers.set(spelling, yield* findEmployer(context, employer))
  return context.employers.get(spelling)
}

function* findEmployer(context: WriteContext, employer: Employer): Steps<number | undefined> {
  const { company_domain, company_network_url, company_network_id, company_name } = employer
  if (!company_domain && !company_network_url && !company_network_id)
    return yield* findOnlyByName(context, foldName(company_name ?? ''))
  // Most companies have a domain.
  const known = company_domain && !company_network_url && (yield* findKeyByDomain(context, company_domain))
  if (known) return known
  const company = prepareCompany(
    {
      domain: company_domain,
      network_url: company_network_url,
      network_id: company_network_id,
      name: company_name,
    },
    context.ids,
    () => {},
  )
  const existing = yield* findExistingCompany(context, company)
  if (existing) return existing.key
  const { key } = yield* writeCompany(context, company)
  context.companies += 1
  return key
}

/** Looks up a key by index only, without reading the record. */
function* findKeyByDomain(
  { connection, companyKeyAt, mayExist }: WriteContext,
  domain: string,
): Steps<number | undefined> {
  const known = companyKeyAt(domain)
  if (known !== undefined || !mayExist('companies', 'domain', domain)) return known
  const sql = 'SELECT key FROM companies WHERE domain = ?'
  return (yield* awaitResult(connection.get<{ key: number }>(sql, domain)))?.key
}

function* findOnlyByName({ connection }: WriteContext, name: string): Steps<number | undefined> {
  const [company, another] =
    name === '' ? [] : yield* awaitResult(connection.all<CompanyMatch>(...selectByName(name)))
  return another ? undefined : company?.key
}
