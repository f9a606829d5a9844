import type { Faker } from '@faker-js/faker'

/** What people, jobs and posts of the sample need of a company. */
export interface SampleCompany {
  readonly name: string
  readonly domain: string
  readonly country: string
  readonly city: string
  readonly headcount: number
}

/** Random choices and invented names, all from one seed. */
export interface SeededRandom {
  readonly faker: Faker
  /** Returns the generator of names in a language; of English ones when it is unknown. */
  namesIn(language: string): Faker
  /** Returns one item of a list. */
  pick<T>(items: readonly T[]): T
  /** Returns a whole number from `min` to `max`, inclusive. */
  integer(min: number, max: number): number
  /** Returns true with the given probability. */
  chance(probability: number): boolean
  /** Returns the day that is `days` before the sample's own, as `YYYY-MM-DD`. */
  daysAgo(days: number): string
}

/** Creates random choices from a seed; days count back from `now`. */
export async function createSeededRandom(seed: number, now: number): Promise<SeededRandom> {
  const { Faker, base, de, en, es, fr, nl, sv } = await import('@faker-js/faker')
  const faker = new Faker({ locale: [en, base], seed })
  const others = new Map(
    Object.entries({ de, es, fr, nl, sv }).map(([language, locale], at) => [
      language,
      new Faker({ locale: [locale, en, base], seed: seed + at + 1 }),
    ]),
  )
  const integer = (min: number, max: number) => faker.number.int({ min, max })
  return {
    faker,
    integer,
    namesIn: (language) => others.get(language) ?? faker,
    pick: (items) => faker.helpers.arrayElement(items),
    chance: (probability) => faker.number.float() < probability,
    daysAgo: (days) => new Date(now - days * 86_400_000).toISOString().slice(0, 10),
  }
}
