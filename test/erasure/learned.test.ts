import { describe, expect, it } from 'vitest'
import { findSubject } from '../../src/catalogue/erasure/subject.js'
import { completePerson, erasePerson } from '../../src/erasure/person.js'
import { keysOfPerson } from '../../src/identity/person-matcher.js'
import { openState } from '../../src/storage/state/open.js'
import { eventsOver } from '../../src/storage/state/webhook-inbox.js'

const email = 'jane@acme.example'
const profile = 'https://www.network.example/in/jane-roe'
const jane = { full_name: 'Jane Roe', company_domain: 'acme.example', network_profile_url: profile }

/** Returns the state of a machine without a catalogue, which has received records. */
async function received(...leads: object[]) {
  const state = await openState(':memory:')
  const event = { path: 'p', receivedAt: 0, event: 'x', search: null, verified: true, headers: {} }
  for (const [at, lead] of leads.entries())
    await eventsOver(state).keep({ ...event, id: `event ${at}`, body: JSON.stringify({ leads: [lead] }) })
  const person = await findSubject(undefined, { email })
  const found = await completePerson({ engine: undefined, runs: [state], ...person }, 0)
  return { state, found }
}

const phone = '+33639980077'

describe('a person whom the catalogue does not know', () => {
  it('is found by all that stored records say of them, also in records without what was given', async () => {
    const { found, state } = await received(
      { ...jane, email },
      { network_profile_url: profile, phones: [phone] },
      { full_name: 'Bob Roe', phones: ['+33639980078'], company_domain: 'acme.example' },
      { phones: [phone] },
    )
    expect(keysOfPerson(found.identifiers)).toEqual(
      expect.arrayContaining([
        `person:email:${email}`,
        'person:slug:jane-roe',
        `person:phone:${phone}`,
        'person:name:jane roe:company:domain:acme.example',
      ]),
    )
    expect((await erasePerson(found, 0)).state).toMatchObject({ events: 3 })
    expect(JSON.stringify(await state.read(async (reads) => reads.all('SELECT body FROM events')))).toMatch(
      /Bob Roe/,
    )
  })

  it('is none of several who share an address', async () => {
    const { found } = await received({ ...jane, email }, { full_name: 'Bob Roe', email, phones: [phone] })
    expect(keysOfPerson(found.identifiers)).toEqual([`person:email:${email}`])
  })
})
