import * as z from 'zod'
import * as list from '../schemas/arrays.js'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'

/** Schemas of the area `titles`. */
export const titles = {
  'titles.suggest': () => ({
    input: z.object({ job_titles: list.some(field.text('Job title'), 'Job titles to vary', 100) }),
    output: z.object({
      suggestions: field.describe(
        z.array(
          z.object({
            jobTitle: value.string('A title to include, or a keyword to exclude'),
            selectionType: field.describe(z.enum(['INCLUDED', 'EXCLUDED']), 'Which of the two'),
          }),
        ),
        'Suggestions; empty when there are none',
      ),
    }),
  }),
} as const
