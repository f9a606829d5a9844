import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Fields } from '../../src/api/values/objects.js'
import { companyIn } from '../../src/identity/keys.js'
import { Subjects } from '../../src/identity/subjects.js'
import { tries } from '../support/effort.js'

const completed = (records: readonly Fields[], record: Fields): Fields => {
  const subjects = new Subjects('person')
  for (const one of records) subjects.add(one)
  return subjects.completed(record)
}
const ada = { first_name: 'Ada', last_name: 'Byron', company_domain: 'acme.example' }
const profile = { network_url: 'https://www.network.example/in/ada' }

it('completes a record alike in any order of the records', () => {
  const optional = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
  const record = fc.record({
    network_url: optional(profile.network_url, 'https://www.network.example/in/ada-b'),
    email: optional('ada@acme.example', 'byron@acme.example'),
    first_name: fc.constant('Ada'),
    last_name: optional('Byron', 'Lovelace'),
    company_domain: optional('acme.example'),
  })
  const shuffled = fc
    .array(record, { minLength: 1, maxLength: 6 })
    .chain((records) =>
      fc.tuple(fc.constant(records), fc.shuffledSubarray(records, { minLength: records.length })),
    )
  fc.assert(
    fc.property(shuffled, ([records, others]) => {
      for (const one of records) {
        const [first, second] = [completed(records, one), completed(others, one)]
        // Where two fields say who it is, both orders know who.
        expect(second.network_url).toBe(first.network_url)
      }
    }),
    { numRuns: tries(300, 3_000) },
  )
})

it('knows one person of whom thousands of rows say the name only', () => {
  const rows = Array.from({ length: 20_000 }, () => ada)
  expect(completed([...rows, { ...ada, ...profile }], ada)).toMatchObject(profile)
})

it('says nothing of an address that hundreds of people share, and ends for those who are linked in a long row', () => {
  const people = Array.from({ length: 300 }, (_, at) => ({
    email: 'info@acme.example',
    network_url: `https://www.network.example/in/p-${at}`,
  }))
  const asked = { email: 'info@acme.example' }
  expect(completed(people, asked)).toEqual(asked)
  const addresses = Array.from({ length: 5_000 }, (_, at) => ({ email: `a${at}@acme.example` }))
  const links = addresses.slice(1).map(({ email }, at) => ({ email, personal_email: addresses[at]?.email }))
  expect(completed([...addresses, ...links], { email: 'a0@acme.example' })).toMatchObject({
    email: 'a0@acme.example',
  })
})

it('reads the country of a company however many were read before', () => {
  for (let at = 0; at < 10_001; at++) companyIn({ name: 'Acme', country: `Nowhere ${at}` })
  expect(companyIn({ name: 'Acme', country: 'Frankreich' })).toMatchObject({ country: 'FR' })
})
