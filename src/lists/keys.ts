import type { Fields } from '../api/values/objects.js'
import { toCountryCode } from '../catalogue/normalize/country.js'
import { foldName } from '../catalogue/normalize/name.js'
import { type NetworkProfile, parseProfile } from '../catalogue/normalize/profile.js'
import { firstText, foldFullName, toCompanyDomain } from '../catalogue/normalize/value-kinds.js'
import { hashOf } from '../csv/identity-filter.js'

/** What the rows of a list are about. */
export type ListKind = 'companies' | 'people'

/** Hashes of what identifies a row, in the order of `keyColumns`; null for what it does not say. */
export type RowKeys = readonly (bigint | null)[]

/** One way to find a row: by equal values of a column, unless another column says that it is someone else. */
interface Lookup {
  /** The word for it in `_match_by`. */
  readonly by: string
  readonly column: string
  /** Columns that identify more surely. Where both rows have one and they differ, the match is in doubt. */
  readonly contradicted: readonly string[]
  /** Whether equal values alone do not identify: the rows that have them must not contradict each other. */
  readonly isName?: true
  /** A column that both rows must have for a certain match, and that must be equal for any. */
  readonly within?: string
}

export const keyColumns = {
  companies: ['domain', 'slug', 'id', 'name', 'country'],
  people: ['email', 'slug', 'id', 'at_domain', 'at_company', 'domain'],
} as const satisfies Record<ListKind, readonly string[]>

/** How rows are found, the first way that decides first. */
export const lookups: Readonly<Record<ListKind, readonly Lookup[]>> = {
  companies: [
    { by: 'domain', column: 'domain', contradicted: ['slug', 'id'] },
    { by: 'profile', column: 'slug', contradicted: ['id'] },
    { by: 'network_id', column: 'id', contradicted: [] },
    { by: 'name', column: 'name', contradicted: ['domain', 'slug', 'id'], isName: true, within: 'country' },
  ],
  people: [
    { by: 'email', column: 'email', contradicted: ['slug', 'id'] },
    { by: 'profile', column: 'slug', contradicted: ['id'] },
    { by: 'profile', column: 'id', contradicted: [] },
    { by: 'name', column: 'at_domain', contradicted: ['slug', 'id'], isName: true },
    { by: 'name', column: 'at_company', contradicted: ['slug', 'id', 'domain'], isName: true },
  ],
}

/**
 * Returns a reader of the keys of a row or record, whose fields may have the names of any operation. A person with a second
 * email address has one set of keys for each.
 */
export const keyReader = (kind: ListKind): ((fields: Fields) => readonly RowKeys[]) => {
  if (kind === 'people') return personKeys
  const codes = new Map<string, string | undefined>()
  return (fields) => [companyKeys(fields, codes)]
}

/** Countries are few, and reading their names is slow. */
const maxCountries = 10_000

function companyKeys(fields: Fields, codes: Map<string, string | undefined>): RowKeys {
  const name = firstText(fields.company_name, fields.name)
  const { slug, id } = profileIn('company', fields.company_network_url, fields.network_url)
  const country = firstText(fields.country, fields.country_code)
  if (country !== undefined && !codes.has(country) && codes.size < maxCountries)
    codes.set(country, toCountryCode(country))
  return [
    keyOf(domainIn(fields, name)),
    keyOf(slug),
    keyOf(firstText(fields.company_network_id, fields.network_id) ?? id),
    keyOf(name && foldName(name)),
    keyOf(country && codes.get(country)),
  ]
}

function personKeys(fields: Fields): readonly RowKeys[] {
  const urls = [fields.network_url, fields.network_profile_url, fields.linkedin_url]
  const { slug, id } = profileIn('person', ...urls, fields.premium_profile_url)
  const name = foldFullName(fields)
  const company = firstText(fields.company_name)
  const domain = domainIn({ domain: fields.company_domain ?? fields.domain }, company)
  const folded = company === undefined ? '' : foldName(company)
  const others = [
    ...[keyOf(slug), keyOf(id)],
    name === '' || domain === undefined ? null : keyOf(`${name}\n${domain}`),
    name === '' || folded === '' ? null : keyOf(`${name}\n${folded}`),
    keyOf(domain),
  ]
  const email = keyOf(emailIn(fields.email))
  const personal = keyOf(emailIn(fields.personal_email))
  const one = [email ?? personal, ...others]
  return email !== null && personal !== null && personal !== email ? [one, [personal, ...others]] : [one]
}

function domainIn({ domain, company_domain: other }: Fields, name?: string): string | undefined {
  const site = firstText(domain, other)
  return site === undefined ? undefined : toCompanyDomain(site, name)
}

/** Returns the slug and the id in profile URLs of a kind: a person may have a regular and a premium one. */
function profileIn(kind: NetworkProfile['kind'], ...urls: readonly unknown[]) {
  const found: { slug?: string; id?: string } = {}
  for (const url of urls) {
    const profile = typeof url === 'string' && url !== '' ? parseProfile(url) : undefined
    if (profile?.kind !== kind) continue
    if (profile.slug !== undefined) found.slug ??= profile.slug
    if (profile.id !== undefined) found.id ??= profile.id
  }
  return found
}

function emailIn(value: unknown): string | undefined {
  const text = firstText(value)?.toLowerCase()
  const address = text?.includes('<') ? /<([^<>]+)>/.exec(text)?.[1] : text?.replace(/^mailto:/, '')
  return address !== undefined && /^[^\s@]+@[^\s@]+$/.test(address) ? address : undefined
}

const halves = new Uint32Array(2)
const joined = new BigInt64Array(halves.buffer)

/** Returns the 64-bit hash of a text; null where there is none. */
function keyOf(text: string | undefined): bigint | null {
  if (text === undefined || text === '') return null
  halves.set(hashOf(text))
  return joined[0] ?? null
}
