import type { Connection } from '../../storage/driver/connection.js'
import type { RecordKind } from '../kinds/kind.js'
import { readTechnologies } from '../records/technologies.js'
import type { Employer } from '../records/write-employer.js'
import { awaitResult, type Steps } from '../write/sync-steps.js'
import type { Prefetched } from '../write/write-context.js'
import type { PreparedByKind, PreparedRecord } from './prepare.js'

/** Maximum number of records per transaction when lookups are prefetched. */
export const maxPrefetched = 500

/** The values to look up by column, as in `people email`. */
type KnownValues = ReadonlyMap<string, Set<string>>

/** Looks up everything that identifies records, with a few queries that are sent together. */
export function* prefetch(
  connection: Connection,
  kind: RecordKind,
  records: readonly PreparedRecord[],
): Steps<Prefetched> {
  const lookups = collectLookups(kind, records)
  const queries = [...lookups].map(async ([path, values]) => {
    const [table = '', column = ''] = path.split(' ')
    const sql = `SELECT ${column} AS value, min(key) AS key FROM ${table}
      WHERE ${column} IN (SELECT value FROM json_each(?)) GROUP BY ${column}`
    const rows = await connection.all<{ value: string; key: number }>(sql, JSON.stringify([...values]))
    return [path, new Map(rows.map(({ value, key }) => [value, key]))] as const
  })
  const reading = readTechnologies(connection, collectTechnologies(kind, records))
  const found = new Map(yield* awaitResult(Promise.all(queries)))
  const technologies = yield* awaitResult(reading)
  const written = new Set<string>()
  // The value of an employer is a company's key and a name; only the name was prefetched.
  const pathOf = (table: RecordKind, column: string, value: string): [path: string, value: string] =>
    table === 'people' && column === 'company'
      ? ['people name', value.slice(value.indexOf(' ') + 1)]
      : [`${table} ${column}`, value]
  return {
    mayExist(...looked) {
      const [path, value] = pathOf(...looked)
      const isKnown = found.get(path)?.has(value) || written.has(`${path} ${value}`)
      return isKnown || !lookups.get(path)?.has(value)
    },
    remember: (...looked) => void written.add(pathOf(...looked).join(' ')),
    technologies,
    companyKeyAt: (domain) => found.get('companies domain')?.get(domain),
  }
}

/** Returns the slugs of the technologies that companies use. */
const collectTechnologies = (kind: RecordKind, records: readonly PreparedRecord[]): ReadonlySet<string> =>
  new Set(
    kind === 'companies'
      ? records.flatMap(
          ({ record }) => (record as PreparedByKind['companies']).uses?.map(({ slug }) => slug) ?? [],
        )
      : [],
  )

function collectLookups(kind: RecordKind, records: readonly PreparedRecord[]): KnownValues {
  const lookups = new Map<string, Set<string>>()
  const add = (path: string, value: string | null | undefined) => {
    if (value === null || value === undefined || value === '') return
    const known = lookups.get(path)
    if (known) known.add(value)
    else lookups.set(path, new Set([value]))
  }
  const addEmployer = ({ company_domain }: Employer) => add('companies domain', company_domain)
  for (const { record } of records) {
    if (kind === 'companies') {
      const { row, profiles } = record as PreparedByKind['companies']
      add('companies domain', row.domain)
      for (const { id, slug } of profiles)
        if (id === undefined) add('companies slug', slug)
        else add('companies network_id', id)
    } else if (kind === 'people') {
      const { id, slug, email, name, employer } = record as PreparedByKind['people']
      add('people network_id', id)
      add('people slug', slug)
      add('people email', email)
      add('people name', name)
      addEmployer(employer)
    } else if (kind === 'jobs') {
      const { job, employer } = record as PreparedByKind['jobs']
      add('jobs identity', job.job_url)
      addEmployer(employer)
    } else add('posts identity', (record as PreparedByKind['posts']).identity)
  }
  return lookups
}
