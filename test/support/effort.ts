/** Whether tests try all they can: `npm test -- --long` sets it, and `.ci/run` runs that. */
export const isLong = process.env.PROSPECT_TEST_EFFORT === 'long'

/** Returns how often a test tries something: `few` times in `npm test`, `all` times with `--long`. */
export const tries = (few: number, all: number): number => (isLong ? all : few)
