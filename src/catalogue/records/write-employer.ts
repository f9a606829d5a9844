import { foldName } from '../normalize/name.js'
import { InvalidRecordError } from '../normalize/readers.js'
import { decideEach, type ImportContext } from '../write/import-context.js'
import { type PreparedCompany, prepareCompany } from './company.js'
import { CompaniesInImport } from './write-company.js'

/** The company that a person or a job names. */
export interface Employer {
  company_domain?: string | undefined
  company_network_url?: string | undefined
  readonly company_network_id?: string | undefined
  readonly company_name?: string | undefined
}

/**
 * Returns the keys of the companies that records name; `undefined` where there is none, or an error that refuses the record. A
 * missing company is created when it has a domain or profile. A name alone never creates a company, and finds one only when
 * it is unambiguous.
 */
export async function importEmployers(
  context: ImportContext,
  employers: readonly Employer[],
): Promise<(number | undefined | InvalidRecordError)[]> {
  const companies = new CompaniesInImport(context)
  const nameOf = ({ company_name }: Employer) => foldName(company_name ?? '')
  await companies.readDomains(
    employers.map(({ company_domain }) => company_domain),
    employers.filter(isNameOnly).map(nameOf),
  )
  const findKnown = ({ company_domain, company_network_url }: Employer) =>
    company_domain && !company_network_url ? companies.findByDomain(company_domain) : undefined
  const prepared = new Map<string, PreparedCompany | InvalidRecordError>()
  for (const employer of employers) {
    if (isNameOnly(employer) || findKnown(employer)) continue
    const spelling = toSpelling(employer)
    if (prepared.has(spelling)) continue
    const [company] = decideEach([employer], (one) => toCompany(context, one))
    if (company) prepared.set(spelling, company)
  }
  await companies.readProfiles(
    [...prepared.values()].flatMap((company) => (company instanceof InvalidRecordError ? [] : [company])),
  )
  const keys = decideEach(employers, (employer) => {
    if (isNameOnly(employer)) return companies.findByName(nameOf(employer))?.key
    const known = findKnown(employer)
    if (known) return known.key
    const company = prepared.get(toSpelling(employer))
    if (!company) throw new Error('An employer was not prepared')
    if (company instanceof InvalidRecordError) throw company
    const existing = companies.find(company)
    if (existing) return existing.key
    const { key } = companies.decide(company)
    context.createdCompanies += 1
    return key
  })
  await companies.keep()
  return keys
}

const isNameOnly = ({ company_domain, company_network_url, company_network_id }: Employer): boolean =>
  !company_domain && !company_network_url && !company_network_id

const toSpelling = ({
  company_domain,
  company_network_url,
  company_network_id,
  company_name,
}: Employer): string => [company_domain, company_network_url, company_network_id, company_name].join('\n')

const toCompany = (
  { ids }: ImportContext,
  { company_domain, company_network_url, company_network_id, company_name }: Employer,
): PreparedCompany =>
  prepareCompany(
    {
      domain: company_domain,
      network_url: company_network_url,
      network_id: company_network_id,
      name: company_name,
    },
    ids,
    () => {},
  )
