import { InvalidArgumentError } from 'commander'
import { dayOf } from '../../api/values/dates.js'

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
