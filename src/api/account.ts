import * as z from 'zod'

/** Schemas of the area `account`. */
export const account = {
  'account.show': {
    input: z.object({}),
    output: z.object({
      account: z.object({
        email: z.string().describe('E-mail of the user who owns the key'),
        name: z.string().nullable().describe('Name of that user'),
      }),
      workspace: z.object({ id: z.string(), name: z.string(), plan: z.string() }),
      integrations: z.object({
        network_session_valid: z.boolean().describe('Whether calls that act on the network can'),
        premium_session_valid: z.boolean().describe('Whether calls that need the premium search tool can'),
      }),
    }),
  },
} as const
