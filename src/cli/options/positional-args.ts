import type { OperationId } from '../../api/operations/table.js'
import { UsageError } from '../context/errors.js'
import { attribute, type Field } from './schema-options.js'

/** The field that a word after the command means, where it can only mean one: `accounts technologies react`. */
const fieldByWord: Partial<Readonly<Record<OperationId, string>>> = {
  'accounts.extract': 'search_url',
  'accounts.enrich': 'domain',
  'accounts.headcount': 'company_domain',
  'accounts.hiring': 'company_domain',
  'accounts.stack': 'company_domain',
  'accounts.technologies': 'query',
  'leads.extract': 'search_url',
  'leads.search': 'company_domain',
  'leads.enrich': 'network_url',
  'contacts.reverse_lookup': 'email',
  'intents.post_engagers': 'post_url',
  'messenger.validate': 'phone_numbers',
  'titles.suggest': 'job_titles',
  'locations.find': 'name',
}

/** The field that the words after a command fill; nothing where it takes none. */
export const fieldOfWords = (id: OperationId, fields: readonly Field[]): Field | undefined =>
  fields.find(({ name }) => name === fieldByWord[id])

/** How help shows those words: in brackets, for the option does the same. */
export const placeOf = ({ name, kind }: Field): string =>
  kind.type === 'array' ? `[${name}...]` : `[${name}]`

/** The options as if the words had been given as one of them. */
export function withWords(
  field: Field | undefined,
  words: readonly string[],
  options: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (!field || words.length === 0) return options
  const name = attribute(field.flag)
  if (options.csv !== undefined)
    throw new UsageError(
      `"${words[0]}" is one ${field.name}, and --csv has one in each row.`,
      'Give one of them.',
    )
  if (options[name] !== undefined)
    throw new UsageError(`"${words[0]}" and --${field.flag} both give the ${field.name}.`, 'Give it once.')
  return { ...options, [name]: field.kind.type === 'array' ? words : words[0] }
}
