import { afterAll, describe } from 'vitest'
import { inPostgres } from './open.js'

// What a catalogue does is the same wherever it is kept: these tests are those of SQLite.
process.env[inPostgres] = 'yes'
afterAll(() => {
  delete process.env[inPostgres]
})

const suites = [
  'companies-search',
  'count-profiles',
  'engagers',
  'evolution',
  'export',
  'forgotten',
  'growth-search',
  'hiring',
  'hiring-search',
  'import',
  'import-people',
  'located',
  'lookalikes',
  'match',
  'people-search',
  'person-match',
  'providers',
  'stack',
  'stack-search',
  'technologies',
  'titles',
]

describe('a catalogue in PostgreSQL', async () => {
  // By a name of its own each is run here, whether or not this process has run it as the file that it is.
  for (const suite of suites) await import(/* @vite-ignore */ `./${suite}.test.ts?in-postgres`)
})
