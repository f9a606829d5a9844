import type { Faker } from '@faker-js/faker'
import type { Catalogue } from './catalogue.js'
import type { Given, Kind } from './kind.js'
import type { ImportReport } from './report.js'
import { sampleCompanies } from './sample-companies.js'
import { sampleJobs, samplePosts } from './sample-jobs.js'
import { samplePeople } from './sample-people.js'

/** How much sample data, and which. The same values give the same data. */
export interface SampleOptions {
  /** Companies; 500 unless given, never fewer than the hand-written ones. */
  readonly companies?: number
  /** People; 5,000 unless given. */
  readonly people?: number
  readonly seed?: number
  /** The day that dates in the data lead up to, in milliseconds since 1970. */
  readonly now: number
}

/** A company of the sample as people, jobs and posts need to know it. */
export interface SampleCompany {
  readonly name: string
  readonly domain: string
  readonly country: string
  readonly city: string
  readonly headcount: number
}

/** Chance and invented names, both from one seed. */
export interface Dice {
  readonly faker: Faker
  /** Invented names of a language. */
  of(language: string): Faker
  /** One of a list. */
  pick<T>(items: readonly T[]): T
  /** A whole number from `min` to `max`. */
  whole(min: number, max: number): number
  /** Whether something of this probability happens. */
  chance(probability: number): boolean
  /** A day so many days before the sample's own, as `YYYY-MM-DD`. */
  daysAgo(days: number): string
}

/** Records of the sample by kind, each to be read once and in this order. */
export interface Sample {
  readonly companies: Iterable<Given>
  readonly people: Iterable<Given>
  readonly jobs: Iterable<Given>
  readonly posts: Iterable<Given>
}

/**
 * Makes up companies, people, jobs and posts. Domains are reserved ones (`.example`), phone numbers come from
 * ranges reserved for fiction; nobody in it exists.
 */
export async function sampleData({
  companies = 500,
  people = 5_000,
  seed = 1,
  now,
}: SampleOptions): Promise<Sample> {
  const dice = await shaken(seed, now)
  const made: SampleCompany[] = []
  const profiles: string[] = []
  return {
    companies: sampleCompanies(dice, companies, made),
    people: samplePeople(dice, people, made, profiles),
    jobs: sampleJobs(dice, made),
    posts: samplePosts(dice, profiles),
  }
}

/** Puts sample data into a catalogue, over what is there with the same keys. */
export async function loadSample(
  catalogue: Pick<Catalogue, 'importRecords'>,
  options: SampleOptions,
): Promise<Readonly<Record<Kind, ImportReport>>> {
  const sample = await sampleData(options)
  return {
    companies: await catalogue.importRecords('companies', sample.companies),
    people: await catalogue.importRecords('people', sample.people),
    jobs: await catalogue.importRecords('jobs', sample.jobs),
    posts: await catalogue.importRecords('posts', sample.posts),
  }
}

async function shaken(seed: number, now: number): Promise<Dice> {
  const { Faker, base, de, en, es, fr, nl, sv } = await import('@faker-js/faker')
  const faker = new Faker({ locale: [en, base], seed })
  const others = new Map(
    Object.entries({ de, es, fr, nl, sv }).map(([language, locale], at) => [
      language,
      new Faker({ locale: [locale, en, base], seed: seed + at + 1 }),
    ]),
  )
  const whole = (min: number, max: number) => faker.number.int({ min, max })
  return {
    faker,
    whole,
    of: (language) => others.get(language) ?? faker,
    pick: (items) => faker.helpers.arrayElement(items),
    chance: (probability) => faker.number.float() < probability,
    daysAgo: (days) => new Date(now - days * 86_400_000).toISOString().slice(0, 10),
  }
}
