import type { Refusal } from '../../api/calls/errors.js'
import type { Fields } from '../../api/values/objects.js'
import { foldName, foldText } from '../../identity/name.js'
import type { NetworkProfile } from '../../identity/profile.js'
import { invalid, isInvalid } from '../../identity/readers.js'
import type { Connection } from '../../storage/driver/connection.js'
import { toFacets } from '../full-text/facets.js'
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
  completeAccount,
  maxPerProfile,
  type StoredAccount,
  toCompanyFacts,
  toCompanyRow,
  toCompanyTexts,
} from './match-company.js'
import {
  countSources,
  joinStatements,
  readSnapshots,
  readStatements,
  type Snapshot,
  type Statement,
  writeStatements,
} from './sources.js'
import { hasDetails, type TechnologyDetails, writeUses } from './technologies.js'

export type KnownCompany = Candidate &
  CompanyKeys & { readonly record: string; readonly country: string | null; readonly source: number | null }

const keyColumns = ['domain', 'network_id', 'slug', 'name'] as const
const companyTable = {
  name: 'companies',
  columns: ['key', ...keyColumns, 'country', 'source', 'record'],
} as const
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
  /** What several say of it; absent where only one does. */
  readonly statements?: readonly Statement[] | undefined
  /** The sources that it was not counted among, and is from now on; and those that it is no more. */
  readonly counted?: readonly (readonly [source: number, change: number])[]
}

/** Adds companies, or merges them into the stored ones with their domain, else their profile. */
export async function importCompanies(context: ImportContext, companies: readonly PreparedCompany[]) {
  const known = new CompaniesInImport(context, true)
  await known.readDomains(companies.map(({ row }) => row.domain ?? undefined))
  await known.readProfiles(companies)
  if (context.open) {
    await known.readNames(
      companies.flatMap(({ isNamed, row }) => (isNamed && row.name ? [row.name] : [])),
      maxPerProfile,
    )
  }
  await known.readStatements()
  const outcomes = decideEach(companies, (company) => known.take(company))
  await known.keep()
  return outcomes
}

/** The stored companies that those of a portion may be the same as, and what is decided about them. */
class CompaniesInImport {
  readonly #known = new Candidates<KnownCompany>([])
  readonly #changes: CompanyChange[] = []
  #statements: ReadonlyMap<number, readonly Statement[]> = new Map()
  #snapshots: ReadonlyMap<number, Snapshot> = new Map()

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
  readNames(names: readonly string[], max = 2): Promise<void> {
    const table = this.isMerged ? companyTable : companyKeyTable
    return this.#read(table, [lookUp('companies', 'name', names, max)])
  }

  /** Reads what several say of the companies that are known, where one of them is open data. */
  async readStatements(): Promise<void> {
    const { target } = this.context
    const known = this.#known.all().filter(({ source }) => source !== null)
    if (known.length === 0) return
    this.#snapshots = await target.read(readSnapshots)
    const keys = known.map(({ key }) => key)
    this.#statements = await target.read((connection) => readStatements(connection, keys))
  }

  /** Adds a company, or what it says to a known one. One of open data that only has a name is added to a known one. */
  take(company: PreparedCompany): Outcome {
    const before = company.isNamed ? this.findNamed(company) : this.find(company)
    if (!before && company.isNamed && !this.context.open?.creates) return 'unknown'
    if (before && this.#isOlder(before)) return 'older'
    return this.#keepChange(before ? this.#merge(before, company) : this.#add(company)).outcome
  }

  /** Whether a newer snapshot of the set that is imported says something of a company: that stays. */
  #isOlder({ key, source }: KnownCompany): boolean {
    const { open } = this.context
    if (!open) return false
    const sources = this.#statements.get(key)?.map(([from]) => from) ?? [source]
    return sources.some((from) => {
      const there = from === null ? undefined : this.#snapshots.get(from)
      return there?.name === open.name && there.snapshot > open.snapshot
    })
  }

