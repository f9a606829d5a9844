import { termsAt } from '../../api/values/tenure.js'
import type { Person } from '../ports/ports.js'

/** A person with the years and months in position and company of a moment. */
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
