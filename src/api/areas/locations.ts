import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'

/** Schemas of the area `locations`. */
export const locations = {
  'locations.find': () => ({
    input: z.object({
      name: field.text('Name of a place'),
      source: field
        .oneOf(
          ['live', 'database', 'hiring'],
          'live: premium search tool (needs its session); database: countries, regions, cities; hiring: job signals',
        )
        .default('live'),
    }),
    output: field.describe(
      z.array(
        z.object({
          id: value.string('Id, as filters take it'),
          name: value.string('Name'),
          kind: field.describe(z.enum(['country', 'region', 'city']), 'Kind of place (database)').optional(),
          context: value.string('The place in words (database)').optional(),
          display_name: value.string('Full name (hiring)').optional(),
          country_code: value.string('ISO 3166-1 alpha-2 code of the country (hiring)').optional(),
        }),
      ),
      'Places, best match first, 20 at most',
    ),
  }),
} as const
