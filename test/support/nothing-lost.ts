import { parse } from 'tldts'
import { expect } from 'vitest'
import type { Survived } from './killed-batch.js'

/** Checks that a run that was killed lost no row, doubled none, and paid for each company once. */
export function expectNothingLost({
  rows,
  domains,
  resolvable,
  spent,
  credits,
  ledgerProblems,
}: Survived): void {
  expect(rows.map(({ Website }) => Website)).toEqual(domains)
  for (const { Website = '', domain, _status } of rows) {
    const asked = parse(Website).domain ?? ''
    expect([Website, domain, _status]).toEqual(
      asked.startsWith('company-') ? [Website, asked, 'found'] : [Website, '', 'not_found'],
    )
  }
  expect(rows.reduce((sum, row) => sum + Number(row._credits), 0)).toBe(resolvable)
  expect([spent, credits, ledgerProblems]).toEqual([resolvable, resolvable, []])
}
