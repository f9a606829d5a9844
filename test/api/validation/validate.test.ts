import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import { ApiError } from '../../../src/api/calls/errors.js'
import { aliasesOf, operations } from '../../../src/api/operations/table.js'
import { validate, validateInTurns } from '../../../src/api/validation/validate.js'
import { requests } from '../../spec/requests.js'
import { tries } from '../../support/effort.js'
import { accepted, refusalOf } from '../refusal.js'

describe('validating a request', () => {
  it('returns known fields only', async () => {
    expect(await accepted('accounts.enrich', { name: ' Acme ', status: 'x', id: 7 })).toEqual({
      name: 'Acme',
      live: true,
    })
  })

  it('reports missing fields before malformed ones', async () => {
    expect(await refusalOf('accounts.extract', { search_url: 5, streaming: 'x' })).toBe(
      '400 Missing required keys: name, webhook_url',
    )
  })

  it.each([null, ''])('counts an empty value as missing for a required field: %j', async (name) => {
    expect(await refusalOf('lists.create', { name, companies: [] })).toBe('400 Missing required keys: name')
  })

  it('reports all malformed fields at once', async () => {
    expect(await refusalOf('accounts.enrich', { live: 'x', country: 'FRA', name: ' ' })).toBe(
      '422 name must not be empty; country must be an ISO 3166-1 alpha-2 code; live must be true or false',
    )
  })

  it('reports at most five problems', async () => {
    const companies = new Array(9).fill({ name: 7 })
    expect(await refusalOf('lists.create', { name: 'x', companies })).toMatch(
      /companies\.4\.name must be text; and more$/,
    )
  })

  it('reports a bad request before a malformed field', async () => {
    expect(await refusalOf('accounts.enrich', { country: 'QQ' })).toMatch(/^400 /)
  })

  it.each([null, undefined, [], 'text', 7, true])('refuses %j as a request', async (input) => {
    expect(await refusalOf('credits.show', input)).toBe('400 The request must be a JSON object')
  })

  it('accepts codes in any case and texts with white space around them', async () => {
    expect(await accepted('accounts.enrich', { domain: '\tA.example ', country: ' fr' })).toMatchObject({
      domain: 'A.example',
      country: 'FR',
    })
  })

  it.each(['a\0b', '\ud800', '   '])('refuses the text %j', async (name) => {
    expect(await refusalOf('accounts.enrich', { name })).toMatch(/^422 name must not /)
  })
})

describe('other spellings of a field', () => {
  const network_url = 'https://network.example/in/ada'

  it.each(['linkedin_url', 'network_profile_url'])('are accepted for a person: %s', async (alias) => {
    expect(await accepted('leads.enrich', { [alias]: network_url })).toEqual({ network_url, live: true })
  })

  it('are accepted for a contact: first_name and last_name', async () => {
    const input = {
      first_name: 'Ada',
      last_name: 'Lovelace',
      domain: 'a.example',
      enrichment_type: ['email'],
    }
    expect(await accepted('contacts.enrich', input)).toMatchObject({ firstname: 'Ada', lastname: 'Lovelace' })
  })

  it('are accepted for each contact of a bulk request', async () => {
    const contacts = [{ linkedin_url: network_url }, { network_url }]
    expect(await accepted('contacts.bulk_enrich', { contacts, enrichment_type: ['phone'] })).toMatchObject({
      contacts: [{ network_url }, { network_url }],
    })
  })

  const spellings = operations().flatMap(({ id }) =>
    Object.entries(aliasesOf(id)).map(([alias, own]) => [id, alias, own] as const),
  )

  it.each(spellings)(
    'are refused beside another one of the same field, unless one of them is empty: %s, %s and %s',
    async (id, alias, own) => {
      const within = (fields: object) =>
        id === 'contacts.bulk_enrich' ? { contacts: [fields, fields] } : { ...requests[id], ...fields }
      const both = { ...requests[id], ...within({ [alias]: 'one', [own]: 'other' }) }
      expect(await refusalOf(id, both)).toMatch(/^422 .* are the same field: give one of them/)
      const empty = { ...requests[id], ...within({ ...requests[id], [alias]: '' }) }
      expect(await refusalOf(id, empty)).not.toContain('are the same field')
    },
  )

  it('are not written into the given request', async () => {
    const input = { contacts: [{ linkedin_url: network_url }, { network_url }], enrichment_type: ['phone'] }
    const before = structuredClone(input)
    await accepted('contacts.bulk_enrich', input)
    expect(input).toEqual(before)
  })
})

