import type { CompanyQuery } from '../../engine/ports/ports.js'
import type { Connection, Value } from '../../storage/driver/connection.js'
import { toDomain } from '../normalize/domain.js'
import { foldName } from '../normalize/name.js'
import { type Profile, parseProfile } from '../normalize/profile.js'

/** A company that may be meant. `name` is folded; `slug` and `network_id` are what its profile url says. */
export interface Candidate {
  readonly key: number
  readonly domain: string | null
  readonly network_id: string | null
  readonly slug: string | null
  readonly name: string | null
  readonly country: string | null
  readonly record: string
}

/** A query with its identifiers as they are compared; those that say nothing are missing. */
interface Wanted {
  /** The network's id, then the profile url. */
  readonly profiles: readonly Profile[]
  readonly domain: string | undefined
  readonly name: string | undefined
  readonly country: string | undefined
}

/** More companies than this at one profile url are a placeholder, not a company. */
const mostAtProfile = 100

const columns = 'SELECT key, domain, network_id, slug, name, country, record FROM companies WHERE'
const byDomain = `${columns} domain = ?`
const byId = `${columns} network_id = ? ORDER BY key LIMIT ${mostAtProfile}`
const bySlug = `${columns} slug = ? ORDER BY key LIMIT ${mostAtProfile}`
// A country is a part of a name. With a profile or domain unknown here, a company that has its own is another one.
const byName = `${columns} name = ? AND (CAST(? AS TEXT) IS NULL OR country IS NULL OR country = ?)
  AND (? = 0 OR slug IS NULL AND network_id IS NULL) AND (? = 0 OR domain IS NULL) LIMIT 2`

/**
 * The company that is meant, or nothing: rather nothing than the wrong one. The strongest identifier decides
 * (network id, profile url, then domain, then name with country); a weaker one chooses among its candidates and never
 * overrules it. Where a stronger one is unknown here, a weaker one finds only a company that has no value of
 * its own for it.
 */
export async function matchCompany(
  connection: Connection,
  query: CompanyQuery,
): Promise<Candidate | undefined> {
  const wanted = wantedOf(query)
  for (const [at, profile] of wanted.profiles.entries()) {
    const candidates = await connection.all<Candidate>(...atProfile(profile))
    if (candidates.length === mostAtProfile) return undefined
    const stronger = wanted.profiles.slice(0, at)
    const left = candidates.filter((company) => !hasOther(company, stronger))
    if (candidates.length > 0) return only(narrowed(left, wanted))
  }
  if (wanted.domain !== undefined) {
    const company = await connection.get<Candidate>(...atDomain(wanted.domain))
    if (company) return hasOther(company, wanted.profiles) ? undefined : company
  }
  if (wanted.name === undefined) return undefined
  return only(await connection.all<Candidate>(...atName(wanted.name, wanted)))
}

/** Asks for the company with a domain. */
export const atDomain = (domain: string): readonly [sql: string, domain: string] => [byDomain, domain]

/** Asks for the companies whose profile this is; several when their owner has several domains. */
export const atProfile = ({ id, slug }: Profile): readonly [sql: string, value: string | null] =>
  id === undefined ? [bySlug, slug ?? null] : [byId, id]

/** Asks for companies of a folded name, as long as nothing else that is known speaks against them: for two at most. */
export function atName(
  name: string,
  known: Partial<Wanted> = {},
): readonly [sql: string, ...values: Value[]] {
  const { profiles = [], domain, country = null } = known
  return [byName, name, country, country, profiles.length > 0 ? 1 : 0, domain === undefined ? 0 : 1]
}

function wantedOf(query: CompanyQuery): Wanted {
  const profile = query.url ? parseProfile(query.url) : undefined
  return {
    profiles: [
      ...(query.networkId ? [{ kind: 'company', id: query.networkId } as const] : []),
      ...(profile?.kind === 'company' ? [profile] : []),
    ],
    domain: query.domain ? toDomain(query.domain) : undefined,
    name: (query.name && foldName(query.name)) || undefined,
    country: query.country?.trim().toUpperCase() || undefined,
  }
}

/** Of several companies with one profile, those that the weaker identifiers speak for, one after the other. */
function narrowed(candidates: readonly Candidate[], wanted: Wanted): readonly Candidate[] {
  const says: readonly ((company: Candidate) => boolean)[] = [
    (company) => wanted.domain !== undefined && company.domain === wanted.domain,
    (company) => wanted.name !== undefined && company.name === wanted.name,
    (company) => wanted.country !== undefined && company.country === wanted.country,
  ]
  return says.reduce((left, speaks) => {
    const chosen = left.length > 1 ? left.filter(speaks) : left
    return chosen.length > 0 ? chosen : left
  }, candidates)
}

/**
 * Whether a company has a profile that is none of these, which did not find it. A name in a url and an id of the
 * network do not compare.
 */
const hasOther = (company: Candidate, profiles: readonly Profile[]): boolean =>
  profiles.some(({ id }) => (id === undefined ? company.slug : company.network_id) !== null)

const only = (companies: readonly Candidate[]): Candidate | undefined =>
  companies.length === 1 ? companies[0] : undefined
