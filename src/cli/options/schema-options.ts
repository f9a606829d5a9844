import { Option } from 'commander'
import type { z } from 'zod'
import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { aliasesOf, flagOf, type Operation, type OperationId } from '../../api/operations/table.js'
import {
  idsNamed,
  importFields,
  liveOnlyFilters,
  namedFields,
  orByName,
  withNamedIds,
} from '../../api/schemas/enumerations.js'
import { coerceInput, type FieldKind, kindOf, mapCountries } from '../../api/validation/coerce.js'
import { nearest } from '../../api/values/nearest.js'
import type { Fields } from '../../api/values/objects.js'
import { eventOf } from '../../api/webhooks/events.js'
import { type Node, nodeOf, resolveField } from '../../runs/output/columns.js'
import { crmKindOfReply } from '../../runs/output/crm-layout.js'
import { groups } from './help.js'
import { repeated } from './values.js'

export interface Field {
  readonly name: string
  readonly kind: FieldKind
  /** The long option, without dashes. */
  readonly flag: string
  /** The heading in help, where it is not that of all fields. */
  readonly heading?: string
}

const turnedOff: Readonly<Record<string, string>> = {
  live: 'Use results of the database instead of live ones',
  enriched: 'All searches, not only the enriched ones',
}

export function fieldsOfSchema({ shape }: z.ZodObject): Field[] {
  return Object.entries(shape).map(([name, field]) => ({ name, kind: kindOf(field), flag: flagOf(name) }))
}

/** Returns the fields with their options in other spellings, which help does not show. */
export function spellingsOf(id: OperationId, fields: readonly Field[]): Field[] {
  return Object.entries(aliasesOf(id)).flatMap(([alias, name]) => {
    const field = fields.find((one) => one.name === name)
    const flag = flagOf(alias)
    return !field || fields.some((one) => one.flag === flag) ? [] : [{ ...field, flag }]
  })
}

export const optionValues = new WeakMap<Option, readonly string[]>()

const isOfImport: ReadonlySet<string> = new Set([...importFields, 'live'])
const isOfNetwork: ReadonlySet<string> = new Set(liveOnlyFilters)

const fewFields = 12

/** Sets the headings under which help has many fields: those of an import, and what a search filters by. */
export function withHeadings(id: OperationId, fields: readonly Field[]): Field[] {
  if (fields.length <= fewFields) return [...fields]
  const ofPeople = id.startsWith('leads.')
  const headingOf = (name: string): string => {
    if (isOfImport.has(name)) return groups.request
    if (isOfNetwork.has(name)) return 'Only with live results:'
    if (!ofPeople) return 'Filters:'
    return /compan|industr|account/.test(name) && !name.startsWith('years') ? 'Companies:' : 'People:'
  }
  const filters = fields.filter(({ name }) => !isOfImport.has(name))
  const others = fields.filter(({ name }) => isOfImport.has(name))
  return [...filters, ...others].map((field) => ({ ...field, heading: headingOf(field.name) }))
}

/** Returns the options of a field: two for a switch, of which help shows the one that changes the default. */
export function optionsOf(field: Field): Option[] {
  const { flag, name, heading = groups.fields } = field
  const named = namedFields[name]
  const values = named && !named.isOpen ? Object.values(named.labels) : undefined
  const item = values && { type: 'enum' as const, required: true, description: '', values }
  const description = orByName(field.kind.description)
  const kind: FieldKind = item ? { ...field.kind, item, description } : field.kind
  const inFieldGroup = (option: Option): Option => option.helpGroup(heading)
  if (kind.type === 'boolean') {
    const on = new Option(`--${flag}`, describe(kind))
    const off = new Option(`--no-${flag}`, turnedOff[name] ?? describe(kind))
    return [on.hideHelp(kind.default === true), off.hideHelp(kind.default !== true)].map(inFieldGroup)
  }
  // As in other tools, the number of results has a short form.
  const short = flag === 'limit' ? '-L, ' : ''
  const option = new Option(`${short}--${flag} <${placeholder(kind)}>`, describe(kind))
  optionValues.set(option, kind.values ?? kind.item?.values ?? [])
  const isMany = kind.type === 'array' || kind.type === 'object'
  return [inFieldGroup(isMany ? option.argParser(repeated) : option)]
}

