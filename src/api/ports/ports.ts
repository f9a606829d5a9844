import type { infer as Infer } from 'zod'
import type { InputOf, OutputOf } from '../areas/shapes.js'
import type { RowColumns, VendorSpending } from '../calls/caller.js'
import type { VendorKind } from '../operations/facts.js'
import type { importFields } from '../schemas/enumerations.js'
import type { similarity } from '../schemas/records.js'
import type { Awaitable } from '../values/objects.js'

/** Real time in milliseconds since 1970; the engine adds its own adjustable clock. */
export interface Clock {
  now(): number
}

/** Source of ids and secrets. */
export interface Ids {
  uuid(): string
  bytes(size: number): Uint8Array
}

/** The log of one command, for what runs unattended: one JSON object a line. */
export interface CommandLog {
  write(event: string, facts?: object): void
  spend(credits: number): void
  /** Takes how far long work has come, in place of a display. */
  progress?(step: WorkStep): void
  /** Writes the last event: the exit code and the credits. */
  end(exitCode: number): void
}

export interface WorkStep {
  readonly rows: number
  readonly found: number
  readonly credits: number
  readonly total: number | undefined
}

/** Where deliveries may go, besides public https addresses. */
export interface Targets {
  /** Networks (CIDR) that are allowed over http and https; link-local addresses are refused even then. */
  readonly allow: readonly string[]
  /** Whether this machine's loopback addresses are allowed, over http too. */
  readonly loopback: boolean
  /** What is sent there, in a sentence that says it is blocked; webhooks by default. */
  readonly what?: string
  /** Returns a sentence that says how to allow networks, for the person or program that is refused. */
  readonly adviceToAllow?: (networks: readonly string[]) => string
}

/** One delivery attempt: what is posted, and where it may go. */
export interface DeliveryAttempt extends Targets {
  readonly url: string
  /** Whose delivery it is: name lookups of one workspace do not wait for those of another. */
  readonly workspaceId?: string
  /** The same on every attempt of a delivery; sent as `webhook-id`. */
  readonly id: string
  /** Real time in milliseconds; sent as `webhook-timestamp`. */
  readonly timestamp: number
  readonly body: string
  /** Signing secrets (`whsec_…`), newest first: two while a rotation lasts. */
  readonly secrets: readonly string[]
}

export interface DeliveryResult {
  /** Status of the answer; null when there was none. */
  readonly status: number | null
  /** One sentence; null when the status is 2xx, the only success. */
  readonly error: string | null
  /** What the answer's `Retry-After` asks for on 429 and 503, at most a day. */
  readonly retryAfterMs?: number
  /** Whether the target is not allowed, so that nothing was sent. */
  readonly refused?: boolean
  /** Whether no connection was free, so that nothing was sent; it says nothing about the receiver. */
  readonly postponed?: boolean
  /** Duration in milliseconds. */
  readonly ms: number
}

export interface Sender {
  /** Sends one signed POST of at most 15 s, after a wait of at most 5 s for a connection. It never rejects: errors are part of the result. */
  send(attempt: DeliveryAttempt): Promise<DeliveryResult>
  /** Returns why nothing may be sent to a URL; `undefined` when it is allowed, or its name does not resolve yet. */
  check(url: string, targets: Targets, workspaceId?: string): Promise<string | undefined>
  /** Aborts what is in flight, and closes every connection. */
  close(): Promise<void>
}

type Texts<Name extends string> = { readonly [Key in Name]?: string | undefined }

/** What identifies a company; more fields make it more precise. */
export type CompanyQuery = Texts<'url' | 'networkId' | 'domain' | 'name' | 'country'>

/** What identifies a person: the profile URL, or the name with the company. */
export type PersonQuery = Texts<'url' | 'firstName' | 'lastName' | 'companyName' | 'domain'>

export type Account = OutputOf<'accounts.enrich'>
/** A person; the years in position and company are as imported, not as of today. */
export type Person = OutputOf<'leads.enrich'>
export type Technology = OutputOf<'accounts.technologies'>['technologies'][number]
export type TechnologyUse = OutputOf<'accounts.stack'>['technologies_with_confidence'][number]
export type Headcount = OutputOf<'accounts.headcount'>
export type JobPosting = OutputOf<'accounts.hiring'>['jobs'][number]
export type JobFilters = Omit<InputOf<'accounts.hiring'>, 'limit' | 'full_description'>
export type ProfileFilters = Omit<InputOf<'accounts.count_profiles'>, `company_${string}`>

export type Lead = NonNullable<OutputOf<'searches.get'>['leads']>[number]
/** A lead as found, with the person's network id, which replies of searches do not contain. */
export interface FoundLead extends Lead {
  readonly network_id: string | null
}
export type Location = OutputOf<'locations.find'>[number]
export type TechnologiesFound = OutputOf<'intents.stack_preview'>['preview'][number]['technologies_found']

