import { createHash, randomUUID } from 'node:crypto'
import type { CallOptions, Input } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import type {
  Account,
  Clock,
  CompanyQuery,
  Ids,
  JobPosting,
  Lead,
  PageRequest,
  Person,
  PersonQuery,
  Provider,
  RecordOf,
  ResultPage,
  Search,
  SearchKind,
  Source,
  TechnologyUse,
  UnknownCompanies,
} from '../../src/api/ports/ports.js'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { createEngine } from '../../src/engine/request/engine.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import records from '../fixtures/engine/records.json' with { type: 'json' }

/** A clock that stands where a test puts it. */
export class TestClock implements Clock {
  #now: number

  constructor(iso = '2026-03-10T12:00:00Z') {
    this.#now = Date.parse(iso)
  }

  now(): number {
    return this.#now
  }

  set(iso: string): void {
    this.#now = Date.parse(iso)
  }

  advance(ms: number): void {
    this.#now += ms
  }
}

/** Ids that are the same in every run of a test. */
export const seededIds = (seed: string): Ids => {
  let count = 0
  const digest = () => createHash('sha512').update(`${seed}:${count++}`).digest()
  return {
    uuid: () => {
      const hex = digest().toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
    },
    bytes: (size) => new Uint8Array(digest().subarray(0, size)),
  }
}

export const randomIds: Ids = {
  uuid: randomUUID,
  bytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
}

/** A complete account record of a domain. */
export const accountOf = (domain: string): Account => ({
  ...records.account,
  name: domain,
  cleaned_name: domain,
  domain,
  website: `https://${domain}`,
})

/** A complete person record of an email address at a company. */
export const personOf = (local: string, domain: string) =>
  ({
    ...records.person,
    first_name: local,
    full_name: `${local} Known`,
    company_name: domain,
    company_domain: domain,
    current_position: { ...records.person.current_position, company_name: domain },
    network_profile_url: `https://www.network.example/in/${local}`,
    most_probable_email: `${local}@${domain}`,
  }) as Person

/** A complete job of a number, with a description of 299 letters and as many more. */
export const jobOf = (number: number, letter = 'd'): JobPosting => ({
  job_title: `Job ${number}`,
  job_url: `https://jobs.known.example/${number}`,
  job_location: null,
  country_code: null,
  employment_statuses: [],
  date_posted: null,
  description: letter.repeat(299 + number),
  hiring_team: [],
  company: { name: null, domain: 'known.example', network_url: null },
})

/** A person as a search finds them. */
export const leadOf = (person: Person) => {
  const { first_name, last_name, full_name, title, network_profile_url } = person
  const { most_probable_email = null, most_probable_email_status = null, phones = [] } = person
  const reached = { most_probable_email, most_probable_email_status, phones, network_profile_url }
  return { ...records.lead, first_name, last_name, full_name, title, ...reached } as Lead['lead']
}

/** What searches of a kind find beside companies. */
type Found = { readonly account?: object; readonly [finding: string]: unknown }
const found: Readonly<Record<'companies' | 'stack' | 'hiring' | 'growth' | 'lookalikes', Found>> = {
  companies: {},
  growth: { account: { headcount_growth_percentage: 25 } },
  stack: { technologies_found: [{ technology_name: 'React', confidence: 'high', job_mentions: 2 }] },
  hiring: { jobs: [], account: { job_count: 0 } },
  lookalikes: {
    account: { similarity_score: 0.9 },
    similarity: { score: 0.9, industry: 1, size: 1, country: 1, technologies: 0.5, growth: 1 },
  },
}

/** A source that knows every company of `known.example` and its subdomains' kind, and counts how often it is asked. */
export class TestSource implements Source {
  asked = 0
  /** How many jobs each known company has, what it uses, and how many people. */
  openJobs = 0
  letter = 'd'
  uses: readonly TechnologyUse[] = []
  people = 0
  unknown: UnknownCompanies = {}
  /** Called before each answer; may wait, throw or do harm. */
  before: (query: CompanyQuery) => Promise<void> | void = () => {}

  /** Holds the next question back, and only that; answers, once it waits, the function that lets it go on. */
  hold(): Promise<() => void> {
    return new Promise((waits) => {
      this.before = () => {
        this.before = () => {}
        return new Promise<void>((release) => waits(release))
      }
    })
  }

  async company(query: CompanyQuery): Promise<Account | undefined> {
    this.asked++
    await this.before(query)
    const domain = query.url?.endsWith('/company/known') ? 'known.example' : (query.domain ?? query.networkId)
    return domain?.startsWith('known') ? accountOf(domain) : undefined
  }

  /** Known is who has a first name and works at a known domain, and the profile url of Ada. */
  person({ url, firstName, domain }: PersonQuery): Person | undefined {
    this.asked++
    if (url) return /\/in\/ada(?![\w-])/.test(url) ? personOf('ada', 'known.example') : undefined
    return firstName && domain?.startsWith('known') ? personOf(firstName, domain) : undefined
  }

