import { describe, expect, it } from 'vitest'
import { hashOf, IdentityFilter, RepeatFilter } from '../../src/csv/identity-filter.js'

const textOf = (at: number) => `company:domain:company-${at}.example`
const seen = (at: number) => hashOf(textOf(at))
const unseen = (at: number) => hashOf(`nobody-${at}.example`)
const count = (many: number, is: (at: number) => boolean) =>
  Array.from({ length: many }, (_, at) => at).filter(is).length

describe.each([1, 50, 3_000, 200_000])('a filter for %i identities', (expected) => {
  const filter = new IdentityFilter(expected)
  for (let at = 0; at < expected; at++) filter.add(seen(at))

  it('contains each of them', () => {
    expect(count(expected, (at) => filter.has(seen(at)))).toBe(expected)
  })

  it('has at most 2 % false positives', () => {
    expect(count(100_000, (at) => filter.has(unseen(at)))).toBeLessThan(2_000)
  })
})

it('a hash depends on every character', () => {
  const texts = ['acme', 'bcme', 'abme', 'acbe', 'acmb', 'acm', 'cme']
  for (const half of [0, 1] as const)
    expect(new Set(texts.map((text) => hashOf(text)[half])).size).toBe(texts.length)
})

it('an identity filter without entries contains nothing', () => {
  const filter = new IdentityFilter(0)
  expect(count(1_000, (at) => filter.has(seen(at)))).toBe(0)
})

it('a repeat filter distinguishes identities that occur twice from those that occur once', () => {
  const filter = new RepeatFilter(20_000)
  for (let at = 0; at < 20_000; at++) filter.see(textOf(at))
  for (let at = 0; at < 20_000; at += 10) filter.see(textOf(at))
  expect(count(2_000, (at) => filter.has(seen(at * 10)))).toBe(2_000)
  expect(count(20_000, (at) => at % 10 > 0 && filter.has(seen(at)))).toBeLessThan(800)
  expect([...filter.kinds]).toEqual(['domain'])
})
