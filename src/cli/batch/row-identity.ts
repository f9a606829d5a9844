import type { Input } from '../../api/calls/caller.js'
import type { Identity } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import { toJson } from '../../api/values/json.js'
import { identifying } from '../../batch/input/synonyms.js'
import { toCompanyIdentity, toPersonIdentity } from '../../catalogue/normalize/row-identity.js'

const subjects: Readonly<Record<Identity, (input: Input) => string | undefined>> = {
  company: toCompanyIdentity,
  person: toPersonIdentity,
  contact: toPersonIdentity,
  email: ({ email }) => (typeof email === 'string' ? email.trim().toLowerCase() : undefined),
  number: ({ phone_number: one, phone_numbers: many }) => JSON.stringify(one ?? many),
}

/** Fields that describe whom a row means; whatever else it has is an option of the request. */
const weaker = [
  'country',
  'country_code',
  'name',
  'company_name',
  'domain',
  'company_domain',
  'email',
  'full_name',
  'first_name',
  'last_name',
  'firstname',
  'lastname',
]

/** What makes two rows of a batch the same paid lookup: whom they mean, together with the options. */
export function identityOf(operation: Operation): (input: Input) => string | undefined {
  const subject = operation.batch?.identity ?? 'company'
  const descriptive = new Set<string>([...identifying[subject], ...weaker])
  return (input) => {
    const identity = subjects[subject](input)
    if (identity === undefined) return undefined
    const options = Object.keys(input).filter((name) => !descriptive.has(name))
    return options.length === 0
      ? identity
      : `${identity} ${toJson(options.sort().map((name) => [name, input[name]]))}`
  }
}
