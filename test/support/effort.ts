/** Whether tests try all they can: `npm test -- --long` sets it, and `.ci/run` runs that. */
export const isLong = process.env.PROSPECT_TEST_EFFORT === 'long'

/** Returns how often, or with what, a test tries something: `few` in `npm test`, `all` with `--long`. */
export const tries = <T>(few: T, all: T): T => (isLong ? all : few)

/** Returns all cases with `--long`, else every nth of them from one on, so that each variant of a test takes others. */
export const sample = <T>(cases: readonly T[], nth: number, from = 0): readonly T[] =>
  isLong ? cases : cases.filter((_, at) => at % nth === from % nth)
