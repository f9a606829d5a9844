/** Whether tests try all that they can: with `npm test -- --long`, which `.ci/run` runs. */
export const isLong = process.env.PROSPECT_TEST_EFFORT === 'long'

/** Returns how often, or with what, a test tries something: in `npm test`, and with `--long`. */
export const tries = <T>(few: T, many: T): T => (isLong ? many : few)

/** Returns all cases with `--long`, else every nth of them from one on, so that each variant of a test takes others. */
export const sample = <T>(cases: readonly T[], nth: number, from = 0): readonly T[] =>
  isLong ? cases : cases.filter((_, at) => at % nth === from % nth)

/** How long a test waits for something, in milliseconds: well within the time that it has in all, so that it can say what for. */
export const patience: number = isLong ? 300_000 : 60_000
