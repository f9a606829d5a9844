import type { Contact, FoundEmail, Provider } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { freeMailboxes } from '../normalize/domain.js'
import { matchCompany } from '../records/match-company.js'
import { type EmailPattern, learnPattern } from './email-pattern.js'

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
export const createPatternProvider = (driver: Driver): Provider => ({
  name: 'pattern',
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
