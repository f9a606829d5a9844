import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationMs, endMs, isoTime, momentMs } from '../../../src/cli/options/values.js'

describe('durations', () => {
  it.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1d12h', 129_600_000],
    ['0.5h', 1_800_000],
  ])('parses the duration %s as %i ms', (text, ms) => expect(durationMs(text)).toBe(ms))

  it.each(['', '1', 'd', '1w', '-1d', '1 d', '1d ', '999999d'])('refuses "%s" as a duration', (text) =>
    expect(() => durationMs(text)).toThrow(),
  )
})

describe('points in time', () => {
  it.each([
    ['2026-03-01', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01T08:30', '2026-03-01T08:30:00.000Z'],
    ['2026-03-01 08:30:15', '2026-03-01T08:30:15.000Z'],
    ['2026-03-01T08:30:15.250Z', '2026-03-01T08:30:15.250Z'],
    ['2026-03-01T08:30:00+02:00', '2026-03-01T06:30:00.000Z'],
  ])('parses the time %s as %s', (text, iso) => expect(isoTime(momentMs(text))).toBe(iso))

  it.each(['', 'now', '2026-02-30', '2026-13-01', '2026-03-01T25:00', '1772352000000', '03/01/2026'])(
    'refuses "%s" as a time',
    (text) => expect(() => momentMs(text)).toThrow(),
  )

  it('parses every ISO time that toISOString writes', () => {
    const times = fc.date({ min: new Date(0), max: new Date('2199-12-31'), noInvalidDate: true })
    fc.assert(fc.property(times, (date) => momentMs(date.toISOString()) === date.getTime()))
  })
})

describe('the end of a range', () => {
  it('ends a range after the whole day for a date', () =>
    expect(endMs('2026-01-31')).toBe(Date.UTC(2026, 1, 1)))
  it('ends a range at the given time', () =>
    expect(endMs('2026-01-31T12:00Z')).toBe(Date.UTC(2026, 0, 31, 12)))
})
