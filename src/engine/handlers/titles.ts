import { plainTitle, suggestTitles } from '../titles/suggest.js'
import type { Handler } from './handler.js'

/** Most titles that people hold, for each title asked. */
const most = 10

/** `POST /job_title_suggestions`: from a curated vocabulary, and from the titles that people hold. */
export const suggest: Handler<'titles.suggest'> = async ({ input, source }) => {
  const asked = [...new Set(input.job_titles.map(plainTitle))]
  const held: string[] = []
  for (const title of asked) held.push(...(await source.titlesLike(title, most)))
  return { output: { suggestions: suggestTitles(input.job_titles, held) } }
}
