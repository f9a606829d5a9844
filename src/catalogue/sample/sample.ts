import type { Catalogue } from '../catalogue.js'
import type { ImportReport } from '../import/report.js'
import type { RawRecord, RecordKind } from '../kinds/kind.js'
import { sampleCompanies } from './companies.js'
import { sampleJobs, samplePosts } from './jobs.js'
import { samplePeople } from './people.js'
import { createSeededRandom, type SampleCompany } from './random.js'

/** The amount and seed of sample data. The same values give the same data. */
interface SampleOptions {
  /** Number of companies, 500 by default; never fewer than the hand-written ones. */
  readonly companies?: number
  /** Number of people, 5,000 by default. */
  readonly people?: number
  readonly seed?: number
  /** The latest date in the data, in milliseconds since 1970. */
  readonly now: number
}

/** Records of the sample by kind. Read each once, in this order. */
export type Sample = Readonly<Record<RecordKind, Iterable<RawRecord>>>

/**
 * Invents companies, people, jobs and posts. Domains are reserved ones (`.example`), phone numbers come from ranges reserved
 * for fiction, and no person or company is real.
 */
export async function sampleData({
  companies = 500,
  people = 5_000,
  seed = 1,
  now,
}: SampleOptions): Promise<Sample> {
  const random = await createSeededRandom(seed, now)
  const made: SampleCompany[] = []
  const profiles: string[] = []
  return {
    companies: sampleCompanies(random, companies, made),
    people: samplePeople(random, people, made, profiles),
    jobs: sampleJobs(random, made),
    posts: samplePosts(random, profiles),
  }
}

/** Imports sample data into a catalogue; records with the same keys are updated. */
export async function loadSample(
  catalogue: Pick<Catalogue, 'importRecords'>,
  options: SampleOptions,
): Promise<Readonly<Record<RecordKind, ImportReport>>> {
  const sample = await sampleData(options)
  return {
    companies: await catalogue.importRecords('companies', sample.companies, 'sample'),
    people: await catalogue.importRecords('people', sample.people, 'sample'),
    jobs: await catalogue.importRecords('jobs', sample.jobs, 'sample'),
    posts: await catalogue.importRecords('posts', sample.posts, 'sample'),
  }
}
