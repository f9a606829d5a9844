import { it } from 'vitest'
import { isLong, tries } from '../../support/effort.js'
import { emptySchema } from '../../support/postgres.js'
import { expectNobodyLeaks, inMemory } from '../../support/suppressed-histories.js'

it.each([
  ['SQLite', tries(15, 100, 2_000), inMemory],
  ...(isLong ? [['PostgreSQL', 20, emptySchema] as const] : []),
] as const)(
  'over %s a suppressed person is in nothing that is written after it, and a forgotten one leaves hashes only',
  async (_, histories, open) => {
    await expectNobodyLeaks(histories, open)
  },
  1_800_000,
)
