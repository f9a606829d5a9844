import type { Refusal } from '../../api/calls/errors.js'
import type { Fields } from '../../api/values/objects.js'
import { foldName } from '../../identity/name.js'
import type { NetworkProfile } from '../../identity/profile.js'
import { invalid, isInvalid } from '../../identity/readers.js'
import type { Connection } from '../../storage/driver/connection.js'
import {
  type Candidate,
  Candidates,
  decideEach,
  type ImportContext,
  lookUp,
  type Outcome,
  type TextChange,
  writeRows,
} from '../write/import-context.js'
import {
  type HeadcountEntry,
  type PreparedCompany,
  prepareCompany,
  writeHeadcountHistory,
} from './headcount.js'
import {
  type CompanyKeys,
  type CompanyRow,
  maxPerProfile,
  type StoredAccount,
  toCompanyRow,
  toCompanyTexts,
} from './match-company.js'
import { hasDetails, type TechnologyDetails, writeUses } from './technologies.js'

type KnownCompany = Candidate & CompanyKeys & { readonly record: string }

const keyColumns = ['domain', 'network_id', 'slug', 'name'] as const
const companyTable = { name: 'companies', columns: ['key', ...keyColumns, 'record'] } as const
/** What tells whether a company is there, without its record. */
const companyKeyTable = { name: 'companies', columns: ['key', ...keyColumns] } as const
/** The same of one with a domain, which needs no more to be found. */
const companyDomainTable = { name: 'companies', columns: ['key', 'domain'] } as const

interface CompanyChange extends TextChange<CompanyRow & Candidate, KnownCompany> {
  /** Whether the row differs from the stored one. */
  readonly isNewRow: boolean
  readonly earlierUses: readonly string[]
  readonly uses: readonly TechnologyDetails[] | undefined
  readonly history: readonly HeadcountEntry[] | undefined
}

/** Adds companies, or merges them into the stored ones with their domain, else their profile. */
export async function importCompanies(context: ImportContext, companies: readonly PreparedCompany[]) {
  const known = new CompaniesInImport(context, true)
  await known.readDomains(companies.map(({ row }) => row.domain ?? undefined))
  await known.readProfiles(companies)
  const outcomes = decideEach(companies, (company) => known.decide(company).outcome)
  await known.keep()
  return outcomes
}

/** The stored companies that those of a portion may be the same as, and what is decided about them. */
class CompaniesInImport {
  readonly #known = new Candidates<KnownCompany>([])
  readonly #changes: CompanyChange[] = []

  /** Companies that are only looked for, or created, are read without their records. */
  constructor(
    private readonly context: ImportContext,
    private readonly isMerged: boolean,
  ) {}

  readDomains(domains: readonly (string | undefined)[]): Promise<void> {
    const table = this.isMerged ? companyTable : companyDomainTable
    return this.#read(table, [lookUp('companies', 'domain', domains)])
  }

  /** Reads of the companies with one of these folded names as many as show whether it is one. */
  readNames(names: readonly string[]): Promise<void> {
    return this.#read(companyKeyTable, [lookUp('companies', 'name', names, 2)])
  }

