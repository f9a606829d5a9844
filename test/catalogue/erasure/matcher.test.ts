import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Fields, isObject } from '../../../src/api/values/objects.js'
import { findIdentifiers, type Subject } from '../../../src/catalogue/erasure/tables.js'
import { mentionedKeys } from '../../../src/identity/mentions.js'
import { createPersonMatcher, keysOfPerson } from '../../../src/identity/person-matcher.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
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

async function known(...more: readonly object[]) {
  const driver = openSqlite(':memory:')
  const catalogue = await openEmpty(driver)
  await catalogue.importRecords('companies', [{ name: 'Acme Ltd', domain: 'acme.example' }])
  await catalogue.importRecords('people', [jose, colleague, ...more] as never)
  const found = async (subject: Subject = { email: 'jose@acme.example' }) => {
    const identifiers = await driver.read((connection) => findIdentifiers(connection, subject))
    return { identifiers, matcher: createPersonMatcher(identifiers) }
  }
  return Object.assign(async (subject?: Subject) => (await found(subject)).matcher, { found })
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
    expect([who.mentions(value), who.isAbout(value)]).toEqual([false, false])
    expect(who.without(value, null)).toBe(value)
  })

  it.each(casesOf<unknown>('catalogue/erasure/matcher/mentions'))(
    'recognise that %j mentions the person, and is about something else',
    async (value) => {
      const who = await (await known())()
      expect([who.mentions(value), who.isAbout(value)]).toEqual([true, false])
      expect(who.mentions(who.without(value, null))).toBe(false)
    },
  )

  it('are those by which suppression finds the person, in the same records', async () => {
    const { identifiers } = await (await known()).found()
    const keys = new Set(keysOfPerson(identifiers))
    const isFound = (record: unknown) => [...mentionedKeys(record as Fields)].some((key) => keys.has(key))
    const about = casesOf<Fields>('catalogue/erasure/matcher/is-about')
    // A name that nothing stands beside is nobody's for suppression.
    expect(about.filter((record) => !isFound(record))).toEqual([
      { firstname: 'jose', lastname: 'doe', email: null },
    ])
    const others = casesOf<unknown>('catalogue/erasure/matcher/is-not-about').filter(isObject)
    expect(others.filter(isFound)).toEqual([])
  })

  it('empty the texts of something else that contain them, and take records about the person out of lists', async () => {
    const who = await (await known())()
    const value = {
      id: 1,
      description: `Write to José Doe, jose@acme.example; see ${url}?x=1.`,
      tags: ['Ask jose@acme.example', 'robots'],
      jobs: [{ hiring_team: [{ name: 'Jose Doe' }, { name: 'Ann Lee' }, { network_url: url }] }],
      results: [{ email: 'jose@acme.example' }, { email: 'ann@acme.example' }],
      custom: { owner: { email: 'jose@acme.example', team: 'A' } },
      other: 'José Doe',
      'jose@acme.example': true,
    }
    expect([who.mentions(value), who.isAbout(value)]).toEqual([true, false])
    expect(who.without(value, null)).toEqual({
      id: 1,
      description: null,
      tags: ['robots'],
      jobs: [{ hiring_team: [{ name: 'Ann Lee' }] }],
      results: [null, { email: 'ann@acme.example' }],
      custom: { owner: { email: null, team: 'A' } },
      other: 'José Doe',
    })
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

  it('do not include the name of two people at the same company', async () => {
    const namesake = {
      full_name: 'Jose Doe',
      email: 'jose.doe2@acme.example',
      company_domain: 'acme.example',
      network_profile_url: 'https://www.network.example/in/jose-doe-2',
    }
    const who = await (await known(namesake))()
    expect(who.mentions({ full_name: 'Jose Doe', company_domain: 'acme.example' })).toBe(false)
    expect(who.isAbout({ full_name: 'Jose Doe', email: 'jose@acme.example' })).toBe(true)
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
        const left = who.without(given, null)
        expect(who.mentions(left)).toBe(typeof given === 'object' ? false : who.mentions(left))
        if (!who.mentions(given)) expect(left).toBe(given)
      }),
      { numRuns: tries(60, 300) },
    )
  })
})
