import { appendFileSync } from 'node:fs'

/** What a soak tried, and what came of it. */
export interface Finding {
  /** The promise, such as `P13`. */
  readonly promise: string
  readonly tried: string
  /** What was lost, doubled or otherwise wrong; the test fails where it is more than nothing. */
  readonly lost: string
  readonly measured?: string
}

/** Tells whoever started the soak what was found, as a line of the file that it named. */
export function found(finding: Finding): void {
  const file = process.env.PROSPECT_SOAK_FINDINGS
  if (file) appendFileSync(file, `${JSON.stringify(finding)}\n`)
}

/** A number with its thousands apart. */
export const grouped = (count: number): string => count.toLocaleString('en')

/** Seconds since a moment of `performance.now()`. */
export const secondsSince = (began: number): string => `${((performance.now() - began) / 1_000).toFixed(1)} s`
