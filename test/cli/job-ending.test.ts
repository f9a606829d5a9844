import { describe, expect, it } from 'vitest'
import { stepText, successText } from '../../src/cli/job-ending.js'
import type { AsyncJob } from '../../src/engine/ports.js'

const job = (facts: Partial<AsyncJob>) => facts as AsyncJob
const step = (rows: number, total: number | undefined, credits = 0) => ({ rows, found: rows, total, credits })

describe('the progress of a job', () => {
  it('says how many of how many, and what they cost where they cost something', () => {
    const free = stepText({ kind: 'lead_search', operation: 'leads.extract' })
    expect(free(step(1_200, 5_000))).toBe('1,200 of 5,000 people')
    const priced = stepText({ kind: 'stack_import', operation: 'intents.stack' })
    expect(priced(step(1, 1, 3))).toBe('1 of 1 company · 3 credits')
  })

  it('never has more than there are', () => {
    const text = stepText({ kind: 'account_import', operation: 'accounts.search' })
    expect(text(step(12, 10))).toBe('12 of 12 companies')
  })
})

describe('the end of a job', () => {
  it('is told with its price', () => {
    expect(
      successText(job({ kind: 'contact_enrichment', operation: 'contacts.enrich', done: 1, spent: 33 })),
    ).toBe('Looked up 1 contact for 33 credits.')
    expect(successText(job({ kind: 'list_import', operation: 'lists.create', done: 2, spent: 0 }))).toBe(
      'Imported 2 companies.',
    )
  })
})
