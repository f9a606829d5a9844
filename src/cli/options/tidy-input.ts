import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { identifying } from '../../batch/input/synonyms.js'
import { parseProfile } from '../../catalogue/normalize/profile.js'

/** Fields of which a request takes one only, the best first, by operation. */
const exclusive: Readonly<Record<string, readonly string[]>> = {
  'accounts.count_profiles': ['company_network_url', 'company_network_id'],
  'messenger.validate': ['phone_numbers', 'phone_number'],
}

/** What a profile of the other kind has in its url. */
const signs = { company: /\/(?:in|lead)\//i, person: /\/company\//i } as const

const profileFields = ['company_network_url', 'network_url', 'network_profile_url', 'linkedin_url']

/** Leaves out of the input of a row what would only spoil it: files have more columns than a request wants. */
export function tidyInput(operation: Operation): (input: Input) => Input {
  const { id, batch } = operation
  const subject = batch?.identity ?? 'company'
  const kind = subject === 'company' ? 'company' : 'person'
  const one = exclusive[id] ?? []
  const watched = [...new Set([...profileFields, ...one])]
  return (input) => {
    const best = one.find((field) => input[field] !== undefined)
    const spoilt = watched.filter(
      (field) =>
        input[field] !== undefined &&
        ((one.includes(field) && field !== best) || isOther(input, field, kind)),
    )
    if (spoilt.length === 0) return input
    // Where nothing else says whom the row means, the refusal is to name the field.
    const isKnown = identifying[subject].some(
      (field) => input[field] !== undefined && !spoilt.includes(field),
    )
    if (!isKnown) return input
    return Object.fromEntries(Object.entries(input).filter(([field]) => !spoilt.includes(field)))
  }
}

/** Whether a field holds the profile of a company where a person is meant, or the other way round. */
function isOther(input: Input, field: string, kind: 'company' | 'person'): boolean {
  const url = profileFields.includes(field) ? input[field] : undefined
  // Most are right, and reading a url takes a while.
  if (typeof url !== 'string' || !signs[kind].test(url)) return false
  const profile = parseProfile(url)
  return profile !== undefined && profile.kind !== kind
}
