import * as z from 'zod'
import * as field from '../schemas/fields.js'
import * as value from '../schemas/output-fields.js'
import * as record from '../schemas/records.js'
import { foundCompany } from '../webhooks/events.js'

const states = [
  'NOT_STARTED',
  'ONGOING',
  'FINISHED',
  'RATE_LIMITED',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'ERROR',
] as const

/** What an import of people is answered with, when it has ended: the record of each person. */
export const foundPeople = () =>
  z.object({
    truncated: value.yesNo('Whether the daily quota ended the search early'),
    people: z.array(record.leadAndCompany()),
  })

export const shapes = field.declare({
  'searches.list': () => ({
    input: {
      enriched: field
        .describe(z.boolean(), 'Only searches whose leads carry an email address or phone; false for all')
        .default(true),
      ...field.pages(),
    },
    checks: [field.cursorOrPage()],
    output: () => ({
      searches: value.objects('Saved searches, newest first', {
        id: value.uuid('Identifier'),
        name: value.string('Name'),
        leads_count: value.count('Number of leads'),
        created_at: value.moment('When it was created'),
      }),
      pagination: record.pagination(),
    }),
  }),
  'searches.get': () => ({
    input: {
      id: field.pathId('Identifier of the search'),
      status: field.oneOf(['qualified', 'disqualified'], 'Only leads of this status').optional(),
      ...field.pages(),
    },
    checks: [field.cursorOrPage()],
    output: () => ({
      search: value.object('The search', {
        id: value.uuid('Identifier'),
        name: value.string('Name'),
        created_at: value.moment('When it was created'),
        status: field.describe(z.enum(states), 'Status of the search'),
        leads_count: value.count('Number of leads; absent in a company search').optional(),
        accounts_count: value.count('Number of companies; only in a company search').optional(),
        truncated: value.yesNo('Whether a quota or the credits ended it'),
        error: value.string('Why it failed; absent where it did not').optional(),
      }),
      leads: value
        .list(record.leadAndCompany(), 'Its leads in the order found; absent in a company search')
        .optional(),
      accounts: value
        .list(foundCompany(), 'Its companies in the order found; only in a company search')
        .optional(),
      pagination: record.pagination(),
    }),
  }),
  'searches.delete': () => ({
    input: { id: field.pathId('Identifier of the search') },
    output: () => ({ message: value.string('Confirmation') }),
  }),
})
