import { dayMs } from './dates.js'

/** A duration in a file, such as `90s` or `1.5h`. */
export const durationPattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

export const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: dayMs } as const

/** Returns the milliseconds of a duration such as `90s`. */
export function toMs(text: string): number {
  const [, count, unit] = durationPattern.exec(text) ?? []
  return Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** Returns a time span in its largest useful unit, such as `6 days`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`
}
