import type { InputOf, OutputOf } from '../api/shapes.js'
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
export type Job = OutputOf<'accounts.hiring'>['jobs'][number]
export type JobFilters = Omit<InputOf<'accounts.hiring'>, 'limit' | 'full_description'>
export type ProfileFilters = Omit<InputOf<'accounts.count_profiles'>, `company_${string}`>

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
  ): Awaitable<{ readonly total: number; readonly jobs: readonly Job[] } | undefined>
}
