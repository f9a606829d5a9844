/** How much tests try: `npm test -- --long` sets `long`, which `.ci/run` runs, and `npm run soak` runs some with `soak`. */
const effort = process.env.PROSPECT_TEST_EFFORT

export const isLong = effort === 'long' || effort === 'soak'

/** Returns how often, or with what, a test tries something: in `npm test`, with `--long`, and in `npm run soak`. */
export const tries = <T>(few: T, many: T, most: T = many): T =>
  effort === 'soak' ? most : isLong ? many : few

/** Returns all cases with `--long`, else every nth of them from one on, so that each variant of a test takes others. */
export const sample = <T>(cases: readonly T[], nth: number, from = 0): readonly T[] =>
  isLong ? cases : cases.filter((_, at) => at % nth === from % nth)
