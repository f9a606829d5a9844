import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    pool: 'forks',
    // More than the cores of a small machine, because many tests wait for processes and databases.
    maxWorkers: 3,
    // Files of a worker share what they import: a third of the time would go into loading it anew for each.
    isolate: false,
    // For what never ends: with a third of this machine the slowest takes an eighth of it.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    retry: 0,
    // With `npm test -- --coverage`. What runs only in child processes of the tests is not counted.
    coverage: { provider: 'v8', include: ['src/**'], reporter: ['text-summary', 'json-summary'] },
  },
})
