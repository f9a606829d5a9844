import { cleanTitle, suggestTitles } from '../titles/suggest.js'
import type { HandlersOf } from './handler.js'

export const titles: HandlersOf<'titles'> = {
  /** `POST /job_title_suggestions`: from a curated vocabulary, and from the titles that people hold. */
  'titles.suggest': async ({ input, source }) => {
    const asked = [...new Set(input.job_titles.map(cleanTitle))]
    const held: string[] = []
    for (const title of asked) held.push(...(await source.titlesLike(title, most)))
    return { output: { suggestions: suggestTitles(input.job_titles, held) } }
  },
}

export const locations: HandlersOf<'locations'> = {
  'locations.find': async ({ input, source }) => ({
    output: [...(await source.locations(input.name, input.source))],
  }),
}

/** Most titles that people hold, for each title asked. */
const most = 10
