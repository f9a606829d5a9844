import type { RecordOf, Search, SearchKind, Source } from '../../src/api/ports/ports.js'
import { stillClock } from './open.js'

/** All records of a search, by spans of the limits given in turns. Fails where a span is longer, or empty before the end. */
export async function walked<K extends SearchKind>(
  catalogue: Pick<Source, 'find'>,
  search: Search<K>,
  limits: readonly number[] = [25],
): Promise<RecordOf<K>[]> {
  const records: RecordOf<K>[] = []
  let after: string | undefined
  for (let turn = 0; ; turn += 1) {
    const limit = limits[turn % limits.length] ?? 1
    const found = await catalogue.find(search, { limit, after, now: stillClock.now() })
    if (found.records.length > limit) throw new Error(`${found.records.length} records instead of ${limit}`)
    records.push(...found.records)
    if (found.next === undefined) return records
    if (found.records.length < limit) throw new Error('a span that is not full, but not the last')
    after = found.next
  }
}
