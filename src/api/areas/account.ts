import * as z from 'zod'
import { describe } from '../schemas/fields.js'
import { maybe, string, uuid, yesNo } from '../schemas/output-fields.js'

/** Schemas of the area `account`. */
export const account = {
  'account.show': () => ({
    input: z.object({}),
    output: z.object({
      account: describe(
        z.object({
          email: string('E-mail of the user who owns the key'),
          name: maybe('Name of that user'),
        }),
        'The user',
      ),
      workspace: describe(
        z.object({
          id: uuid('Identifier'),
          name: string('Name'),
          plan: string('Plan, which sets request limits and quotas'),
        }),
        'The workspace, which owns credits and quotas',
      ),
      integrations: describe(
        z.object({
          network_session_valid: yesNo('Whether calls that act on the network can'),
          premium_session_valid: yesNo('Whether calls that need the premium search tool can'),
        }),
        'The stored sessions',
      ),
    }),
  }),
} as const
