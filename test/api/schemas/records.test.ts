import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import * as record from '../../../src/api/schemas/records.js'
import { rowsOf } from '../../support/fixtures.js'

/** The keys of a record; those that may be missing end with a question mark. */
const keysOf = (schema: z.ZodObject): string =>
  Object.entries(schema.shape)
    .map(([key, field]) => (field._zod.optin === undefined ? key : `${key}?`))
    .join(', ')

describe('record schemas', () => {
  const schemas: Readonly<Record<string, () => z.ZodObject>> = {
    account: record.accountRecord,
    person: record.personRecord,
    lead: record.leadRecord,
    job: record.jobRecord,
    'contact result': record.contactResult,
    list: record.listRecord,
    pagination: record.pagination,
    'account preview': record.accountPreview,
    'lead preview': record.leadPreview,
  }
  it.each(rowsOf('api/records.tsv'))('%s has its keys', (name = '', keys) => {
    expect(keysOf((schemas[name] as () => z.ZodObject)()), 'test/fixtures/api/records.tsv').toBe(keys)
  })

  it('allow null for every value that each account has, but its id and technologies', () => {
    const fields = Object.entries(record.accountRecord().shape).filter(([, field]) => !field.isOptional())
    const known = fields.filter(([, field]) => !z.safeParse(field, null).success)
    expect(known.map(([key]) => key)).toEqual(['id', 'technologies'])
  })
})
