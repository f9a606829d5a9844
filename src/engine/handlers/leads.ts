import { ApiError } from '../../api/calls/errors.js'
import { termsAt } from '../../api/values/dates.js'
import type { Person } from '../ports/ports.js'
import type { Handler } from './handler.js'

/** One person; free when not found. `live: false` omits e-mail address and phones. */
export const enrich: Handler<'leads.enrich'> = async ({ input, source, now }) => {
  const { network_url: url, first_name: firstName, last_name: lastName } = input
  const { company_name: companyName, domain } = input
  const found = await source.person({ url, firstName, lastName, companyName, domain })
  if (!found) throw new ApiError('no_person_found')
  const person = withTenure(found, now)
  if (input.live !== false) return { output: person, used: { person: 1 } }
  const { most_probable_email: _, most_probable_email_status: __, phones: ___, ...output } = person
  return { output, used: { person: 1 } }
}

/** Returns a person with the years and months in position and company as of `now`. */
export const withTenure = (person: Person, now: number): Person => ({
  ...person,
  ...termsAt(person.current_position?.started_at, termsOf(person), now),
})

const termsOf = ({ years_in_position, months_in_position, years_in_company, months_in_company }: Person) => ({
  years_in_position,
  months_in_position,
  years_in_company,
  months_in_company,
})
