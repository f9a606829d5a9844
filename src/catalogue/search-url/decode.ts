import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../api/calls/errors.js'
import { bounds, wrongSearchUrl } from '../../api/schemas/fields.js'
import { type SearchPage, searchPageOf } from '../../api/values/network-url.js'
import type { DecodedSearch } from '../../engine/ports/ports.js'
import { parseProfile } from '../normalize/profile.js'
import { type Asks, filtersFor, refused } from './filters.js'
import { BrokenQuery } from './grammar.js'
import { asksOfPlain } from './plain.js'
import { asksOfPremium } from './premium.js'
import { writeSearchUrl } from './write.js'

type Kind = DecodedSearch['kind']

/**
 * The search that a search url of the network stands for, premium or plain, as people paste it. 400 for the url of
 * anything else, 422 for a search with a filter that cannot be honoured, or with none.
 */
export function searchAt(url: string, of: Kind): DecodedSearch {
  const page = url.length <= bounds.searchUrl ? searchPageOf(url) : undefined
  if (page?.of !== of) throw wrongUrl(of)
  const filters = filtersFor(asksOf(page), of)
  if (Object.keys(filters).length > 0) return { kind: of, filters } as DecodedSearch
  throw refused(
    'it has no filter and no keyword; open the search, wait for its results, and copy the address then',
  )
}

const wrongUrl = (of: Kind, why = ''): ApiError =>
  new ApiError('bad_request', { reason: `search_url ${wrongSearchUrl(of)}${why}` })

function asksOf(page: SearchPage): Asks {
  try {
    return page.premium ? asksOfPremium(page) : asksOfPlain(page)
  } catch (error) {
    if (error instanceof BrokenQuery) throw wrongUrl(page.of, '; its query is cut off or broken')
    throw error
  }
}

/**
 * The premium url of a search on the network; null where it has filters that urls do not have. What a url says is
 * read back, so that it never opens another search.
 */
export function urlOf({ kind, filters }: DecodedSearch): string | null {
  const given = givenIn(filters)
  const url = writeSearchUrl(kind, given)
  try {
    return isDeepStrictEqual(searchAt(url, kind).filters, given) ? url : null
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

type Filters = Extract<DecodedSearch, { kind: 'people' }>['filters']

/** Filters without those that say nothing; the one company whose people are meant is a filter by its number. */
function givenIn({ company, ...others }: Filters): Readonly<Record<string, unknown>> {
  const number = company?.networkId ?? (company?.url && parseProfile(company.url)?.id)
  const employer =
    company && number && !others.included_companies?.length ? { included_companies: [number] } : { company }
  const saysNothing = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(
    Object.entries({ ...others, ...employer }).filter(([, value]) => !saysNothing(value)),
  )
}
