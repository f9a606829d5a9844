import { InvalidArgumentError } from 'commander'
import { dayOf } from '../../api/values/dates.js'

/** A part of the name of a field. */
export function word(text: string): string {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(text))
    throw new InvalidArgumentError('Give a word of lower-case letters, digits and _.')
  return text
}

/** A number above zero. */
export function positive(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give a number above 0.')
  return value
}

/** A number, zero included. */
export function notNegative(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('Give 0 or a number above.')
  return value
}

/** A whole number, zero included. */
export function whole(text: string): number {
  const value = notNegative(text)
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('Give a whole number.')
  return value
}

/** A port, 0 for any that is free. */
export function port(text: string): number {
  const value = whole(text)
  if (value > 65_535) throw new InvalidArgumentError('Give a port from 0 to 65535.')
  return value
}

/** Gathers a repeated option. */
export const repeated = (text: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  text,
]

/** A number of seconds, or none. */
export function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('Give a number of seconds, or none to wait until the end.')
  return value
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const dayMs = unitMs.d

/** A duration such as `90s`, `15m`, `2h`, `1d` or `1d12h`, in milliseconds. */
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

/** A day or time such as `2026-03-01` or `2026-03-01T08:30:00Z` in milliseconds since 1970; UTC unless it says. */
export function momentMs(text: string): number {
  const day = time.exec(text)?.[1]
  const zoned = /(?:Z|[+-]\d{2}:\d{2})$/i.test(text.slice(10)) || text.length === 10 ? text : `${text}Z`
  const at = Date.parse(zoned.replace(' ', 'T'))
  if (day === undefined || dayOf(day) === undefined || Number.isNaN(at))
    throw new InvalidArgumentError('Write a day or time like 2026-03-01 or 2026-03-01T08:30:00Z.')
  return at
}

/** The end of a range: a day is meant whole, a time is where the range stops. */
export const endMs = (text: string): number => momentMs(text) + (text.length === 10 ? dayMs : 0)

/** Milliseconds since 1970 as the ISO time that results carry. */
export const isoTime = (at: number): string => new Date(at).toISOString()
