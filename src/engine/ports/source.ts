import type { InputOf, OutputOf } from '../../api/areas/shapes.js'
import type { Awaitable } from './awaitable.js'

/** What identifies a company; the more is given, the more precise. */
export interface CompanyQuery {
  readonly url?: string | undefined
  readonly networkId?: string | undefined
  readonly domain?: string | undefined
  readonly name?: string | undefined
  readonly country?: string | undefined
}

/** What identifies a person: the profile url, or the name with the company. */
export interface PersonQuery {
  readonly url?: string | undefined
  readonly firstName?: string | undefined
  readonly lastName?: string | undefined
  readonly companyName?: string | undefined
  readonly domain?: string | undefined
}

export type Account = OutputOf<'accounts.enrich'>
/** A person; the terms in position and company are as they were given, not of today. */
export type Person = OutputOf<'leads.enrich'>
export type Technology = OutputOf<'accounts.technologies'>['technologies'][number]
export type TechnologyUse = OutputOf<'accounts.stack'>['technologies_with_confidence'][number]
export type Headcount = OutputOf<'accounts.headcount'>
export type JobPosting = OutputOf<'accounts.hiring'>['jobs'][number]
export type JobFilters = Omit<InputOf<'accounts.hiring'>, 'limit' | 'full_description'>
export type ProfileFilters = Omit<InputOf<'accounts.count_profiles'>, `company_${string}`>

export type Lead = OutputOf<'searches.get'>['leads'][number]
/** A lead as it is found, with the person's id on the network, which the answers of searches do not carry. */
export interface FoundLead extends Lead {
  readonly network_id: string | null
}
export type Location = OutputOf<'locations.find'>[number]
export type TechnologiesFound = OutputOf<'intents.stack_preview'>['preview'][number]['technologies_found']

type Imported = 'webhook_url' | 'name' | 'limit' | 'streaming' | 'scale' | 'custom' | 'live'
type Lists = 'included_account_lists' | 'excluded_account_lists'

export type CompanyFilters = Omit<InputOf<'accounts.search'>, Imported>
/** Filters of people. Account lists come as the companies in them, by `Account.id`. */
export interface PeopleFilters extends Omit<InputOf<'leads.advanced_search'>, Imported | Lists> {
  readonly included_accounts?: readonly string[]
  readonly excluded_accounts?: readonly string[]
  /** The one company they must work at now. */
  readonly company?: CompanyQuery
}
export type StackFilters = InputOf<'intents.stack_preview'>
export type HiringFilters = Omit<InputOf<'intents.hiring'>, Imported>
export type GrowthFilters = Omit<InputOf<'intents.growth'>, Imported>
export type LookalikeFilters = Omit<InputOf<'intents.lookalikes'>, Imported>
export type EngagerFilters = Omit<InputOf<'intents.post_engagers'>, Imported>

/** Why a company resembles the ones given: 0 to 1 in all, and by what was compared. */
export interface Similarity {
  readonly score: number
  readonly industry: number
  readonly size: number
  readonly country: number
  readonly technologies: number
  readonly growth: number
}

/** Kinds of searches: what they ask for, and what they find in the order of their relevance. */
export interface Searches {
  readonly companies: { readonly filters: CompanyFilters; readonly record: { readonly account: Account } }
  readonly people: { readonly filters: PeopleFilters; readonly record: FoundLead }
  readonly stack: {
    readonly filters: StackFilters
    readonly record: { readonly account: Account; readonly technologies_found: TechnologiesFound }
  }
  readonly hiring: {
    readonly filters: HiringFilters
    readonly record: { readonly account: Account; readonly jobs: readonly JobPosting[] }
  }
  readonly growth: { readonly filters: GrowthFilters; readonly record: { readonly account: Account } }
  readonly lookalikes: {
    readonly filters: LookalikeFilters
    readonly record: { readonly account: Account; readonly similarity: Similarity }
  }
  readonly engagers: { readonly filters: EngagerFilters; readonly record: FoundLead }
}

export type SearchKind = keyof Searches
/** A search as plain data, so that it can be kept and gone on with. */
export type Search<K extends SearchKind = SearchKind> = K extends SearchKind
  ? { readonly kind: K; readonly filters: Searches[K]['filters'] }
  : never
/** A search read from a url; account lists come by their ids, here or on the network, for the engine to resolve. */
export type DecodedSearch =
  | Search<'companies'>
  | {
      readonly kind: 'people'
      readonly filters: PeopleFilters & Pick<InputOf<'leads.advanced_search'>, Lists>
    }