type Imported = (typeof importFields)[number] | 'live'
type Lists = 'included_account_lists' | 'excluded_account_lists'

/** Only records of the sample. */
type Sampled = { readonly samples?: boolean }
export type CompanyFilters = Omit<InputOf<'accounts.search'>, Imported> & Sampled
/** Filters of people. Account lists are given as their companies, by `Account.id`. */
export interface PeopleFilters extends Omit<InputOf<'leads.advanced_search'>, Imported | Lists> {
  readonly included_accounts?: readonly string[]
  readonly excluded_accounts?: readonly string[]
  /** Only records of the sample. */
  readonly samples?: boolean
  /** Keys of people to leave out. */
  readonly except?: readonly number[]
  /** The one company they must work at now. */
  readonly company?: CompanyQuery
}
/** Profile URLs and domains in filters of companies that stand for no company, by the filter. */
export type UnknownCompanies = Partial<
  Readonly<Record<'included_companies' | 'excluded_companies' | 'past_companies', readonly string[]>>
>
export type StackFilters = InputOf<'intents.stack_preview'> & Sampled
export type HiringFilters = Omit<InputOf<'intents.hiring'>, Imported> & Sampled
export type GrowthFilters = Omit<InputOf<'intents.growth'>, Imported> & Sampled
export type LookalikeFilters = Omit<InputOf<'intents.lookalikes'>, Imported> & Sampled
export type EngagerFilters = Omit<InputOf<'intents.post_engagers'>, Imported>

/** Why a company resembles the given ones: from 0 to 1, overall and by criterion. */
export type Similarity = Infer<ReturnType<typeof similarity>>

interface Kind<Filters, Found> {
  readonly filters: Filters
  readonly record: Readonly<Found>
}

/** Kinds of searches: their filters, and the records they find, most relevant first. */
export interface Searches {
  readonly companies: Kind<CompanyFilters, { account: Account }>
  readonly people: Kind<PeopleFilters, FoundLead>
  readonly stack: Kind<StackFilters, { account: Account; technologies_found: TechnologiesFound }>
  readonly hiring: Kind<
    HiringFilters,
    { account: Account & { readonly job_count: number }; jobs: readonly JobPosting[] }
  >
  readonly growth: Kind<
    GrowthFilters,
    { account: Account & { readonly headcount_growth_percentage: number | null } }
  >
  readonly lookalikes: Kind<
    LookalikeFilters,
    { account: Account & { readonly similarity_score: number }; similarity: Similarity }
  >
  readonly engagers: Kind<EngagerFilters, FoundLead>
}

export type SearchKind = keyof Searches
/** A search as plain data, so that it can be stored and resumed. */
export type Search<K extends SearchKind = SearchKind> = K extends SearchKind
  ? { readonly kind: K; readonly filters: Searches[K]['filters'] }
  : never
/** A search decoded from a URL; account lists are given by their ids, for the engine to resolve. */
export type DecodedSearch =
  | Search<'companies'>
  | {
      readonly kind: 'people'
      readonly filters: PeopleFilters & Pick<InputOf<'leads.advanced_search'>, Lists>
    }
export type RecordOf<K extends SearchKind> = Searches[K]['record']

/** Asks for a page of the results of a search: at most `limit` records after a position. */
export interface PageRequest {
  readonly limit: number
  readonly after?: string | undefined
  /** Engine time of the search: days and tenures count up to it. */
  readonly now: number
}

/** The records of a page, and the position after which the next one begins; absent after the last. */
export interface ResultPage<T> {
  readonly records: readonly T[]
  readonly next?: string
  /** The result of `count`, when the first page had to visit all matches anyway. */
  readonly total?: number
  /** Of people, what the filter `except` takes: a key for each record. */
  readonly keys?: readonly number[]
}

/** A person to find addresses and numbers of. */
export type Contact = PersonQuery & WithColumns

export type ContactType = InputOf<'contacts.enrich_sync'>['enrichment_type'][number]
export type PhoneDetail = NonNullable<OutputOf<'contacts.enrich_sync'>['phone_details']>[number]
export interface FoundEmail {
  readonly email: string
  readonly status: 'valid' | 'risky' | 'invalid'
}

