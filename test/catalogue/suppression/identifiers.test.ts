import { describe, expect, it } from 'vitest'
import { asRecord, suppressiblesIn, toSuppressible } from '../../../src/catalogue/suppression/identifiers.js'
import { withoutRecords } from '../../../src/catalogue/suppression/suppressor.js'
import { mentionedKeys } from '../../../src/identity/mentions.js'
import { casesOf } from '../../support/fixtures.js'

const url = 'https://www.network.example'

describe('what can be suppressed', () => {
  it.each(casesOf<[string, string, string]>('catalogue/suppression/identifiers/reads'))(
    'reads %s',
    (text, kind, value) => {
      const read = toSuppressible(text)
      expect(read).toMatchObject({ kind, value })
      // What was read is found by itself.
      expect(read && mentionedKeys(asRecord(read))).toContain(read?.key)
    },
  )

  it.each(['', 'Jane', 'Jane Doe', '12', 'gmail', `${url}/jobs/1`])('reads nobody in "%s"', (text) => {
    expect(toSuppressible(text)).toBeUndefined()
  })

  it('is the person of a row that has one, and never everybody at the company', () => {
    const row = {
      full_name: 'Jane Doe',
      email: 'jane@acme.example',
      company_domain: 'acme.example',
      phone: '+33612345678',
    }
    expect(suppressiblesIn(row).map(({ kind }) => kind)).toEqual(['email', 'person', 'phone'])
    expect(suppressiblesIn({ domain: 'acme.example' }).map(({ kind }) => kind)).toEqual(['domain'])
  })
})

describe('a record', () => {
  const suppressed = (...texts: string[]) => {
    const keys = new Set(texts.map((text) => toSuppressible(text)?.key))
    return async (asked: Iterable<string>) => new Set([...asked].filter((key) => keys.has(key)))
  }
  const jane = {
    first_name: 'Jane',
    last_name: 'Doe',
    most_probable_email: 'jane@acme.example',
    phones: ['+33612345678'],
  }
  const bob = { full_name: 'Bob', network_profile_url: `${url}/in/bob` }

  it.each([
    ['her address', 'jane@acme.example'],
    ['the domain of her address', 'acme.example'],
    ['her number', '+33612345678'],
    ['her name and the domain', 'Jane Doe at acme.example'],
  ])('is left out by %s', async (_, entry) => {
    const find = suppressed(entry)
    expect(
      await withoutRecords(find, { leads: [{ lead: jane, company: null }, { lead: bob }], total: 2 }),
    ).toEqual({
      leads: [{ lead: bob }],
      total: 2,
    })
    expect(await withoutRecords(find, { results: [jane, bob, null] })).toEqual({ results: [null, bob, null] })
    expect(await withoutRecords(find, jane)).toBeUndefined()
  })

  it('is left out by its profile, with a member of a hiring team by name and domain', async () => {
    const find = suppressed(`${url}/in/bob`, 'Jane Doe at acme.example')
    const job = {
      job_title: 'Dev',
      company: { domain: 'acme.example' },
      hiring_team: [{ name: 'Jane Doe' }, bob, { name: 'Eve' }],
    }
    expect(await withoutRecords(find, { jobs: [job] })).toEqual({
      jobs: [{ ...job, hiring_team: [{ name: 'Eve' }] }],
    })
  })

  it('of a waterfall shows nothing, and says why', async () => {
    const contact = {
      enrichment_id: 'e',
      status: 'finished',
      email: 'jane@acme.example',
      phone: ['+1'],
      custom: { row: 1 },
      credits_used: 3,
    }
    expect(await withoutRecords(suppressed('acme.example'), { contacts: [contact] })).toEqual({
      contacts: [
        { ...contact, email: null, phone: [], message: 'The answer is about somebody who is suppressed' },
      ],
    })
  })

  it('stays as it is where nobody in it is suppressed', async () => {
    const body = { leads: [{ lead: jane }] }
    expect(await withoutRecords(suppressed('other.example'), body)).toBe(body)
    // Attributes of whoever asks are no data about the person.
    expect(
      await withoutRecords(suppressed('acme.example'), { id: 1, custom: { owner: 'jane@acme.example' } }),
    ).toMatchObject({ id: 1 })
  })
})
