import type {
  Awaitable,
  PageRequest,
  RecordOf,
  ResultPage,
  Search,
  SearchKind,
} from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
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

/** Returns how many records a search finds. */
export const countRecords = (connection: Connection, search: Search, now: number): Awaitable<number> =>
  (searchers[search.kind] as Searcher<SearchKind>).count(connection, search.filters, now)

/** Returns a page of the records that a search finds. */
export const findRecords = <K extends SearchKind>(
  connection: Connection,
  { kind, filters }: Search<K>,
  span: PageRequest,
): Awaitable<ResultPage<RecordOf<K>>> =>
  (searchers[kind] as unknown as Searcher<K>).find(connection, filters, span)
