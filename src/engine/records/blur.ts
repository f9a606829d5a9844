import type { OutputOf } from '../../api/areas/shapes.js'
import type { Account, TechnologiesFound } from '../ports/source.js'

/** A company of the free preview: what it does, where and with what, but not who it is. */
type BlurredCompany = OutputOf<'intents.stack_preview'>['preview'][number]

/**
 * Blurs the identity of a company: name, domain and URLs keep only their first character (`A•••`). The location
 * becomes city and country, because its own text may contain a street.
 */
export function blurCompany(account: Account, technologiesFound: TechnologiesFound): BlurredCompany {
  const { city, country } = account
  return {
    name: initialOf(account.name),
    domain: initialOf(account.domain),
    website: initialOf(withoutScheme(account.website)),
    industry: account.industry,
    location: [city, country].filter((part) => part !== null).join(', ') || null,
    city,
    country,
    network_url: initialOf(withoutScheme(account.network_url)),
    technologies_found: [...technologiesFound],
  }
}

/** Returns the first letter or digit and three bullets, whatever the length; null stays null. */
const initialOf = (text: string | null): string | null =>
  text === null ? null : `${/[\p{L}\p{N}]/u.exec(text)?.[0] ?? ''}•••`

/** Returns a URL without its scheme and `www.`, which all URLs share. */
const withoutScheme = (url: string | null): string | null =>
  url?.trim().replace(/^[a-z][a-z\d+.-]*:\/\/(?:www\.)?/i, '') ?? null
