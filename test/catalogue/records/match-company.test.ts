import { describe, expect, it } from 'vitest'
import type { CompanyQuery } from '../../../src/api/ports/ports.js'
import { accountRecord } from '../../../src/api/schemas/records.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { perFile } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { openWith } from '../open.js'

const companies = casesOf<Fields>('catalogue/records/match-company/companies')

describe('a query for a company', () => {
  const catalogue = perFile(() => openWith(companies))

  const found = async (query: CompanyQuery) => (await catalogue.company(query))?.id

  it.each(casesOf<[string, CompanyQuery, string | null]>('catalogue/records/match-company/queries'))(
    '%s',
    async (_, query, id) => {
      expect((await found(query)) ?? null).toBe(id)
    },
  )

  it('returns every key of a record, with null for unknown values', async () => {
    const keys = Object.entries(accountRecord().shape).flatMap(([key, field]) =>
      field.isOptional() && !field.isNullable() ? [] : [key],
    )
    const known = {
      id: 'nowhere',
      name: 'Delta',
      cleaned_name: 'Delta',
      domain: 'delta.example',
      technologies: [],
    }
    expect(await catalogue.company({ domain: 'delta.example' })).toEqual({
      ...Object.fromEntries(keys.map((key) => [key, null])),
      ...known,
    })
  })

  it('is answered correctly among many at the same time', async () => {
    const domains = Array.from(
      { length: 500 },
      (_, n) => ['acme.example', 'birch.example', 'ghost.example'][n % 3] ?? '',
    )
    const answers = await Promise.all(domains.map((domain) => found({ domain })))
    expect(answers).toEqual(domains.map((_, n) => ['acme', 'no-url', undefined][n % 3]))
  })
})