  /** Returns the only company of the same name and country; never one that has another number in its register. */
  findNamed({ row }: PreparedCompany): KnownCompany | undefined {
    const there = row.name === null ? [] : this.#known.find('name', row.name)
    if (there.length >= maxPerProfile) return undefined
    const said = JSON.parse(row.record) as RegisteredAccount
    const fitting = there
      .filter(({ country }) => country === row.country)
      .map((company) => ({ company, account: JSON.parse(company.record) as RegisteredAccount }))
    const isSame = ({ account }: (typeof fitting)[number]) =>
      account.registry_number !== undefined && account.registry_number === said.registry_number
    const left = fitting.filter(
      ({ account }) =>
        (account.registry_number === undefined || said.registry_number === undefined) &&
        !hasOtherForm(account.name ?? '', said.name ?? ''),
    )
    const [only, another] = fitting.some(isSame) ? fitting.filter(isSame) : left
    return another ? undefined : only?.company
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
    return this.#keepChange(before ? this.#merge(before, company) : this.#add(company))
  }

  #keepChange(change: CompanyChange): { readonly key: number; readonly outcome: Outcome } {
    this.#changes.push(change)
    this.#known.set(change.row)
    return { key: change.row.key, outcome: toOutcome(change) }
  }

  async keep(): Promise<void> {
    await this.context.target.keep(companyTable, this.#changes, writeCompanies)
  }

  #add(company: PreparedCompany): CompanyChange {
    const { row, uses, history } = company
    const source = this.context.open?.source ?? null
    return {
      said: () => toSaid(company),
      // A copy would take as long as everything else here.
      row: Object.assign(row, { key: this.context.nextKey('companies'), source }),
      counted: source === null ? [] : [[source, 1]],
      before: undefined,
      hasNewTexts: true,
      isNewRow: true,
      earlierUses: [],
      uses,
      history,
    }
  }

  /**
   * Decides whose word counts, and what is noted of who said what. Open data only completes what others say; own data replaces
   * what open data says. What a set says is one statement: a newer one takes the place of the earlier whole.
   */
  #attribute(before: KnownCompany, company: PreparedCompany) {
    const { open } = this.context
    const now = open?.source ?? null
    const there = this.#statements.get(before.key)
    const isSameSet = (source: number | null) =>
      source !== null &&
      open !== undefined &&
      (source === now || this.#snapshots.get(source)?.name === open.name)
    const isAlone = !there && (open ? isSameSet(before.source) : before.source === null)
    const source = open && (before.source === null || isSameSet(before.source)) ? now : before.source
    const countedFrom = (replaced: readonly number[]) =>
      open ? [[open.source, 1] as const, ...replaced.map((from) => [from, -1] as const)] : []
    // Nobody else says anything: what each says need not be told apart.
    if (isAlone) {
      const counted = countedFrom(before.source === null ? [] : [before.source])
      return { replaces: open !== undefined, source, statements: undefined, counted }
    }
    const earlier = there ?? [[before.source, withoutId(before.record)] as const]
    const others = earlier.filter(([source]) => !isSameSet(source))
    const replaced = earlier.flatMap(([source]) => (source !== null && isSameSet(source) ? [source] : []))
    const own = earlier.filter(([source]) => source === null)
    // Others may only add to what this set says.
    const isCompany = others.some(([source, { name }]) => source === null || name !== undefined)
    const said: Statement = open
      ? [now, company.isNamed && isCompany ? registeredOf(toSaid(company)) : toSaid(company)]
      : [null, Object.assign({}, ...own.map(([, fields]) => fields), toSaid(company)) as Fields]
    // Its place, which says before whom its word counts, stays.
    const at = earlier.findIndex(([source]) => isSameSet(source))
    const place = at < 0 ? others.length : at
    return {
      replaces: false,
      source,
      statements: open
        ? others.toSpliced(place, 0, said)
        : [...earlier.filter((one) => !own.includes(one)), said],
      counted: countedFrom(replaced),
    }
  }

  #merge(before: KnownCompany, company: PreparedCompany): CompanyChange {
    const { row, uses, history } = company
    const { lower: ___, ...account } = JSON.parse(before.record) as StoredAccount
    const said = JSON.parse(row.record) as StoredAccount
    const { source, statements, counted, replaces } = this.#attribute(before, company)
    const kept = replaces ? undefined : before
    const { domain, network_id, slug } = row
    const {
      technology_details: _,
      headcount_history: __,
      ...joined
    } = statements ? joinStatements(statements) : ({ ...(replaces ? {} : account), ...said } as Fields)
    const { name } = joined as { readonly name?: string }
    const merged = toCompanyRow(
      { ...joined, id: account.id },
      {
        domain: domain ?? kept?.domain ?? null,
        network_id: network_id ?? kept?.network_id ?? null,
        slug: slug ?? kept?.slug ?? null,
        name: name === undefined ? (kept?.name ?? null) : foldName(name),
      },
      source,
    )
    const isNewRow = merged.record !== before.record || merged.source !== before.source
    if (statements) this.#statements = new Map(this.#statements).set(before.key, statements)
    return {
      said: () => toSaid(company),
      statements,
      counted,
      row: Object.assign(merged, { key: before.key }),
      before,
      hasNewTexts:
        isNewRow &&
        (toCompanyTexts(account).some((text, index) => text !== merged.texts[index]) ||
          toFacets(toCompanyFacts(account)) !== toFacets(merged)),
      isNewRow,
      earlierUses: account.technologies ?? [],
      uses,
      history,
    }
  }
}

