import type { Contact, FoundEmail, Provider } from '../../engine/ports/ports.js'
import type { Driver } from '../../storage/driver/connection.js'
import { matchPerson } from '../lookup/match-person.js'
import { describePhone } from '../normalize/phone.js'
import type { StoredPerson } from '../records/person.js'
import { toPerson } from '../records/person-record.js'
import { createPatternProvider } from './pattern-provider.js'

/** Creates the providers of a waterfall over the catalogue in order: known data first, then guesses. */
export const createProviders = (driver: Driver): readonly Provider[] => [
  createCatalogueProvider(driver),
  createPatternProvider(driver),
]

/** Creates the provider of stored contact data. */
function createCatalogueProvider(driver: Driver): Provider {
  const findPerson = (contact: Contact) => driver.read((connection) => matchPerson(connection, contact))
  const readPerson = async (contact: Contact): Promise<Partial<StoredPerson>> => {
    const person = await findPerson(contact)
    return person ? (JSON.parse(person.record) as StoredPerson) : {}
  }
  return {
    name: 'catalogue',
    person: async (contact) => {
      const person = await findPerson(contact)
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
      const { email, email_status } = await readPerson(contact)
      return toFoundEmail(email, email_status)
    },
    personalEmail: async (contact) => {
      const { personal_email, personal_email_status } = await readPerson(contact)
      return toFoundEmail(personal_email, personal_email_status)
    },
    phones: async (contact) => (await readPerson(contact)).phones?.map(describePhone) ?? [],
  }
}

/** An address without a status counts as checked. */
const toFoundEmail = (
  email: string | undefined,
  status: FoundEmail['status'] = 'valid',
): FoundEmail | undefined => (email === undefined ? undefined : { email, status })
