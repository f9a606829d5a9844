/** Whether tests try all they can: `npm test -- --long` sets it, and `.ci/run` runs that. */
export const isLong = process.env.PROSPECT_TEST_EFFORT === 'long'

/** Returns how often a test tries something: `few` times in `npm test`, `all` times with `--long`. */
export const tries = (few: number, all: number): number => (isLong ? all : few)

/** Returns all cases with `--long`, else every nth of them from one on, so that each variant of a test takes others. */
export const sample = <T>(cases: readonly T[], nth: number, from = 0): readonly T[] =>
  isLong ? cases : cases.filter((_, at) => at % nth === from % nth)
