import { defineConfig } from 'vitest/config'
import { sqlAsText } from '../../vitest.config.js'

/** Long tests, one after the other, that `npm test` leaves out. */
export default defineConfig({
  plugins: [sqlAsText],
  test: {
    include: ['test/soak/**/*.soak.ts'],
    globalSetup: ['test/support/programs.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 1_800_000,
    hookTimeout: 60_000,
    retry: 0,
  },
})
