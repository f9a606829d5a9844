import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMatcher } from '../../../src/catalogue/erasure/subject.js'
import { findIdentifiers, type Subject } from '../../../src/catalogue/erasure/tables.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import type { SubjectMatcher } from '../../../src/storage/erasure/traversal.js'
import { tries } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'
import { openEmpty } from '../open.js'

const url = 'https://www.network.example/in/jos%C3%A9-doe'
const jose = {
  full_name: 'José Doe',
  email: 'jose@acme.example',
  personal_email: 'jd@mail.example',
  network_profile_url: url,
  network_id: 'ACwAAJoseDoe00000000000000000000000000',
  phones: ['+33639980077', '+33170189900'],
  company_domain: 'acme.example',
  past_positions: [{ title: 'Clerk', company_name: 'Old Co' }],
}
const colleague = {
  full_name: 'Ann Lee',
  email: 'ann@acme.example',
  phones: ['+33170189900'],
  company_domain: 'acme.example',
}

async function known(...more: readonly object[]): Promise<(subject?: Subject) => Promise<SubjectMatcher>> {
  const driver = openSqlite(':memory:')
  const catalogue = await openEmpty(driver)
  await catalogue.importRecords('companies', [{ name: 'Acme Ltd', domain: 'acme.example' }])
  await catalogue.importRecords('people', [jose, colleague, ...more] as never)
  return async (subject = { email: 'jose@acme.example' }) =>
    createMatcher(await driver.read((connection) => findIdentifiers(connection, subject)))
}

describe('the identifiers of an erased person', () => {
  it.each(casesOf<unknown>('catalogue/erasure/matcher/is-about'))(
    'recognise that %j is about the person',
    async (value) => {
      const who = await (await known())()
      expect([who.isAbout(value), who.mentions(value)]).toEqual([true, true])
    },
  )

  it.each(casesOf<unknown>('catalogue/erasure/matcher/is-not-about'))('do not match %j', async (value) => {
    const who = await (await known())()
    expect([who.mentions(value), who.isAbout(value), who.redact(value)]).toEqual([false, false, value])
  })

  it('are redacted from records about something else', async () => {
    const who = await (await known())()
    const value = {
      description: `Write to José Doe, jose@acme.example or 06; see ${url}?x=1. José Doe.`,
      jobs: [{ hiring_team: [{ name: 'Jose Doe' }, { name: 'Ann Lee' }, { network_url: url }] }],
      other: 'José Doe',
    }
    expect([who.mentions(value), who.isAbout(value)]).toEqual([true, false])
    expect(who.redact(value)).toEqual({
      description:
        'Write to [forgotten], [forgotten] or 06; see https://www.network.example[forgotten]?x=1. [forgotten].',
      jobs: [{ hiring_team: [{ name: 'Ann Lee' }] }],
      other: 'José Doe',
    })
    expect(who.redactName('Search for josé  doe')).toBe('Search for [forgotten]')
  })

  it('do not include what another person shares with them', async () => {
    const who = await (
      await known({
        ...colleague,
        full_name: 'Bo Ek',
        email: 'bo@acme.example',
        personal_email: 'jd@mail.example',
      })
    )()
    expect(who.mentions({ email: 'jd@mail.example' })).toBe(false)
    expect(who.mentions({ email: 'jose@acme.example' })).toBe(true)
  })

  it('include everyone with the given address', async () => {
    const find = await known({
      full_name: 'Bo Ek',
      email: 'jose@acme.example',
      company_domain: 'other.example',
      network_profile_url: 'https://www.network.example/in/bo-ek',
    })
    const who = await find()
    expect(who.mentions({ full_name: 'Bo Ek', domain: 'other.example' })).toBe(true)
  })

  it('consist of the given address alone when the catalogue does not contain the person', async () => {
    const who = await (await known())({ email: 'nobody@acme.example' })
    expect([who.mentions('ask nobody@acme.example'), who.mentions(jose)]).toEqual([true, false])
  })

  it('are removed from any value, and nothing else is changed', async () => {
    const who = await (await known())()
    const theirs = [
      'jose@acme.example',
      'jd@mail.example',
      '+33639980077',
      url,
      'ACwAAJoseDoe00000000000000000000000000',
    ]
    const words = fc.string().filter((text) => !who.mentions(text))
    const mention = fc.tuple(words, fc.constantFrom(...theirs), words).map(([a, b, c]) => `${a} ${b} ${c}`)
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        words,
        mention,
        fc.integer(),
        fc.array(tie('any')),
        fc.dictionary(words, tie('any')),
      ),
    })).any
    fc.assert(
      fc.property(value, (given) => {
        const left = who.redact(given)
        expect(who.mentions(left)).toBe(false)
        if (!who.mentions(given)) expect(left).toBe(given)
      }),
      { numRuns: tries(60, 300) },
    )
  })
})
