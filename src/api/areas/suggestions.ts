import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'

export const shapes = field.declare({
  'titles.suggest': () => ({
    input: { job_titles: field.some(field.text('Job title'), 'Job titles to vary', 100) },
    output: () => ({
      suggestions: value.objects('Suggestions; empty when there are none', {
        jobTitle: value.string('A title to include, or a keyword to exclude'),
        selectionType: field.describe(z.enum(['INCLUDED', 'EXCLUDED']), 'Which of the two'),
      }),
    }),
  }),
  'locations.find': () => ({
    input: {
      name: field.text('Name of a place'),
      source: field
        .oneOf(
          ['live', 'database', 'hiring'],
          'live: premium search tool (needs its session); database: countries, regions, cities; hiring: job signals',
        )
        .default('live'),
    },
    output: () =>
      value.objects('Places, best match first, 20 at most', {
        id: value.string('Id, as filters take it'),
        name: value.string('Name'),
        kind: field.describe(z.enum(['country', 'region', 'city']), 'Kind of place (database)').optional(),
        context: value.string('The place in words (database)').optional(),
        display_name: value.string('Full name (hiring)').optional(),
        country_code: value.string('ISO 3166-1 alpha-2 code of the country (hiring)').optional(),
      }),
  }),
})
