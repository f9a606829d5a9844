import { ApiError } from '../../api/calls/errors.js'
import type { PageRequest, RecordOf, ResultPage, Search, SearchKind } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { companySearch } from './companies.js'
import { engagers } from './engagers.js'
import { growthSearch } from './growth.js'
import { hiringSearch } from './hiring.js'
import { lookalikes } from './lookalikes.js'
import { peopleSearch } from './people.js'
import type { Searcher } from './search-kind.js'
import { stackSearch } from './stack.js'

const searchers: { readonly [K in SearchKind]: Searcher<K> } = {
  companies: companySearch,
  people: peopleSearch,
  stack: stackSearch,
  hiring: hiringSearch,
  growth: growthSearch,
  lookalikes,
  engagers,
}

/** Returns the searcher of a kind. Throws `busy` while an index is missing that it requires. */
async function searcherOf<K extends SearchKind>(connection: Connection, kind: K): Promise<Searcher<K>> {
  const searcher = searchers[kind] as unknown as Searcher<K>
  const { indexes } = searcher
  if (indexes && !(await dialectOf(connection).search.hasIndexes(connection, indexes)))
    throw new ApiError('busy')
  return searcher
}

export const countRecords = async (connection: Connection, search: Search, now: number): Promise<number> =>
  (await searcherOf<SearchKind>(connection, search.kind)).count(connection, search.filters, now)

export const findRecords = async <K extends SearchKind>(
  connection: Connection,
  { kind, filters }: Search<K>,
  span: PageRequest,
): Promise<ResultPage<RecordOf<K>>> => (await searcherOf(connection, kind)).find(connection, filters, span)
