import type { Connection } from '../../storage/driver/connection.js'
import { inTexts } from '../full-text/match.js'
import { allOf, phrase, within } from '../full-text/text-query.js'
import { foldText } from '../normalize/name.js'

/** Holders looked at: enough to see what is usual, few enough to be quick among millions. */
const looked = 2_000
/** Words of a title that are looked for. */
const words = 12

/** Titles that people hold and that have all words of the given one, most frequent first. */
export async function titlesLike(connection: Connection, title: string, limit: number): Promise<string[]> {
  const wanted = title.match(/[\p{L}\p{N}]+/gu)?.slice(0, words)
  if (!wanted) return []
  const query = within(['title'], allOf(wanted.map(phrase)))
  const [holds, match = null] = inTexts(connection, 'people', query, 'many')
  const rows = await connection.all<{ title: string | null }>(holding(connection, holds), match, looked)
  return mostFrequent(
    rows.flatMap(({ title: held }) => held ?? []),
    limit,
  )
}

/** In the order of keys: of titles that are one, the spelling that comes first counts. */
const holding = ({ dialect }: Connection, holds: string): string =>
  dialect === 'sqlite'
    ? `SELECT json_extract(record, '$.title') AS title FROM people WHERE ${holds.replace(/\)$/, ' LIMIT ?)')}`
    : `SELECT json_extract(record, '$.title') AS title
        FROM (SELECT key, record FROM people WHERE ${holds} ORDER BY key LIMIT ?) AS held ORDER BY key`

/** Titles that differ in case and accents only are one, in the spelling that comes first. */
function mostFrequent(titles: readonly string[], limit: number): string[] {
  const counts = new Map<string, { readonly title: string; count: number }>()
  for (const title of titles) {
    const known = counts.get(foldText(title))
    if (known) known.count++
    else counts.set(foldText(title), { title, count: 1 })
  }
  return [...counts.values()]
    .sort((a, b) => b.count - a.count || a.title.localeCompare(b.title, 'en'))
    .slice(0, limit)
    .map(({ title }) => title)
}
