import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import { renamedFields, renameIn, renameOut } from '../../../src/api/calls/wire-names.js'
import { operations } from '../../../src/api/operations/table.js'
import { eventBody, eventNames } from '../../../src/api/webhooks/events.js'
import { casesOf } from '../../support/fixtures.js'

const names = { network: 'linkedin', premium: 'sales_navigator' }

/** All keys of a JSON value. */
const keysOf = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, one]) => [...(Array.isArray(value) ? [] : [key]), ...keysOf(one)])
    : []

const schemas = [
  ...(await Promise.all(
    operations().map(async ({ id }) => {
      const { input, output } = await shapeOf(id)
      return [z.toJSONSchema(input, { io: 'input' }), z.toJSONSchema(output)]
    }),
  )),
  ...eventNames().map((name) => z.toJSONSchema(eventBody(name))),
]

/** Every field name of requests, replies and events. */
const fields = [...new Set(keysOf(schemas).filter((key) => /network|premium|linkedin/.test(key)))].sort()

describe('renaming', () => {
  it.each(casesOf<[string, string]>('api/calls/wire-names/is-on-the-wire'))(
    '%s is %s on the wire',
    (inside, wire) => {
      expect(renameOut({ [inside]: 1 }, names)).toEqual({ [wire]: 1 })
      if (inside !== wire) expect(renameIn({ [wire]: 1 }, names)).toEqual({ [inside]: 1 })
    },
  )

  it('leaves the alias of a request as it is', () => {
    expect(renameOut({ linkedin_url: 'x' }, names)).toEqual({ linkedin_url: 'x' })
  })

  it('knows every field of every operation and event with such a name', () => {
    expect(fields).toEqual([...renamedFields, 'posted_on_linkedin'].sort())
  })

  it('leaves no neutral spelling on the wire', () => {
    const wire = keysOf(renameOut(Object.fromEntries(fields.map((name) => [name, 1])), names))
    expect(wire.filter((key) => /network|premium/.test(key))).toEqual(['is_premium_linkedin'])
  })

  it('renames in lists and objects of bodies, and leaves values alone', () => {
    const body = { leads: [{ lead: { network_id: 'network_id' }, company: { network_url: null } }] }
    expect(renameOut(body, names)).toEqual({
      leads: [{ lead: { linkedin_id: 'network_id' }, company: { linkedin_url: null } }],
    })
  })

  it('leaves everything in custom alone', () => {
    const body = { contacts: [{ custom: { network_url: { network_id: 1 } }, network_url: 'x' }] }
    expect(renameOut(body, names)).toEqual({
      contacts: [{ custom: { network_url: { network_id: 1 } }, linkedin_url: 'x' }],
    })
  })

  it.each(['error', 'message'])('renames the fields that an %s lists', (key) => {
    const text = 'Provide at least one of: company_domain, company_network_url on the network'
    const wire = { [key]: 'Provide at least one of: company_domain, company_linkedin_url on the network' }
    expect(renameOut({ [key]: text }, names)).toEqual(wire)
    expect(renameIn(wire, names)).toEqual({ [key]: text })
  })

  it('keeps the value of the own spelling when both are given', () => {
    expect(renameOut({ network_url: 'ours', linkedin_url: 'alias' }, names)).toEqual({ linkedin_url: 'ours' })
    expect(renameOut({ linkedin_url: 'alias', network_url: 'ours' }, names)).toEqual({ linkedin_url: 'ours' })
  })

  it('restores the original after a round trip', () => {
    const key = fc.constantFrom(...renamedFields, 'name', 'custom', 'leads', 'error')
    const body = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.integer(),
        fc.constant(null),
        fc.array(tie('value')),
        fc.dictionary(key, tie('value')),
      ),
    })).value
    fc.assert(
      fc.property(body, (value) => {
        expect(renameIn(renameOut(value, names), names)).toEqual(value)
      }),
    )
  })

  it('does nothing when the server uses the same words', () => {
    const body = { network_id: 1, premium_profile_url: 2 }
    expect(renameOut(body, { network: 'network', premium: 'premium' })).toEqual(body)
  })

  it('keeps values that are no plain objects', () => {
    const date = new Date(0)
    expect(renameIn({ linkedin_list_id: date }, names)).toEqual({ network_list_id: date })
  })

  it('survives a hostile body', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`) as unknown
    expect(keysOf({ ...(renameIn(JSON.parse('{"__proto__":{"x":1}}'), names) as object) })).toEqual([
      '__proto__',
      'x',
    ])
    expect(() => renameOut(deep, names)).not.toThrow()
  })
})
