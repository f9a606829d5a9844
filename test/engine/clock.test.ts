import { describe, expect, it } from 'vitest'
import { engineTime, nextRenewal, periodEnd, periodStart } from '../../src/engine/clock.js'

const at = Date.parse
const iso = (ms: number) => new Date(ms).toISOString()

describe('engine time', () => {
  it('is real time plus the offset, or stands still when frozen', () => {
    expect(engineTime({ offsetMs: 5, frozenAt: null }, 100)).toBe(105)
    expect(engineTime({ offsetMs: 5, frozenAt: 42 }, 100)).toBe(42)
  })

  it.each([
    ['day', '2026-03-01T23:59:59.999Z', '2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
    ['day', '2026-03-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
    ['week', '2026-03-01T12:00:00.000Z', '2026-02-23T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
    ['week', '2026-03-02T00:00:00.000Z', '2026-03-02T00:00:00.000Z', '2026-03-09T00:00:00.000Z'],
    ['month', '2028-02-29T23:59:59.999Z', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['month', '2026-12-31T10:00:00.000Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ] as const)('puts a %s around %s', (period, moment, start, end) => {
    expect(iso(periodStart(period, at(moment)))).toBe(start)
    expect(iso(periodEnd(period, at(moment)))).toBe(end)
  })

  it.each([
    ['2026-01-31T10:00:00Z', '2026-01-31T10:00:00Z', '2026-02-28T00:00:00.000Z'],
    ['2026-01-15T10:00:00Z', '2026-01-15T10:00:00Z', '2026-02-15T00:00:00.000Z'],
    ['2026-01-15T10:00:00Z', '2026-02-14T23:59:59Z', '2026-02-15T00:00:00.000Z'],
    ['2026-01-15T10:00:00Z', '2026-02-15T00:00:00Z', '2026-03-15T00:00:00.000Z'],
    ['2026-01-15T10:00:00Z', '2026-12-20T00:00:00Z', '2027-01-15T00:00:00.000Z'],
  ])('renews a workspace of %s next after %s on %s', (created, after, next) => {
    expect(iso(nextRenewal(at(created), at(after)))).toBe(next)
  })
})
