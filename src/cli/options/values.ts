import { InvalidArgumentError } from 'commander'
import { dayOf } from '../../api/values/dates.js'

/** Reads a part of a field's name. */
export function word(text: string): string {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(text))
    throw new InvalidArgumentError('Give a word of lower-case letters, digits and _.')
  return text
}

/** Returns a number in decimal digits; NaN for any other text, such as `0x10`, `1e3` or an empty one. */
export const parseDecimal = (text: string): number =>
  /^[+-]?\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN

/** Reads a number above zero. */
export function positive(text: string): number {
  const value = parseDecimal(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('Give a number above 0.')
  return value
}

/** Reads a number that is not negative. */
export function notNegative(text: string): number {
  const value = parseDecimal(text)
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError('Give 0 or a number above.')
  return value
}

/** Reads a whole number that is not negative. */
export function whole(text: string): number {
  const value = notNegative(text)
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('Give a whole number.')
  return value
}

/** Reads a whole number above zero. */
export function positiveWhole(text: string): number {
  const value = whole(text)
  if (value === 0) throw new InvalidArgumentError('Give a number above 0.')
  return value
}

/** Reads a port; 0 stands for any free one. */
export function port(text: string): number {
  const value = whole(text)
  if (value > 65_535) throw new InvalidArgumentError('Give a port from 0 to 65535.')
  return value
}

/** Collects the values of a repeated option. */
export const repeated = (text: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  text,
]

/** Reads a number of seconds. */
export function seconds(text: string): number {
  const value = parseDecimal(text)
  if (!Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('Give a number of seconds, or none to wait until the end.')
  return value
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const dayMs = unitMs.d

/** Reads a duration such as `90s`, `15m`, `2h`, `1d` or `1d12h`; returns milliseconds. */
export function durationMs(text: string): number {
  if (!/^(?:\d+(?:\.\d+)?[smhd])+$/.test(text))
    throw new InvalidArgumentError('Write a duration like 90s, 15m, 2h or 1d.')
  const parts = [...text.matchAll(/([\d.]+)([smhd])/g)]
  const ms = parts.reduce(
    (sum, [, count, unit]) => sum + Number(count) * unitMs[unit as keyof typeof unitMs],
    0,
  )
  if (ms > 100 * 366 * dayMs) throw new InvalidArgumentError('Give at most 100 years.')
  return Math.round(ms)
}

const time = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i

/** Reads a day or time such as `2026-03-01T08:30:00Z`, by default in UTC; returns milliseconds since 1970. */
export function momentMs(text: string): number {
  const day = time.exec(text)?.[1]
  const zoned = /(?:Z|[+-]\d{2}:\d{2})$/i.test(text.slice(10)) || text.length === 10 ? text : `${text}Z`
  const at = Date.parse(zoned.replace(' ', 'T'))
  if (day === undefined || dayOf(day) === undefined || Number.isNaN(at))
    throw new InvalidArgumentError('Write a day or time like 2026-03-01 or 2026-03-01T08:30:00Z.')
  return at
}

/** Reads the end of a range: the end of a day, or a time. */
export const endMs = (text: string): number => momentMs(text) + (text.length === 10 ? dayMs : 0)

/** Returns the ISO time of milliseconds since 1970; null for null. */
export const isoTime = <T extends number | null>(at: T) =>
  (at === null ? null : new Date(at).toISOString()) as T extends null ? null : string
