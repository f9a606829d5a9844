import { afterAll, describe, vi } from 'vitest'
import { inPostgres } from './open.js'

// What a catalogue does is the same wherever it is kept: these tests are those of SQLite.
process.env[inPostgres] = 'yes'
// A file that this process had before would not be run again.
vi.resetModules()
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(() => {
  delete process.env[inPostgres]
  vi.resetConfig()
})

describe('a catalogue in PostgreSQL', async () => {
  await import('./companies-search.test.js')
  await import('./count-profiles.test.js')
  await import('./engagers.test.js')
  await import('./evolution.test.js')
  await import('./export.test.js')
  await import('./forgotten.test.js')
  await import('./growth-search.test.js')
  await import('./hiring.test.js')
  await import('./hiring-search.test.js')
  await import('./import.test.js')
  await import('./import-people.test.js')
  await import('./located.test.js')
  await import('./lookalikes.test.js')
  await import('./match.test.js')
  await import('./people-search.test.js')
  await import('./person-match.test.js')
  await import('./providers.test.js')
  await import('./stack.test.js')
  await import('./stack-search.test.js')
  await import('./technologies.test.js')
  await import('./titles.test.js')
})
