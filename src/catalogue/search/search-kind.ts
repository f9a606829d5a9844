import type { Awaitable, Found, RecordOf, Searches, SearchKind, Span } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'

/** How one kind of search is answered from the catalogue. Filters that cannot be honoured are refused by name (422). */
export interface Finder<K extends SearchKind> {
  /** How many records match; days count up to `now`. */
  count(connection: Connection, filters: Searches[K]['filters'], now: number): Awaitable<number>
  /** A span of them, always in the same order. */
  find(connection: Connection, filters: Searches[K]['filters'], span: Span): Awaitable<Found<RecordOf<K>>>
}
