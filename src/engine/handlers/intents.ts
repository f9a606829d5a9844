import type { OutputOf } from '../../api/areas/shapes.js'
import type { Account, TechnologiesFound } from '../../api/ports/ports.js'
import type { HandlersOf } from './handler.js'
import {
  filtersOf,
  previewCompanies,
  previewPeople,
  previewSize,
  searchFor,
  startImport,
  startPaidImport,
} from './imports.js'

export const intents: HandlersOf<'intents'> = {
  /** `POST /intents/accounts/stack/preview`: an exact count, and companies that cannot be recognised. */
  'intents.stack_preview': async ({ input, now, source }) => {
    const search = searchFor('stack', input)
    const total_count = await source.count(search, now)
    const { records } =
      total_count === 0 ? { records: [] } : await source.find(search, { limit: previewSize, now })
    const preview = records.map(({ account, technologies_found }) => blurCompany(account, technologies_found))
    return { output: { total_count, preview } }
  },
  'intents.stack': (context) =>
    startPaidImport(context, searchFor('stack', filtersOf(context.input)), 'Tech stack', 'total_count'),
  'intents.hiring': (context) =>
    startPaidImport(context, searchFor('hiring', filtersOf(context.input)), 'Hiring', 'preview_count'),
  'intents.growth': async (context) => {
    const search = searchFor('growth', filtersOf(context.input))
    return startImport(context, search, 'Growth', await previewCompanies(context, search))
  },
  'intents.lookalikes': async (context) => {
    const search = searchFor('lookalikes', filtersOf(context.input))
    return startImport(context, search, 'Lookalikes', await previewCompanies(context, search))
  },
  'intents.post_engagers': async (context) => {
    const search = searchFor('engagers', filtersOf(context.input))
    return startImport(context, search, 'Post engagers', await previewPeople(context, search))
  },
}

/**
 * Returns a company of the free preview: what it does, where and with what, but not who it is. Of name, domain and URLs only
 * the first character stays (`A•••`). The location becomes city and country, because its own text may contain a street.
 */
export function blurCompany(
  account: Account,
  technologiesFound: TechnologiesFound,
): OutputOf<'intents.stack_preview'>['preview'][number] {
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
