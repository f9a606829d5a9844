import { ApiError } from '../../api/errors.js'
import type { Handler } from '../handler.js'
import { withTenure } from '../tenure.js'

/** The person behind a professional or personal e-mail address; free when nobody is found. */
export const reverseLookup: Handler<'contacts.reverse_lookup'> = async ({ input, source, now }) => {
  const person = await source.personByEmail(input.email)
  if (!person) throw new ApiError('no_person_found')
  return { output: withTenure(person, now), used: { person: 1 } }
}