  async #read(...[table, lookups]: Parameters<ImportContext['target']['readRows']>): Promise<void> {
    this.#known.add(await this.context.target.readRows<KnownCompany>(table, lookups))
  }

  async readProfiles(companies: readonly PreparedCompany[]): Promise<void> {
    const ids: string[] = []
    const slugs: string[] = []
    for (const { row, profiles } of companies) {
      if (row.domain !== null && this.#known.find('domain', row.domain).length > 0) continue
      for (const profile of profiles) {
        const [column, value] = toColumn(profile)
        if (column === 'slug') slugs.push(value)
        else ids.push(value)
      }
    }
    const lookups = [
      lookUp('companies', 'network_id', ids, maxPerProfile),
      lookUp('companies', 'slug', slugs, maxPerProfile),
    ]
    await this.#read(this.isMerged ? companyTable : companyKeyTable, lookups)
  }

  findByDomain = (domain: string): KnownCompany | undefined => this.#known.find('domain', domain)[0]

  /** Returns the only company with a folded name. */
  findByName(name: string): KnownCompany | undefined {
    const [company, another] = name === '' ? [] : this.#known.find('name', name)
    return another ? undefined : company
  }

  /** Finds the company with the same domain, else the one with the same profile and no other domain. */
  find({ row: { domain }, profiles }: PreparedCompany): KnownCompany | undefined {
    const company = domain === null ? undefined : this.findByDomain(domain)
    if (company) return company
    for (const profile of profiles) {
      const there = this.#known.find(...toColumn(profile))
      const candidates = domain === null ? there : there.filter((one) => one.domain === null)
      if (candidates.length > 1)
        throw invalid('several companies have this profile: give the domain of the one meant')
      if (candidates[0]) return candidates[0]
    }
    return undefined
  }

  /** Decides whether a company is new, or what it changes of a stored one. */
  decide(company: PreparedCompany): { readonly key: number; readonly outcome: Outcome } {
    const before = this.find(company)
    const change = before ? this.#merge(before, company) : this.#add(company)
    this.#changes.push(change)
    this.#known.set(change.row)
    return { key: change.row.key, outcome: toOutcome(change) }
  }

  async keep(): Promise<void> {
    await this.context.target.keep(companyTable, this.#changes, writeCompanies)
  }

  #add(company: PreparedCompany): CompanyChange {
    const { row, uses, history } = company
    return {
      said: () => toSaid(company),
      // A copy would take as long as everything else here.
      row: Object.assign(row, { key: this.context.nextKey('companies') }),
      before: undefined,
      hasNewTexts: true,
      isNewRow: true,
      earlierUses: [],
      uses,
      history,
    }
  }

  #merge(before: KnownCompany, company: PreparedCompany): CompanyChange {
    const { row, uses, history } = company
    const account = JSON.parse(before.record) as StoredAccount
    const merged = toCompanyRow(
      { ...account, ...(JSON.parse(row.record) as StoredAccount), id: account.id },
      {
        domain: row.domain ?? before.domain,
        network_id: row.network_id ?? before.network_id,
        slug: row.slug ?? before.slug,
        name: row.name ?? before.name,
      },
    )
    return {
      said: () => toSaid(company),
      row: Object.assign(merged, { key: before.key }),
      before,
      hasNewTexts: toCompanyTexts(account).some((text, index) => text !== merged.texts[index]),
      isNewRow: merged.record !== before.record,
      earlierUses: account.technologies ?? [],
      uses,
      history,
    }
  }
}

const toColumn = ({ id, slug }: NetworkProfile): [column: 'slug' | 'network_id', value: string] =>
  id === undefined ? ['slug', slug ?? ''] : ['network_id', id]

/** What the record does not have, as its headcount history, counts as changed. */
function toOutcome({ before, isNewRow, uses, history }: CompanyChange): Outcome {
  if (!before) return 'added'
  return isNewRow || uses?.some(hasDetails) || history ? 'updated' : 'unchanged'
}

/** Returns what an imported company says, without the id that it may have been given. */
function toSaid({ row, uses, history }: PreparedCompany): Fields {
  const { id: _, ...account } = JSON.parse(row.record) as StoredAccount
  return {
    ...account,
    ...(uses && {
      technology_details: uses.map(({ mentions: job_mentions, ...use }) => ({ ...use, job_mentions })),
    }),
    ...(history && { headcount_history: history }),
  }
}

export async function writeCompanies(
  connection: Connection,
  changes: readonly CompanyChange[],
): Promise<void> {
  const changed = changes.filter(({ isNewRow }) => isNewRow)
  // An id never changes.
  writeRows(connection, 'companies', changed, keyColumns, ['id'])
  await writeUses(connection, changes)
  await writeHeadcountHistory(connection, changes)
}

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
  records: readonly { readonly employer: Employer }[],
) {
  const employers = records.map(({ employer }) => employer)
  const companies = new CompaniesInImport(context, false)
  const nameOf = ({ company_name }: Employer) => foldName(company_name ?? '')
  await companies.readDomains(employers.map(({ company_domain }) => company_domain))
  await companies.readNames(employers.filter(isNameOnly).map(nameOf))
  const findKnown = ({ company_domain, company_network_url }: Employer) =>
    company_domain && !company_network_url ? companies.findByDomain(company_domain) : undefined
  const prepared = new Map<string, PreparedCompany | Refusal>()
  for (const employer of employers) {
    if (isNameOnly(employer) || findKnown(employer)) continue
    const spelling = JSON.stringify(employer)
    if (prepared.has(spelling)) continue
    const [company] = decideEach([employer], (one) => toCompany(context, one))
    if (company) prepared.set(spelling, company)
  }
  await companies.readProfiles(
    [...prepared.values()].flatMap((company) => (isInvalid(company) ? [] : [company])),
  )
  const keys = decideEach(employers, (employer) => {
    if (isNameOnly(employer)) return companies.findByName(nameOf(employer))?.key
    const known = findKnown(employer)
    if (known) return known.key
    const company = prepared.get(JSON.stringify(employer))
    if (!company) throw new Error('An employer was not prepared')
    if (isInvalid(company)) throw company
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

function toCompany({ ids }: ImportContext, employer: Employer): PreparedCompany {
  const { company_domain: domain, company_network_url: network_url } = employer
  const { company_network_id: network_id, company_name: name } = employer
  return prepareCompany({ domain, network_url, network_id, name }, ids, () => {})
}