/** What registers say of a company, which no other source does. */
type RegisteredAccount = StoredAccount & { readonly registry_number?: string }
const registered = ['legal_name', 'registry_number', 'registry_status', 'city', 'founded_year'] as const

const registeredOf = (said: Fields): Fields =>
  Object.fromEntries(registered.flatMap((field) => (said[field] === undefined ? [] : [[field, said[field]]])))

/** Whether two names of the same words have legal forms that differ, such as Ltd and LLP. */
function hasOtherForm(one: string, other: string): boolean {
  const [form, otherForm] = [formOf(one), formOf(other)]
  return form !== '' && otherForm !== '' && form !== otherForm
}

function formOf(name: string): string {
  const [whole, core] = [foldText(name), foldName(name)]
  const form = whole.startsWith(core) ? whole.slice(core.length).trim() : ''
  return sameForms[form] ?? form
}

const sameForms: Readonly<Record<string, string>> = {
  limited: 'ltd',
  'public limited company': 'plc',
  'limited liability partnership': 'llp',
  incorporated: 'inc',
  corporation: 'corp',
}

const toColumn = ({ id, slug }: NetworkProfile): [column: 'slug' | 'network_id', value: string] =>
  id === undefined ? ['slug', slug ?? ''] : ['network_id', id]

/** What the record does not have, as its headcount history, counts as changed. */
function toOutcome({ before, isNewRow, uses, history }: CompanyChange): Outcome {
  if (!before) return 'added'
  return isNewRow || uses?.some(hasDetails) || history ? 'updated' : 'unchanged'
}

function withoutId(record: string): Fields {
  const { id: _, ...account } = completeAccount(JSON.parse(record) as StoredAccount)
  return account
}

/** Returns what an imported company says, without the id that it may have been given. */
function toSaid({ row, uses, history }: PreparedCompany): Fields {
  const { id: _, ...account } = completeAccount(JSON.parse(row.record) as StoredAccount)
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
  const said = changes.flatMap(({ row, statements }) => (statements ? [[row.key, statements] as const] : []))
  await writeStatements(connection, new Map(said))
  const counts = new Map<number, number>()
  for (const { counted = [] } of changes)
    for (const [source, change] of counted) counts.set(source, (counts.get(source) ?? 0) + change)
  countSources(connection, counts)
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