  personByEmail(email: string): Person | undefined {
    this.asked++
    const [local = '', domain = ''] = email.split('@')
    return domain.startsWith('known') ? personOf(local, domain) : undefined
  }

  /** Numbers that end in 1 are reachable. */
  reachable(numbers: readonly string[]): ReadonlySet<string> {
    this.asked++
    return new Set(numbers.filter((number) => number.endsWith('1')))
  }

  technologies(query: string, limit: number) {
    const all = ['react', 'redis', 'rust'].map((slug) => ({ slug, name: slug, category: null }))
    return all.filter(({ slug }) => slug.startsWith(query)).slice(0, limit)
  }

  async stack(query: CompanyQuery) {
    return (await this.company(query)) && this.uses
  }

  async headcount(query: CompanyQuery) {
    const before = {
      base_headcount: 8,
      current_headcount: 10,
      headcount_gain: 2,
      headcount_gain_percentage: 25,
    }
    return (await this.company(query)) && { All: { current_headcount: 10, '3_months_evolution': before } }
  }

  async countProfiles(query: CompanyQuery) {
    return (await this.company(query)) && this.people
  }

  async jobs(query: CompanyQuery, _filters: unknown, limit: number) {
    const jobs = Array.from({ length: Math.min(limit, this.openJobs) }, (_, at) => jobOf(at, this.letter))
    return (await this.company(query)) && { total: this.openJobs, jobs }
  }

  /** How many records every search finds, and what they are. */
  matches = 0
  record = ({ kind }: Search, ordinal: number): unknown => {
    const account = accountOf(`known-${ordinal}.example`)
    const person = personOf(`person-${ordinal}`, 'known.example')
    if (kind === 'people' || kind === 'engagers')
      return { lead: leadOf(person), company: account, network_id: `ACoAA${ordinal}` }
    const { account: more, ...beside } = found[kind]
    return { account: { ...account, ...more }, ...beside }
  }

  async count() {
    this.asked++
    await this.before({})
    return this.matches
  }

  async find<K extends SearchKind>(
    search: Search<K>,
    { limit, after = '0' }: PageRequest,
  ): Promise<ResultPage<RecordOf<K>>> {
    this.asked++
    await this.before({})
    const from = Number(after)
    const to = Math.min(this.matches, from + limit)
    const records = Array.from(
      { length: to - from },
      (_, at) => this.record(search, from + at) as RecordOf<K>,
    )
    return to < this.matches ? { records, next: String(to) } : { records }
  }

  unknownCompanies() {
    return this.unknown
  }

  searchAt(_url: string, of: 'companies' | 'people'): Search<'companies' | 'people'> {
    return { kind: of, filters: { keyword: 'known' } }
  }

  urlOf() {
    return 'https://www.network.example/sales/search/people?query=(keywords:known)'
  }

  locations(name: string) {
    return [{ id: `known:${name}`, name }]
  }

  titlesLike() {
    return []
  }

  ladder: readonly Provider[] = []

  providers() {
    return this.ladder
  }
}

/** An engine over a database, with a source of tests. */
export const engineOver = (store: Driver, clock: Clock = { now: Date.now }, source = new TestSource()) =>
  createEngine({ store, source, clock, ids: randomIds })

/** Lets the leases of an engine run out, as after the deaths of all who have them. */
export const expireLeases = (store: Pick<Driver, 'transaction'>) =>
  store.transaction(async (tx) => {
    for (const table of ['jobs', 'deliveries', 'replies']) await tx.run(`UPDATE ${table} SET lease_until = 0`)
  })

/** An engine in memory with one workspace, member and key. */
export type Bench = Awaited<ReturnType<typeof openBench>>

/** Where benches keep their engine: in memory, unless a file of tests says otherwise. */
export const benchDatabase = { open: () => openEngineDatabase(':memory:') }

export async function openBench(
  at: string | (() => Promise<Driver>) = benchDatabase.open,
  ids: Ids = randomIds,
) {
  const clock = new TestClock()
  const database = await (typeof at === 'string' ? openEngineDatabase(at) : at())
  const store = database
  const admin = createAdmin({ store, clock, ids })
  const source = new TestSource()
  const sleeps: number[] = []
  const sleep = async (ms: number) => {
    sleeps.push(ms)
  }
  const caller = createEngine({ store, source, clock, ids, sleep })
  const { key = '', workspace } = await admin.init()
  return {
    caller,
    database,
    store,
    admin,
    clock,
    source,
    key,
    workspaceId: workspace.id,
    sleeps,
    call: (id: OperationId, input: Input, options?: CallOptions) =>
      caller.call(id, input, { apiKey: key, ...options }),
    balance: async () => (await store.read((tx) => readBalances(tx, workspace.id))).credits,
    expire: () => expireLeases(store),
  }
}
