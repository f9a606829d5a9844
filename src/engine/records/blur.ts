import type { OutputOf } from '../../api/areas/shapes.js'
import type { Account, TechnologiesFound } from '../ports/source.js'

/** A company of the free preview: what it does, where and with what, but not who it is. */
export type BlurredCompany = OutputOf<'intents.stack_preview'>['preview'][number]

/**
 * Blurs who a company is: of name, domain and addresses only the first character is left (`A•••`). The location is
 * city and country, since the words kept for it may hold a street and number.
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

/** The first letter or digit, and three bullets whatever the length; nothing stays nothing. */
const initialOf = (text: string | null): string | null =>
  text === null ? null : `${/[\p{L}\p{N}]/u.exec(text)?.[0] ?? ''}•••`

/** An address from its host on; every address begins alike before that. */
const withoutScheme = (url: string | null): string | null =>
  url?.trim().replace(/^[a-z][a-z\d+.-]*:\/\/(?:www\.)?/i, '') ?? null
