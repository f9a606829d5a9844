import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { allOf, phrase, within } from '../full-text/text-query.js'
import { foldText } from '../normalize/name.js'

/** Maximum number of people read: enough to see what is usual, few enough to be quick among millions. */
const maxHolders = 2_000
/** Maximum number of words of a title that are searched for. */
const maxWords = 12

/** Returns titles of people that have all words of the given one, the most frequent first. */
export async function findTitles(connection: Connection, title: string, limit: number): Promise<string[]> {
  const wanted = title.match(/[\p{L}\p{N}]+/gu)?.slice(0, maxWords)
  if (!wanted) return []
  const query = within(['title'], allOf(wanted.map(phrase)))
  const [sql, ...values] = dialectOf(connection).search.firstTitles(query, maxHolders)
  const rows = await connection.all<{ title: string | null }>(sql, ...values)
  return sortByFrequency(
    rows.flatMap(({ title: held }) => held ?? []),
    limit,
  )
}

/** Titles that differ only in case and accents are one, in the spelling that comes first. */
function sortByFrequency(titles: readonly string[], limit: number): string[] {
  const counts = new Map<string, { readonly title: string; count: number }>()
  // Thousands of holders have a few titles: each spelling is folded once.
  const spellings = new Map<string, number>()
  for (const title of titles) spellings.set(title, (spellings.get(title) ?? 0) + 1)
  for (const [title, count] of spellings) {
    const folded = foldText(title)
    const known = counts.get(folded)
    if (known) known.count += count
    else counts.set(folded, { title, count })
  }
  return [...counts.values()]
    .sort((a, b) => b.count - a.count || a.title.localeCompare(b.title, 'en'))
    .slice(0, limit)
    .map(({ title }) => title)
}
