import type { Handler } from '../handler.js'
import { suggestTitles } from '../titles.js'

/** `POST /job_title_suggestions`: from a curated vocabulary. */
export const suggest: Handler<'titles.suggest'> = ({ input }) => ({
  output: { suggestions: suggestTitles(input.job_titles) },
})
