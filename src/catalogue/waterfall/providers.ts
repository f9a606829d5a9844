import type { Contact, FoundEmail, Provider } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { matchPerson } from '../lookup/lookups.js'
import { freeMailboxes } from '../normalize/domain.js'
import { describePhone } from '../normalize/phone.js'
import { matchCompany } from '../records/match-company.js'
import type { StoredPerson } from '../records/person.js'
import { toPerson } from '../records/person.js'
import { type EmailPattern, learnPattern } from './email-pattern.js'

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

/** Maximum numbers of addresses used to learn a pattern, and of colleagues read to find them. */
const mostExamples = 50
const mostColleagues = 1_000

const colleagues = `SELECT email, json_extract(record, '$.first_name') AS first, json_extract(record, '$.last_name') AS last
  FROM (SELECT email, record FROM people WHERE company = ? ORDER BY name, key LIMIT ${mostColleagues}) AS colleagues
  WHERE email IS NOT NULL AND coalesce(json_extract(record, '$.email_status'), 'valid') = 'valid' LIMIT ${mostExamples}`
const owner = 'SELECT key FROM people WHERE email = ? OR personal_email = ? LIMIT 1'

interface Colleague {
  readonly email: string
  readonly first: string | null
  readonly last: string | null
}

/** Guesses an address from the pattern of the colleagues' addresses; its status is always `risky`. */
const createPatternProvider = (driver: Driver): Provider => ({
  name: 'pattern',
  isGuess: true,
  email: (contact) => driver.read((connection) => guessEmail(connection, contact)),
})

async function guessEmail(connection: Connection, contact: Contact): Promise<FoundEmail | undefined> {
  const { firstName: first, lastName: last } = contact
  if (!first || !last) return undefined
  const company = await matchCompany(connection, { domain: contact.domain, name: contact.companyName })
  if (!company) return undefined
  const habit = learnHabit(await connection.all<Colleague>(colleagues, company.key), company.domain)
  const local = habit?.pattern.localPart({ first, last })
  if (habit === undefined || local === undefined) return undefined
  const email = `${local}@${habit.domain}`
  // A known address belongs to another person, or is known to be wrong.
  return (await connection.get(owner, email, email)) ? undefined : { email, status: 'risky' }
}

/** The domain and pattern of the colleagues' addresses. */
interface Habit {
  readonly domain: string
  readonly pattern: EmailPattern
}

/** Learns the pattern of the domain that most colleagues write from; of several, that of the company's website. */
function learnHabit(people: readonly Colleague[], own: string | null): Habit | undefined {
  const all = people.flatMap(({ email, first, last }) => {
    const [local = '', domain = ''] = email.split('@')
    return !first || !last || freeMailboxes.has(domain) ? [] : [{ first, last, local, domain }]
  })
  const examples = Map.groupBy(all, ({ domain }) => domain)
  const most = Math.max(0, ...[...examples.values()].map(({ length }) => length))
  const domains = [...examples.keys()].filter((domain) => examples.get(domain)?.length === most)
  const domain = domains.length === 1 ? domains[0] : domains.find((one) => one === own)
  const pattern = domain === undefined ? undefined : learnPattern(examples.get(domain) ?? [])
  return domain !== undefined && pattern ? { domain, pattern } : undefined
}