describe('unknown fields', () => {
  it.each(operations().filter(({ filters }) => filters))(
    'are reported before missing ones: $id',
    async ({ id }) => {
      expect(await refusalOf(id, { no_such_field: 1 })).toMatch(/^422 Unknown field no_such_field,/)
    },
  )

  it('are named five at most, each cut short', async () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${'x'.repeat(9_000)}${at}`, 1]))
    const refusal = await refusalOf('accounts.search', { ...requests['accounts.search'], ...many })
    expect([refusal.length < 1_000, refusal.endsWith('; and more')]).toEqual([true, true])
  })
})

describe('a hostile request', () => {
  it('has no effect with own keys of inherited names', async () => {
    const input = JSON.parse(
      '{"__proto__":{"name":"x","polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    )
    expect(await refusalOf('accounts.enrich', input)).toMatch(/^400 /)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('may have any keys in custom, and sets no prototype', async () => {
    const custom = JSON.parse('{"__proto__":{"polluted":1},"constructor":1}')
    const input = await accepted('lists.create', { name: 'x', companies: [{ name: 'A' }], custom })
    expect(Object.getPrototypeOf(input.custom)).toBe(Object.prototype)
    expect(input.custom).toMatchObject({ constructor: 1 })
  })

  it.each([20, 21, 50_000])('gets a reply when custom is nested %i deep', async (depth) => {
    const custom = { a: JSON.parse('['.repeat(depth - 1) + ']'.repeat(depth - 1)) }
    const answer = await refusalOf('lists.create', { name: 'x', companies: [{ name: 'A' }], custom })
    expect(answer).toBe(depth === 20 ? 'accepted' : '422 custom must not be nested deeper than 20 levels')
  })

  it.each([65_528, 65_529])('gets a reply when custom has a text of %i characters', async (length) => {
    const custom = { a: 'x'.repeat(length) }
    const answer = await refusalOf('lists.create', { name: 'x', companies: [{ name: 'A' }], custom })
    expect(answer).toBe(
      length === 65_528 ? 'accepted' : '422 custom must have at most 65536 characters of JSON',
    )
  })

  it.each(['', ' ', 'a\0b', '\ud800', 'x'.repeat(201)])(
    'a path id that can be none is not found: %j',
    async (id) => {
      expect(await refusalOf('lists.get', { id })).toBe('404 Not found')
      expect(await refusalOf('searches.get', { id, per_page: 0 })).toMatch(/^422 per_page /)
    },
  )

  it('gives a validated input or a refusal of 400, 404 or 422, whatever it contains', async () => {
    const shapes = await Promise.all(operations().map(async ({ id }) => [id, await shapeOf(id)] as const))
    fc.assert(
      fc.property(fc.constantFrom(...shapes), fc.infiniteStream(fc.jsonValue()), ([id, shape], values) => {
        const input = Object.fromEntries(
          Object.keys(shape.input.shape).map((name) => [name, values.next().value]),
        )
        try {
          validate(id, shape, input)
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError)
          expect([400, 404, 422]).toContain((error as ApiError).status)
          expect((error as ApiError).message.length).toBeLessThan(5_000)
        }
      }),
      { numRuns: tries(250, 1_000) },
    )
  })
})

describe('a long list', () => {
  const companies = (count: number, wrong: readonly number[] = []) =>
    Array.from({ length: count }, (_, at) => ({
      name: ` Company ${at} `,
      ...(wrong.includes(at) ? { country_code: 'XXX' } : {}),
    }))
  const create = async (input: object) =>
    validateInTurns('lists.create', await shapeOf('lists.create'), input)
  const reasonOf = (input: object) =>
    create(input).then(
      () => 'accepted',
      (error: ApiError) => `${error.status} ${error.message}`,
    )
  const why = 'country_code must be an ISO 3166-1 alpha-2 code'

  it.each([0, 999, 1_000, 1_001, 3_500])(
    'is read as at once when it is read in turns: %i items',
    async (count) => {
      const input = { name: ' Targets ', companies: companies(count), unknown: 1 }
      expect(await create(input)).toEqual(await accepted('lists.create', input))
    },
  )

  it('names the first items that are invalid, by their places in the whole list', async () => {
    const list = (wrong: readonly number[], more = {}) =>
      reasonOf({ name: 'Targets', companies: companies(3_500, wrong), ...more })
    expect(await list([2_999])).toBe(`422 companies.2999.${why}`)
    expect(await list([999, 1_000])).toBe(`422 companies.999.${why}`)
    expect(await list([1_000, 1_999, 2_000])).toBe(`422 companies.1000.${why}; companies.1999.${why}`)
    expect(await list([3_000], { webhook_url: 'x' })).toMatch(/^400 webhook_url /)
    expect(await list([], { name: '' })).toBe('400 Missing required keys: name')
  })

  it('lets other work have a turn', async () => {
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    await create({ name: 'Targets', companies: companies(20_000) })
    clearInterval(timer)
    expect(turns).toBeGreaterThan(2)
  })

  it('that is longer than permitted is refused, without a word about each of its items', async () => {
    const answer = await refusalOf('contacts.bulk_enrich', {
      contacts: Array(5_000).fill({}),
      enrichment_type: ['email'],
    })
    expect(answer).toMatch(/^422 /)
    const texts = Array.from({ length: 5_000 }, (_, at) => `title ${at}`)
    expect(await refusalOf('titles.suggest', { job_titles: texts })).toBe(
      '422 job_titles must have at most 100 items',
    )
  })
})
