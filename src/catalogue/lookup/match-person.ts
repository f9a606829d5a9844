import type { PersonQuery } from '../../engine/ports/ports.js'
import { boundInteger, boundText, type Connection, type Value } from '../../storage/driver/connection.js'
import { toCompanyDomain } from '../normalize/domain.js'
import { foldName, foldText } from '../normalize/name.js'
import { parseProfile } from '../normalize/profile.js'
import { onlyOne } from '../records/match-company.js'
import { isGeneratedId } from '../records/new-person.js'
import type { StoredPerson } from '../records/person.js'
import { type FoundPerson, selectPeople } from '../records/person-record.js'

const byId = `${selectPeople} people.network_id = ${boundText}`
const bySlug = `${selectPeople} people.slug = ${boundText} LIMIT 2`
const byEmail = `${selectPeople} people.email = ${boundText} OR people.personal_email = ${boundText} LIMIT 2`
const ofCompanies = (where: string) =>
  `${selectPeople} people.name = ${boundText} AND people.company IN (SELECT key FROM companies WHERE ${where}) LIMIT 2`
const atDomain = ofCompanies(`domain = ${boundText}`)
// With an unknown domain, a company that has a domain is another one.
const atCompany = ofCompanies(`name = ${boundText} AND (${boundInteger} = 0 OR domain IS NULL)`)
const atNoCompany = `${selectPeople} people.company IS NULL AND people.name = ${boundText}`

/**
 * Returns the person of a query; `undefined` rather than the wrong one. A profile url decides. Name and company find
 * the only person of that name there, and with an unknown profile url only one who has no profile.
 */
export async function matchPerson(
  connection: Connection,
  query: PersonQuery,
): Promise<FoundPerson | undefined> {
  const profile = query.url ? parseProfile(query.url) : undefined
  if (profile?.kind !== 'person') return onlyOne(await findByName(connection, query))
  const { id, slug } = profile
  const known = await connection.all<FoundPerson>(id === undefined ? bySlug : byId, id ?? slug ?? null)
  if (known.length > 0) return onlyOne(known)
  const person = onlyOne(await findByName(connection, query))
  return person && !hasProfile(person) ? person : undefined
}

/** Returns the only person with this professional or personal email address, ignoring case. */
export async function matchEmail(connection: Connection, email: string): Promise<FoundPerson | undefined> {
  const address = email.trim().toLowerCase()
  return address === '' ? undefined : onlyOne(await connection.all<FoundPerson>(byEmail, address, address))
}

/**
 * Returns the people of that name at the company with the domain; when no company has it, at companies of that name.
 */
async function findByName(connection: Connection, query: PersonQuery): Promise<FoundPerson[]> {
  if (!query.firstName || !query.lastName) return []
  const name = foldText(`${query.firstName} ${query.lastName}`)
  if (name === '') return []
  const all = (sql: string, ...values: Value[]) => connection.all<FoundPerson>(sql, name, ...values)
  const domain = query.domain ? toCompanyDomain(query.domain, query.companyName ?? '') : undefined
  if (domain !== undefined && (await hasCompany(connection, domain))) return await all(atDomain, domain)
  const company = foldName(query.companyName ?? '')
  if (company === '') return []
  const unplaced = (await all(atNoCompany)).filter((person) => isAtCompany(person, company))
  return [...(await all(atCompany, company, domain === undefined ? 0 : 1)), ...unplaced]
}

const hasCompany = async (connection: Connection, domain: string): Promise<boolean> =>
  (await connection.get('SELECT key FROM companies WHERE domain = ?', domain)) !== undefined

function isAtCompany({ record }: FoundPerson, company: string): boolean {
  const { company_name } = JSON.parse(record) as StoredPerson
  return company_name !== undefined && foldName(company_name) === company
}

const hasProfile = ({ slug, network_id }: FoundPerson): boolean => slug !== null || !isGeneratedId(network_id)