function placeholder(kind: FieldKind): string {
  if (kind.type === 'integer' || kind.type === 'number') return 'n'
  if (kind.type === 'object') return 'key=value'
  if (kind.type === 'array' && kind.item?.type === 'object') return 'json'
  if (kind.type === 'array') return kind.hasCommas ? 'value,…' : 'text'
  return kind.type === 'enum' ? 'word' : 'text'
}

function describe(kind: FieldKind): string {
  const values = kind.values ?? kind.item?.values
  const notes = [
    kind.required ? 'required' : '',
    values ? values.join(' | ') : '',
    kind.isCountry ? 'or its name' : kind.item?.isCountry ? 'codes or names' : '',
    (kind.type === 'array' && !kind.hasCommas) || kind.type === 'object' ? 'repeatable' : '',
    kind.default === undefined || kind.type === 'boolean' ? '' : `default: ${kind.default}`,
  ].filter((note) => note !== '')
  return notes.length === 0 ? kind.description : `${kind.description} (${notes.join('; ')})`
}

/** Reads the fields given as options. Throws a Refusal where a value cannot be of the field's kind. */
export function inputOf(schema: z.ZodObject, fields: readonly Field[], options: Fields): Input {
  const given: Record<string, unknown> = {}
  for (const { name, flag } of fields) {
    const value = options[attribute(flag)]
    if (value === undefined) continue
    if (given[name] !== undefined) throw new Refusal('usage.spelling_twice', { flag, name })
    given[name] = value
  }
  const input = withIds(fields, coerceInput(schema, given))
  for (const field of fields) if (input[field.name] !== undefined) check(field, input[field.name])
  return input
}

/** Returns the input with ids for the names of functions and the like. Throws a Refusal for a name of none or several. */
function withIds(fields: readonly Field[], given: Input): Input {
  const input = withNamedIds(given)
  for (const [name, value] of Object.entries(input)) {
    const named = namedFields[name]
    if (!named) continue
    const { labels, isOpen } = named
    const flag = fields.find((field) => field.name === name)?.flag ?? name
    for (const text of [value].flat()) {
      if (typeof text !== 'string' || Object.hasOwn(labels, text) || /^\d+$/.test(text)) continue
      const names = idsNamed(labels, text).map((id) => labels[id])
      if (names.length > 0)
        throw new Refusal('usage.value_ambiguous', { flag, text, names: names.join(' or ') })
      // The catalogue of this machine may have others.
      if (!isOpen) refuseValue(flag, text, Object.values(labels))
    }
  }
  return input
}

/** Returns the input with codes for the names of countries, and for an unknown one with what `otherwise` returns. */
export async function withCountryCodes(
  schema: Shape['input'],
  input: Input,
  otherwise: (flag: string, text: string) => string = refuseCountry,
): Promise<Input> {
  const countries = new Set<string>()
  mapCountries(schema, input, (text) => {
    countries.add(text)
    return text
  })
  if (countries.size === 0) return input
  const { toCountryCode } = await import('../../identity/country.js')
  const entries = Object.entries(input).map(([name, value]): [string, unknown] => {
    const field = (schema.shape as Shape['input']['shape'])[name]
    const toCode = (text: string) => toCountryCode(text) ?? otherwise(flagOf(name), text)
    return [name, field ? mapCountries(field, value, toCode) : value]
  })
  return Object.fromEntries(entries)
}

function refuseCountry(flag: string, text: string): never {
  throw new Refusal('usage.country', { flag, text })
}

export const attribute = (flag: string): string =>
  flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

