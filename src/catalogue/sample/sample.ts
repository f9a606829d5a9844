import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { ApiError } from '../../api/calls/errors.js'
import { dayMs } from '../../api/values/dates.js'
import type { Fields } from '../../api/values/objects.js'
import type { Catalogue } from '../catalogue.js'
import type { ImportReport } from '../import/import.js'
import type { RecordKind } from '../kinds/kind.js'

interface SampleOptions {
  /** Number of companies, all 500 by default; never fewer than the hand-written ones. */
  readonly companies?: number
  /** Number of people, all 5,000 by default. */
  readonly people?: number
  /** The latest date in the data, in milliseconds since 1970. */
  readonly now: number
}

const handWritten = 25

/** Returns invented companies, people, jobs and posts: no person or company is real. `scripts/sample.js` made them. */
export function readSample({ companies = 500, people = 5_000, now }: SampleOptions) {
  const [head = '{}', ...lines] = brotliDecompressSync(readFileSync(findFile()))
    .toString()
    .trimEnd()
    .split('\n')
  const days = Math.floor((now - (JSON.parse(head) as { made: number }).made) / dayMs)
  const shifted = (text: string) =>
    text.replace(/(?<=")\d{4}-\d\d-\d\d(?=["T])/g, (day) =>
      new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10),
    )
  const all: Record<RecordKind, Fields[]> = { companies: [], people: [], jobs: [], posts: [] }
  for (const line of lines) {
    const [kind, record] = JSON.parse(shifted(line)) as [RecordKind, Fields]
    all[kind].push(record)
  }
  const chosen = all.companies.slice(0, Math.max(handWritten, companies))
  const domains = new Set(chosen.map(({ domain }) => domain))
  const isThere = ({ company_domain }: Fields) => domains.has(company_domain)
  const staff = all.people.filter(isThere).slice(0, people)
  const profiles = new Set(staff.map(({ network_profile_url }) => network_profile_url))
  const posts = all.posts.filter(({ author_profile_url }) => profiles.has(author_profile_url))
  return { companies: chosen, people: staff, jobs: all.jobs.filter(isThere), posts }
}

/** Imports the sample into a catalogue; records with the same keys are updated. */
export async function loadSample(
  catalogue: Pick<Catalogue, 'importRecords'>,
  options: SampleOptions,
): Promise<Readonly<Record<RecordKind, ImportReport>>> {
  const sample = readSample(options)
  return {
    companies: await catalogue.importRecords('companies', sample.companies, 'sample'),
    people: await catalogue.importRecords('people', sample.people, 'sample'),
    jobs: await catalogue.importRecords('jobs', sample.jobs, 'sample'),
    posts: await catalogue.importRecords('posts', sample.posts, 'sample'),
  }
}

/** Returns the path of the file: beside the program, above the library's chunks, or beside this one. */
function findFile(): string {
  const path = ['./sample.ndjson.br', '../sample.ndjson.br']
    .map((one) => fileURLToPath(new URL(one, import.meta.url)))
    .find(existsSync)
  if (path === undefined)
    throw new ApiError('storage_failed', { reason: 'the sample is missing: install the program again' })
  return path
}