/** A step of a waterfall: who may know how to reach a person. A method it lacks is a question it never answers. */
export interface Provider {
  readonly name: string
  /** Whether it guesses, and is asked after everybody else. */
  readonly isGuess?: boolean
  /** Identifies the person: name, profile and employer. Free, and it does not end a waterfall. */
  person?(contact: Contact): Awaitable<Contact | undefined>
  email?(contact: Contact): Awaitable<FoundEmail | undefined>
  personalEmail?(contact: Contact): Awaitable<FoundEmail | undefined>
  /** Returns all known numbers, each with its kind. */
  phones?(contact: Contact): Awaitable<readonly PhoneDetail[]>
}

/** What else the row says that is asked about, for vendors that are asked with it. */
export interface WithColumns {
  readonly columns?: RowColumns | undefined
}

/** For whom vendors are asked, and what that may cost. */
export interface Asking extends VendorSpending {
  readonly workspaceId: string
  readonly memberId: string
}

/** What became of a question to a vendor. `unknown`: its answer was lost, and it may have charged. */
export interface VendorReply {
  readonly name: string
  readonly is: 'found' | 'not_found' | 'unknown' | 'skipped'
  readonly fields?: Readonly<Record<string, unknown>>
  /** Why it was not asked. */
  readonly why?: string
}

/** The data vendors of workspaces, which are asked after the catalogue. */
export interface Vendors {
  /** Whether a workspace has any, or any for one of these kinds. */
  has(workspaceId: string, kinds?: readonly VendorKind[]): Promise<boolean>
  /** Returns the columns of files that some are asked with for these kinds. */
  columns(workspaceId: string, kinds: readonly VendorKind[]): Promise<readonly string[]>
  /** Asks them in their order; each only when the next reply is wanted. `company` says what is known of the company. */
  ask(
    kind: VendorKind,
    subject: PersonQuery & Texts<'email' | 'country'> & WithColumns,
    asking: Asking,
    company?: () => Awaitable<Account | undefined>,
  ): AsyncIterable<VendorReply>
}

/** Where companies, people, jobs and posts come from: the local catalogue, or a server. */
export interface Source {
  /** Returns the company, or `undefined`: rather none than the wrong one. */
  company(query: CompanyQuery): Awaitable<Account | undefined>
  /** Returns the person, or `undefined`: rather none than the wrong one. */
  person(query: PersonQuery): Awaitable<Person | undefined>
  /** Returns the only person with this professional or personal email address. */
  personByEmail(email: string): Awaitable<Person | undefined>
  /** Returns those of the numbers (E.164) that a messaging app reaches. */
  reachable(numbers: readonly string[]): Awaitable<ReadonlySet<string>>
  /** Technologies whose slug or name matches, best first; all in slug order when `query` is empty. */
  technologies(query: string, limit: number): Awaitable<readonly Technology[]>
  /** Technologies of a company, surest first; `undefined` when the company is unknown, as in the methods below. */
  stack(query: CompanyQuery): Awaitable<readonly TechnologyUse[] | undefined>
  /** Headcount with its evolution, of `All` and the given departments, or of all departments. */
  headcount(query: CompanyQuery, departments: readonly string[]): Awaitable<Headcount | undefined>
  /** Number of matching people of a company. Throws 422 that names a filter it cannot apply. */
  countProfiles(query: CompanyQuery, filters: ProfileFilters): Awaitable<number | undefined>
  /** The newest matching jobs, at most `limit`, with full descriptions, and how many match. Days count back from `now`. */
  jobs(
    query: CompanyQuery,
    filters: JobFilters,
    limit: number,
    now: number,
  ): Awaitable<{ readonly total: number; readonly jobs: readonly JobPosting[] } | undefined>
  /** Number of records a search finds; for people approximate above 10,000. Days count up to `now`. */
  count(search: Search, now: number): Awaitable<number>
  /** Records a search finds, always in the same order. Throws 422 that names a filter it cannot apply. */
  find<K extends SearchKind>(search: Search<K>, span: PageRequest): Awaitable<ResultPage<RecordOf<K>>>
  /** Returns the companies in filters that are unknown. Throws 422 when none of those to include is known. */
  unknownCompanies(filters: PeopleFilters): Awaitable<UnknownCompanies>
  /** Decodes a search URL of the network. Throws 400 for another URL, 422 for a filter it cannot apply. */
  searchAt(url: string, of: 'companies' | 'people'): Awaitable<DecodedSearch>
  /** Returns the network URL of a search; null when it has filters that URLs cannot express. */
  urlOf(search: DecodedSearch): Awaitable<string | null>
  /** Locations with this name, best match first, at most 20. */
  locations(name: string, source: 'live' | 'database' | 'hiring'): Awaitable<readonly Location[]>
  /** Titles that people hold and that contain all words of the given one, most frequent first. */
  titlesLike(title: string, limit: number): Awaitable<readonly string[]>
  /** The steps of a waterfall, in the order they are tried. */
  providers(): Awaitable<readonly Provider[]>
}