function check({ flag, kind }: Field, value: unknown): void {
  if (kind.type === 'integer' && !Number.isInteger(value)) throw new Refusal('usage.whole_number', { flag })
  if (kind.type === 'number' && typeof value !== 'number') throw new Refusal('usage.number', { flag })
  if (kind.type === 'object' && (typeof value !== 'object' || Array.isArray(value)))
    throw new Refusal('usage.object_value', { flag })
  if (kind.item?.type === 'object' && Array.isArray(value) && value.some((item) => typeof item !== 'object'))
    throw new Refusal('usage.objects_value', { flag })
  const words = kind.values ?? kind.item?.values
  const unknown = words && [value].flat().find((word) => !words.includes(String(word)))
  if (words && unknown !== undefined) refuseValue(flag, String(unknown), words)
}

function refuseValue(flag: string, text: string, values: readonly string[]): never {
  throw new Refusal('usage.value', { flag, text, near: nearest(text, values), known: values })
}

/** Returns the names of `--fields` as a result of this schema has them. Throws a Refusal for one that it cannot have. */
export function resolveFields(output: Shape['output'], fields: readonly string[]): string[] {
  const names = namesIn(nodeOf(output))
  const open = names.flatMap((name) => (name.endsWith('*') ? [name.slice(0, -1)] : []))
  const known = names.filter((name) => !name.endsWith('*'))
  return fields.map((field) => {
    const isOpen = open.some((object) => field.startsWith(object))
    return isOpen && !known.includes(field) ? field : resolveField(field, known)
  })
}

/** Whether a result of this schema can have a field of this name; not among an object's own keys. */
export const hasField = (output: Shape['output'], field: string): boolean =>
  namesIn(nodeOf(output)).includes(field)

/** Returns dotted names, also of the records in its lists. `custom.*` stands for an object with any keys. */
function namesIn(node: Node, path: readonly string[] = []): string[] {
  const { innerType, out, element, type, options = [] } = node.def
  if (type === 'record') return [[...path, '*'].join('.')]
  const fields = Object.entries(node.shape ?? {}).flatMap(([name, field]) => [
    [...path, name].join('.'),
    ...namesIn(field, [...path, name]),
  ])
  const same = [innerType, out, ...options].flatMap((inner) => (inner ? namesIn(inner, path) : []))
  const records = element && path.length < 2 ? namesIn(element) : []
  return [...new Set([...fields, ...same, ...records])]
}

/** The fields that the words after a command fill, as in `accounts technologies react`. */
const fieldByWord: Partial<Readonly<Record<OperationId, string>>> = {
  'accounts.extract': 'search_url',
  'accounts.enrich': 'domain',
  'accounts.headcount': 'company_domain',
  'accounts.hiring': 'company_domain',
  'accounts.stack': 'company_domain',
  'accounts.count_profiles': 'company_network_url',
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

/** Returns the field that the words after a command fill; `undefined` where it takes none. */
export const fieldOfWords = (id: OperationId, fields: readonly Field[]): Field | undefined =>
  fields.find(({ name }) => name === fieldByWord[id])

/** Returns these words as help shows them: in brackets, because an option can replace them. */
export const argumentText = ({ name, kind }: Field): string =>
  kind.type === 'array' ? `[${name}...]` : `[${name}]`

/** Returns the options with the words as the value of one. Throws a Refusal where both are given. */
export function withWords(field: Field | undefined, words: readonly string[], options: Fields): Fields {
  if (!field || words.length === 0) return options
  const name = attribute(field.flag)
  if (options.csv !== undefined) throw new Refusal('usage.word_or_csv', { name: field.name })
  if (/\.(?:csv|tsv|xlsx?|ndjson|jsonl|txt)$/i.test(words[0] ?? ''))
    throw new Refusal('usage.file_as_word', { file: words[0], field: field.name.replaceAll('_', ' ') })
  if (options[name] !== undefined)
    throw new Refusal('usage.word_and_option', { word: words[0], flag: field.flag, name: field.name })
  return { ...options, [name]: field.kind.type === 'array' ? words : words[0] }
}

/** Whether a command can print companies or people, now or when its work is done. */
export function hasRecords({ id, batch }: Operation, shape: Shape): boolean {
  const event = eventOf(id)
  if (event !== undefined) return event !== 'list_import'
  return batch?.record === true || crmKindOfReply(shape.output) !== undefined
}
