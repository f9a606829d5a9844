import type { Connection } from '../../storage/driver/connection.js'
import type { Kind } from '../kinds/kind.js'
import type { Employer } from '../records/write-employer.js'
import { answered, type Steps } from '../write/sync-steps.js'
import type { Ahead } from '../write/write-context.js'
import type { Prepared, PreparedRecord } from './prepare.js'

/** Records of a transaction, where each answer takes its time. */
export const recordsAhead = 500

/** A column with the values that records will be looked up by. */
type Lookups = ReadonlyMap<string, Set<string>>

/** Asks for all that records will be looked up by, in a few questions that go out together. */
export function* lookAhead(
  connection: Connection,
  kind: Kind,
  records: readonly PreparedRecord[],
): Steps<Ahead> {
  const lookups = lookupsOf(kind, records)
  const questions = [...lookups].map(async ([place, values]) => {
    const [table = '', column = ''] = place.split(' ')
    const sql = `SELECT ${column} AS value, min(key) AS key FROM ${table}
      WHERE ${column} IN (SELECT value FROM json_each(?)) GROUP BY ${column}`
    const rows = await connection.all<{ value: string; key: number }>(sql, JSON.stringify([...values]))
    return [place, new Map(rows.map(({ value, key }) => [value, key]))] as const
  })
  const there = new Map(yield* answered(Promise.all(questions)))
  const noted = new Set<string>()
  const isThere = (place: string, value: string): boolean =>
    !lookups.get(place)?.has(value) || there.get(place)?.has(value) === true || noted.has(`${place} ${value}`)
  return {
    mayHold(table, column, value) {
      // People are looked up by company and name together.
      const isPlaced = table === 'people' && column === 'company'
      return isPlaced ? isThere('people name', nameOf(value)) : isThere(`${table} ${column}`, value)
    },
    note(table, column, value) {
      const isPlaced = table === 'people' && column === 'company'
      noted.add(isPlaced ? `people name ${nameOf(value)}` : `${table} ${column} ${value}`)
    },
    keyAt: (domain) => there.get('companies domain')?.get(domain),
  }
}

/** The name of somebody in what they are looked up by, behind the key of their company. */
const nameOf = (placed: string): string => placed.slice(placed.indexOf(' ') + 1)

function lookupsOf(kind: Kind, records: readonly PreparedRecord[]): Lookups {
  const lookups = new Map<string, Set<string>>()
  const add = (place: string, value: string | null | undefined) => {
    if (value === null || value === undefined || value === '') return
    const known = lookups.get(place)
    if (known) known.add(value)
    else lookups.set(place, new Set([value]))
  }
  const addEmployer = ({ company_domain }: Employer) => add('companies domain', company_domain)
  for (const { record } of records) {
    if (kind === 'companies') {
      const { row, profiles } = record as Prepared['companies']
      add('companies domain', row.domain)
      for (const { id, slug } of profiles)
        if (id === undefined) add('companies slug', slug)
        else add('companies network_id', id)
    } else if (kind === 'people') {
      const { id, slug, email, name, employer } = record as Prepared['people']
      add('people network_id', id)
      add('people slug', slug)
      add('people email', email)
      add('people name', name)
      addEmployer(employer)
    } else if (kind === 'jobs') {
      const { job, employer } = record as Prepared['jobs']
      add('jobs identity', job.job_url)
      addEmployer(employer)
    } else add('posts identity', (record as Prepared['posts']).identity)
  }
  return lookups
}
