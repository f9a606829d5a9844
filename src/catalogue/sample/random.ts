/** What people, jobs and posts of the sample need of a company. */
export interface SampleCompany {
  readonly name: string
  readonly domain: string
  readonly country: string
  readonly city: string
  readonly headcount: number
}

/** Random choices and invented names, all from one seed. */
export type SeededRandom = Awaited<ReturnType<typeof createSeededRandom>>

/** Creates random choices from a seed; days count back from `now`. */
export async function createSeededRandom(seed: number, now: number) {
  const { Faker, base, de, en, es, fr, nl, sv } = await import('@faker-js/faker')
  const faker = new Faker({ locale: [en, base], seed })
  const others = new Map(
    Object.entries({ de, es, fr, nl, sv }).map(([language, locale], at) => [
      language,
      new Faker({ locale: [locale, en, base], seed: seed + at + 1 }),
    ]),
  )
  return {
    faker,
    /** Returns the generator of names in a language; of English ones when it is unknown. */
    namesIn: (language: string) => others.get(language) ?? faker,
    /** Returns one item of a list. */
    pick: <T>(items: readonly T[]): T => faker.helpers.arrayElement(items),
    /** Returns a whole number from `min` to `max`, inclusive. */
    integer: (min: number, max: number) => faker.number.int({ min, max }),
    /** Returns true with the given probability. */
    chance: (probability: number) => faker.number.float() < probability,
    /** Returns the day that is `days` before the sample's own, as `YYYY-MM-DD`. */
    daysAgo: (days: number) => new Date(now - days * 86_400_000).toISOString().slice(0, 10),
  }
}
