import type { Catalogue } from '../catalogue.js'
import type { ImportReport } from '../import/report.js'
import type { Given, Kind } from '../kinds/kind.js'
import { sampleCompanies } from './companies.js'
import { sampleJobs, samplePosts } from './jobs.js'
import { samplePeople } from './people.js'
import { createSeededRandom, type SampleCompany } from './random.js'

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
  const dice = await createSeededRandom(seed, now)
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
