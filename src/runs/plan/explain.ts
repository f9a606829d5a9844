import type { Input } from '../../api/calls/caller.js'
import { ApiError, type Refusal } from '../../api/calls/errors.js'
import { flagOf } from '../../api/operations/table.js'
import type { MissingOrInvalid } from '../../api/validation/validate.js'
import { nameFields } from '../../api/values/objects.js'
import { isPlaceholder } from '../../identity/value-kinds.js'
import type { Mapping } from '../input/mapping.js'

/** What fields are called that no column fills, where a row lacks them. */
const words: Readonly<Record<string, string>> = {
  network_url: 'a profile URL',
  company_network_url: 'a profile URL',
  company_network_id: 'a network id',
  domain: 'a domain',
  company_domain: 'a domain',
  name: 'a name',
  company_name: 'a company name',
  first_name: 'a first name',
  firstname: 'a first name',
  last_name: 'a last name',
  lastname: 'a last name',
}

const foundNobody =
  'The search that wrote this row found no person for it, so there is nothing to look up, and nothing to pay: with only found rows, a search leaves it out'

/**
 * Returns what says what is wrong with a row, in the names of its columns and of the options that fill fields. `describe`
 * has the sentences of other refusals than those of the API. Of a row whose `cells` are given it says which are read as blank.
 */
export function explainRows(
  describe: (refusal: Refusal) => string,
  mapping: Mapping,
  constants: Input = {},
): (refusal: Refusal, cells?: readonly string[]) => string {
  const columns = new Map(
    mapping.columns.map(({ field, column, orElse = [] }) => [
      field,
      [column, ...orElse.map((other) => other.column)].map((name) => `"${name}"`).join(' or '),
    ]),
  )
  const optionOf = (field: string) => (constants[field] === undefined ? words[field] : `--${flagOf(field)}`)
  const nameOf = (path: string) => {
    // One value of a list, such as `phone_numbers.0`, has the name of the list.
    const field = path.replace(/\.\d+$/, '')
    return columns.get(field) ?? optionOf(field) ?? field
  }
  // The companies of a search, whose names would be split as those of people.
  const isOfCompanies =
    mapping.unused.includes('cleaned_name') && mapping.columns.some(({ part }) => part !== undefined)
  const explain = (refusal: ApiError): string => {
    const { anyOf, fields: missing, sentence = refusal.message } = refusal.details as MissingOrInvalid
    const empty = anyOf?.filter((field) => columns.has(field)).map(nameOf) ?? []
    if (empty.length > 0) return `${empty.join(', ')} ${empty.length === 1 ? 'is' : 'are'} empty`
    // One column may hold two fields, as that of full names does.
    if (!missing) return nameFields(sentence, nameOf).replace(/("[^"]+") and \1/g, '$1')
    const blank = missing.filter((field) => columns.has(field)).map((field) => `${nameOf(field)} is empty`)
    const absent = missing.filter((field) => !columns.has(field)).map((field) => `no column holds ${field}`)
    return [...blank, ...absent].join('; ')
  }
  return (refusal, cells = []) => {
    if (!(refusal instanceof ApiError)) return describe(refusal)
    // A search has a row of its own for a company where it found nobody.
    const ofLeads = mapping.columns.filter(({ column }) => column.startsWith('lead.'))
    if (ofLeads.length > 0 && ofLeads.every(({ at }) => cells[at]?.trim() === '')) return foundNobody
    const sentence = explain(refusal)
    const readAsBlank = mapping.columns.flatMap(({ field, column, at }) => {
      const cell = cells[at]?.trim() ?? ''
      const isBlank = cell !== '' && isPlaceholder(field, cell) && sentence.includes(`"${column}"`)
      return isBlank ? [`"${cell}" in "${column}" is read as blank`] : []
    })
    const ofCompanies = isOfCompanies ? ['the rows are companies, and leads search finds their people'] : []
    return [sentence, ...new Set(readAsBlank), ...ofCompanies].join('; ')
  }
}
