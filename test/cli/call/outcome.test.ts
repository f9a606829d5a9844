import { describe, expect, it } from 'vitest'
import { operation } from '../../../src/api/operations/table.js'
import { stepText, successText } from '../../../src/cli/call/result.js'

const step = (rows: number, total: number | undefined, credits = 0) => ({ rows, found: rows, total, credits })

describe('the progress of a job', () => {
  it('shows the count, the total and the credits of a priced job', () => {
    const free = stepText({ kind: 'lead_search', operation: operation('leads.extract') })
    expect(free(step(1_200, 5_000))).toBe('1,200 of 5,000 people')
    const priced = stepText({ kind: 'stack_import', operation: operation('intents.stack') })
    expect(priced(step(1, 1, 3))).toBe('1 of 1 company · 3 credits')
  })

  it('never shows a total below the count', () => {
    const text = stepText({ kind: 'account_import', operation: operation('accounts.search') })
    expect(text(step(12, 10))).toBe('12 of 12 companies')
  })
})

describe('the end of a job', () => {
  it('reports the result of a job with its price', () => {
    const contact = { kind: 'contact_enrichment', operation: operation('contacts.enrich') } as const
    expect(successText(contact, { done: 1, spent: 33 })).toBe('Looked up 1 contact for 33 credits.')
    const list = { kind: 'list_import', operation: operation('lists.create') } as const
    expect(successText(list, { done: 2, spent: 0 })).toBe('Imported 2 companies.')
  })
})
