import { appendFileSync } from 'node:fs'
import { it } from 'vitest'

/** What a part of the soak tried and measured, or why it did not run. */
export type Report =
  | { readonly tried: string; readonly measured?: string }
  | { readonly tried?: undefined; readonly notRun: string }

/** How much of what a soak would try is tried: `PROSPECT_SOAK_SHARE=0.05` for a first look, all of it unless set. */
const share = Number(process.env.PROSPECT_SOAK_SHARE ?? 1)

/** Returns the share of a number that was asked for, and no less than the least. */
export const some = (all: number, least = 1): number => Math.max(least, Math.round(all * share))

/** The seed of what a soak tries at random. */
export const seedOf = (): number => Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)

/** Tests a promise. The report becomes a line of the file that `npm run soak` names. */
export const soak = (
  promise: string,
  title: string,
  work: () => Promise<Report>,
  isPossible: boolean = true,
): void =>
  it.runIf(isPossible)(`${promise}: ${title}`, async () => {
    const began = performance.now()
    const report = await work()
    const seconds = Math.round((performance.now() - began) / 1_000)
    const file = process.env.PROSPECT_SOAK_FINDINGS
    if (file) appendFileSync(file, `${JSON.stringify({ promise, title, seconds, ...report })}\n`)
  })

export const isLinux = process.platform === 'linux'

/** Formats a number with its thousands apart. */
export const grouped = (count: number): string => count.toLocaleString('en')

/** Formats how often each thing was counted: `3 × 404, 1 × 503`. */
export const listCounts = (counts: ReadonlyMap<unknown, number>): string =>
  [...counts].map(([name, count]) => `${grouped(count)} × ${name}`).join(', ')
