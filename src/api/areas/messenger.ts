import * as z from 'zod'
import * as list from '../schemas/arrays.js'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import { exactlyOne } from '../schemas/rules.js'

/** Schemas of the area `messenger`. */
export const messenger = {
  'messenger.validate': () => ({
    input: z
      .object({
        phone_numbers: list
          .some(field.phone('Phone number'), '1 to 100 phone numbers in E.164', 100)
          .optional(),
        phone_number: field.phone('One phone number in E.164').optional(),
      })
      .check(exactlyOne('phone_numbers', 'phone_number')),
    output: z.object({
      results: field.describe(
        z.array(
          z.object({
            phone_number: value.string('Phone number in E.164'),
            reachable: value.yesNo('Whether the messaging app reaches it'),
            checked_at: value.moment('When it was checked'),
          }),
        ),
        'One result for each number, in the order given',
      ),
    }),
  }),
} as const
