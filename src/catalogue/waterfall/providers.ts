import type { Contact, FoundEmail, Provider } from '../../engine/ports/ports.js'
import type { Driver } from '../../storage/driver/connection.js'
import { matchPerson } from '../lookup/match-person.js'
import { describePhone } from '../normalize/phone.js'
import type { StoredPerson } from '../records/person.js'
import { toPerson } from '../records/person-record.js'
import { patternProvider } from './pattern-provider.js'

/** The steps of a waterfall over the catalogue, in the order they are tried: what is known, then what can be learnt. */
export const providersOver = (driver: Driver): readonly Provider[] => [
  verifiedProvider(driver),
  patternProvider(driver),
]

/** What the catalogue itself says of how somebody is reached. */
export function verifiedProvider(driver: Driver): Provider {
  const found = (contact: Contact) => driver.read((connection) => matchPerson(connection, contact))
  const stored = async (contact: Contact): Promise<Partial<StoredPerson>> => {
    const person = await found(contact)
    return person ? (JSON.parse(person.record) as StoredPerson) : {}
  }
  return {
    name: 'catalogue',
    person: async (contact) => {
      const person = await found(contact)
      if (!person) return undefined
      const known = toPerson(person)
      return {
        url: known.network_profile_url ?? known.premium_profile_url ?? undefined,
        firstName: known.first_name ?? undefined,
        lastName: known.last_name ?? undefined,
        companyName: known.company_name ?? undefined,
        domain: known.company_domain ?? undefined,
      }
    },
    email: async (contact) => {
      const { email, email_status } = await stored(contact)
      return addressed(email, email_status)
    },
    personalEmail: async (contact) => {
      const { personal_email, personal_email_status } = await stored(contact)
      return addressed(personal_email, personal_email_status)
    },
    phones: async (contact) => (await stored(contact)).phones?.map(describePhone) ?? [],
  }
}

/** An address without a status was checked by whoever gave it. */
const addressed = (
  email: string | undefined,
  status: FoundEmail['status'] = 'valid',
): FoundEmail | undefined => (email === undefined ? undefined : { email, status })
