import type { Faker } from '@faker-js/faker'

/** A company of the sample as people, jobs and posts need to know it. */
export interface SampleCompany {
  readonly name: string
  readonly domain: string
  readonly country: string
  readonly city: string
  readonly headcount: number
}

/** Chance and invented names, both from one seed. */
export interface SeededRandom {
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

/** Chance from a seed, for data that leads up to a moment. */
export async function createSeededRandom(seed: number, now: number): Promise<SeededRandom> {
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