export type RecordOf<K extends SearchKind> = Searches[K]['record']

/** A part of what a search finds: at most `limit` records, behind the place where the part before ended. */
export interface Span {
  readonly limit: number
  readonly after?: string | undefined
  /** Engine time of the search: days and terms count up to it. */
  readonly now: number
}

/** Records of a span, and where the next one begins; nothing behind the last. */
export interface Found<T> {
  readonly records: readonly T[]
  readonly next?: string
  /** What `count` would answer, of a first span that was found by going through them all. */
  readonly total?: number
}

/** Somebody to find addresses and numbers of. */
export interface Contact extends PersonQuery {
  readonly domain?: string | undefined
}

export type ContactType = InputOf<'contacts.enrich_sync'>['enrichment_type'][number]
export type PhoneDetail = NonNullable<OutputOf<'contacts.enrich_sync'>['phone_details']>[number]
export interface FoundEmail {
  readonly email: string
  readonly status: 'valid' | 'risky' | 'invalid'
}

/** One step of a waterfall: somebody who may know how a person is reached. It has no question that it never answers. */
export interface Provider {
  readonly name: string
  /** What is known of who is meant: name, profile and employer. Free, and not an answer that ends a waterfall. */
  person?(contact: Contact): Awaitable<Contact | undefined>
  email?(contact: Contact): Awaitable<FoundEmail | undefined>
  personalEmail?(contact: Contact): Awaitable<FoundEmail | undefined>
  /** All numbers known, each with its kind. */
  phones?(contact: Contact): Awaitable<readonly PhoneDetail[]>
}

/** Where companies, people, jobs and posts come from: the local catalogue, or a server. */
export interface Source {
  /** The company meant, or nothing: rather nothing than the wrong one. */
  company(query: CompanyQuery): Awaitable<Account | undefined>
  /** The person meant, or nobody: rather nobody than the wrong one. */
  person(query: PersonQuery): Awaitable<Person | undefined>
  /** The only person with this professional or personal e-mail address. */
  personByEmail(email: string): Awaitable<Person | undefined>
  /** Those of the numbers (E.164) that a messaging app reaches. */
  reachable(numbers: readonly string[]): Awaitable<ReadonlySet<string>>
  /** Technologies whose slug or name matches, best first; all in slug order when `query` is empty. */
  technologies(query: string, limit: number): Awaitable<readonly Technology[]>
  /** What a company uses, surest first; nothing when the company is unknown, as with the questions below. */
  stack(query: CompanyQuery): Awaitable<readonly TechnologyUse[] | undefined>
  /** With evolution, of `All` and the departments asked for; of all departments when none are. */
  headcount(query: CompanyQuery, departments: readonly string[]): Awaitable<Headcount | undefined>
  /** People of a company who match; a 422 names a filter that cannot be honoured. */
  countProfiles(query: CompanyQuery, filters: ProfileFilters): Awaitable<number | undefined>
  /** The newest jobs that match, whole, at most `limit`; and how many match. Days count back from `now`. */
  jobs(
    query: CompanyQuery,
    filters: JobFilters,
    limit: number,
    now: number,
  ): Awaitable<{ readonly total: number; readonly jobs: readonly JobPosting[] } | undefined>
  /** How many records a search finds; of people about so many above 10,000, exactly below. Days count up to `now`. */
  count(search: Search, now: number): Awaitable<number>
  /** What a search finds, always in the same order. Refuses filters that cannot be honoured (422 that names them). */
  find<K extends SearchKind>(search: Search<K>, span: Span): Awaitable<Found<RecordOf<K>>>
  /** The search that a search url of the network stands for; 400 for another url, 422 for a filter it cannot honour. */
  searchAt(url: string, of: 'companies' | 'people'): Awaitable<DecodedSearch>
  /** The url of a search on the network; null where it has filters that urls do not have. */
  urlOf(search: DecodedSearch): Awaitable<string | null>
  /** Places of this name, best match first, 20 at most. */
  locations(name: string, source: 'live' | 'database' | 'hiring'): Awaitable<readonly Location[]>
  /** Titles that people hold and that have all words of the given one, most frequent first. */
  titlesLike(title: string, limit: number): Awaitable<readonly string[]>
  /** The steps of a waterfall in the order they are tried. */
  providers(): Awaitable<readonly Provider[]>
}
