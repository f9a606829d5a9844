import { afterAll, describe } from 'vitest'
import { inPostgres } from './open.js'

// What a catalogue does is the same wherever it is kept: these tests are those of SQLite.
process.env[inPostgres] = 'yes'
afterAll(() => {
  delete process.env[inPostgres]
})

const suites = [
  'search/companies',
  'search/count-profiles',
  'search/engagers',
  'lookup/headcount',
  'export/export',
  'erasure/matcher',
  'search/growth',
  'lookup/jobs',
  'search/hiring',
  'import/import',
  'import/import-people',
  'search/place-condition',
  'search/lookalikes',
  'records/match-company',
  'search/people',
  'lookup/match-person',
  'waterfall/providers',
  'lookup/technologies',
  'search/stack',
  'records/technologies',
  'lookup/titles',
]

describe('a catalogue in PostgreSQL', async () => {
  // By a name of its own each is run here, whether or not this process has run it as the file that it is.
  for (const suite of suites) await import(/* @vite-ignore */ `./${suite}.test.ts?in-postgres`)
})
