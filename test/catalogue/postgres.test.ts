import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { sample } from '../support/effort.js'
import { inPostgres } from './open.js'

// A catalogue behaves alike in both databases, so the tests of SQLite run again here: a third of them, or all with --long.
process.env[inPostgres] = 'yes'
afterAll(() => {
  delete process.env[inPostgres]
})

const suites = [
  'search/companies',
  'search/count-profiles',
  'lookup/headcount',
  'search/employer-filters',
  'search/engagers',
  'export/export',
  'erasure/matcher',
  'search/growth',
  'lookup/jobs',
  'search/hiring',
  'import/cases',
  'import/import',
  'import/preview',
  'search/lookalikes',
  'records/match-company',
  'records/origins',
  'search/people',
  'lookup/match-person',
  'lookup/providers',
  'search/stack',
  'records/technologies',
  'sample/remove',
  'lookup/titles',
  'records/written-names',
]

describe('a catalogue in PostgreSQL', async () => {
  it('runs test files that exist, also those that only --long runs', () => {
    const path = (suite: string) => fileURLToPath(new URL(`./${suite}.test.ts`, import.meta.url))
    expect(suites.filter((suite) => !existsSync(path(suite)))).toEqual([])
  })

  // The query makes each a separate module, even when this process has already run the file.
  for (const suite of sample(suites, 3)) await import(/* @vite-ignore */ `./${suite}.test.ts?in-postgres`)
})
