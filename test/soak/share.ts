/** How much of what a soak would try is tried: `PROSPECT_SOAK_SHARE=0.05` for a first look, all of it unless set. */
const share = Number(process.env.PROSPECT_SOAK_SHARE ?? 1)

/** So many of what a soak tries, or the share of it that was asked for. */
export const some = (all: number, least = 1): number => Math.max(least, Math.round(all * share))

/** The seed of what a soak tries at random. */
export const seedOf = (): number => Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
