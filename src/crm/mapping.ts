import { Refusal } from '../api/calls/errors.js'
import { nearest } from '../api/values/nearest.js'
import type { Fields } from '../api/values/objects.js'
import { columnNamed, normaliseName, synonymsOf } from '../csv/names.js'
import { toDomain, toEmail } from '../identity/value-kinds.js'
import { parsePins, positionsOf, rowInput, unknownName } from '../runs/input/mapping.js'
import type { Table } from '../runs/input/table.js'
import { mapList, pairsFor } from '../runs/lists.js'
import { layoutFields } from '../runs/output/crm-layout.js'
import { type CrmConnector, type CrmKind, type CrmProperty, type CrmValues, idColumn } from './connector.js'

/** A column of a file, and the property that it fills. */
export interface PushColumn {
  readonly column: string
  readonly at: number
  readonly property: CrmProperty
}

export interface PushMapping {
  readonly kind: CrmKind
  readonly columns: readonly PushColumn[]
  /** Columns that say which company a person has. */
  readonly ofCompany: readonly string[]
  /** Columns that fill nothing. */
  readonly unused: readonly string[]
  /** Returns the id in a row, what identifies its subject, and, of a person, what identifies the company. */
  idOf(cells: readonly string[]): string | undefined
  identityOf(cells: readonly string[]): Fields
  companyOf(cells: readonly string[]): Fields | undefined
  valuesOf(cells: readonly string[]): { readonly values: CrmValues; readonly left: readonly string[] }
}

interface MappingAsked {
  readonly kind?: CrmKind | undefined
  readonly map: readonly string[]
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** Names that lists have for what a layout calls otherwise. */
const identifyingAs: Readonly<Record<CrmKind, Readonly<Record<string, string>>>> = {
  companies: { network_url: 'network_url' },
  people: { network_profile_url: 'network_url' },
}

/**
 * Finds which property each column of a file fills: as `--map` says, by its own name, by the headers of the layout, by our names of fields, or
 * because it is recognised. Throws a Refusal for a property that the account does not have, or that cannot be written.
 */
export function mapPush(
  connector: Pick<CrmConnector, 'crm' | 'fields'>,
  table: Pick<Table, 'header' | 'samples' | 'notes'>,
  file: string,
  schemaOf: Readonly<Record<CrmKind, readonly CrmProperty[]>>,
  { kind: asked, map, values: words }: MappingAsked,
): PushMapping {
  const { header } = table
  const pins = parsePins(map)
  const isOfList = (kind: CrmKind) => (name: string) =>
    Object.hasOwn(connector.fields[kind], name) && name !== 'website'
  const kinds = asked ? [asked] : (['people', 'companies'] as const)
  const ownPairs = pairsFor(map, header).filter((pair) =>
    kinds.some((kind) => isOfList(kind)(pair.slice(0, pair.indexOf('=')).trim())),
  )
  const pairs = ownPairs.map((pair) => pair.replace(/^\s*network_profile_url\s*=/, 'network_url='))
  const listed = [
    'name',
    'domain',
    'email',
    'first_name',
    'last_name',
    'company_name',
    'network_url',
    'country',
  ]
  const list = mapList(
    table,
    file,
    asked,
    pairs.filter((pair) => listed.includes(pair.slice(0, pair.indexOf('=')).trim())),
  )
  const { kind, mapping } = list
  const schema = schemaOf[kind]
  const fields: Readonly<Record<string, string>> = connector.fields[kind]
  // Where a company has a website beside it, its domain is nothing but that.
  const kindsOf = { [fields.email ?? '']: 'email', [domainIn(fields) ?? '']: 'domain' } as const
  const names = header.map(normaliseName)
  const layout = Object.entries(layoutFields(connector.crm, kind))
  const found = new Map<string, PushColumn>()
  const take = (name: string, at: number, isAsked: boolean) => {
    if (at < 0 || found.has(name)) return
    const property = schema.find((one) => one.name === name)
    if (isAsked) checkProperty(connector.crm, name, property, schema)
    if (!property || property.isReadOnly) return
    if ([...found.values()].some((one) => one.at === at)) return
    found.set(name, { column: header[at] ?? '', at, property })
  }
  const left = new Set<string>()
  for (const [field, column] of Object.entries(pins)) {
    const name = fields[field] ?? field
    if (column === '') {
      left.add(name)
      continue
    }
    const at = columnNamed(header, column)
    if (at < 0) throw unknownName('column', column, header)
    take(name, at, true)
  }
  for (const [field, name] of Object.entries(fields)) {
    if (left.has(name)) continue
    const headers = layout.flatMap(([title, of]) => (of === field ? [title] : []))
    const wanted = [name, ...headers, field, ...(synonymsOf(kind, field).sure ?? [])].map(normaliseName)
    const recognised = positionsOf(mapping, identifyingAs[kind][field] ?? field)[0] ?? -1
    const named = wanted.map((one) => names.indexOf(one)).find((at) => at >= 0)
    take(name, named ?? recognised, false)
  }
  const columns = [...found.values()]
  const idAt = header.indexOf(idColumn)
  const toFields = rowInput(mapping)
  const company = kind === 'people' ? ['company_domain', 'company_name'] : []
  const atCompany = company.flatMap((field) => positionsOf(mapping, field))
  return {
    kind,
    columns,
    ofCompany: atCompany.map((at) => header[at] ?? ''),
    unused: header.filter(
      (name, at) =>
        at !== idAt &&
        !name.startsWith('_') &&
        !atCompany.includes(at) &&
        columns.every((one) => one.at !== at),
    ),
    idOf: (cells) => cells[idAt]?.trim() || undefined,
    identityOf: toFields,
    companyOf(cells) {
      if (kind !== 'people') return undefined
      const { company_domain: domain, company_name: name } = toFields(cells)
      return domain === undefined && name === undefined ? undefined : { domain, name }
    },
    valuesOf(cells) {
      const values: Record<string, string> = {}
      const without: string[] = []
      for (const { at, property } of columns) {
        const cell = cells[at]?.trim() ?? ''
        if (cell === '') continue
        const value = toValue(property, cell, words[property.name] ?? {}, kindsOf[property.name])
        if (value === undefined) without.push(property.name)
        else values[property.name] = value
      }
      return { values, left: without }
    },
  }
}

/** Returns the property that takes a domain and no address of a page. */
export const domainIn = (fields: Readonly<Record<string, string>>): string | undefined =>
  fields.domain === fields.website ? undefined : fields.domain

/** Throws a Refusal for the first of some names, ours or those of the account, that is no property which can be written. */
export async function requireProperties(
  { crm, fields, schema }: Pick<CrmConnector, 'crm' | 'fields' | 'schema'>,
  kind: CrmKind,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  const own: Readonly<Record<string, string>> = fields[kind]
  const known = await schema(kind)
  for (const name of names) {
    const property = own[name] ?? name
    checkProperty(
      crm,
      property,
      known.find((one) => one.name === property),
      known,
    )
  }
}

/** Throws a Refusal for a property that the account does not have, or that cannot be written. */
export function checkProperty(
  crm: string,
  name: string,
  property: CrmProperty | undefined,
  schema: readonly CrmProperty[],
): asserts property is CrmProperty {
  const known = schema.filter((one) => !one.isReadOnly).map((one) => one.name)
  if (!property) throw new Refusal('crm.no_property', { crm, name, meant: nearest(name, known) })
  if (property.isReadOnly) throw new Refusal('crm.read_only', { crm, name })
}

const truths: Readonly<Record<string, string>> = {
  true: 'true',
  yes: 'true',
  1: 'true',
  false: 'false',
  no: 'false',
  0: 'false',
}

/** Returns a cell as a property takes it; `undefined` where it does not. */
function toValue(
  { type, options }: CrmProperty,
  cell: string,
  words: Readonly<Record<string, string>>,
  kind: 'email' | 'domain' | undefined,
): string | undefined {
  if (type === 'number') {
    const digits = /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(cell) ? cell.replaceAll(',', '') : cell
    return /^-?\d+(?:\.\d+)?$/.test(digits) ? digits : undefined
  }
  if (type === 'boolean') return truths[cell.toLowerCase()]
  if (type === 'date' || type === 'datetime') return /^\d{4}-\d{2}-\d{2}/.test(cell) ? cell : undefined
  if (type === 'choice') return optionOf(options, cell, words)
  if (type === 'choices') {
    const parts = cell.split(/[;,]/).map((part) => optionOf(options, part.trim(), words))
    return parts.every((part) => part !== undefined) ? parts.join(';') : undefined
  }
  if (kind === undefined) return cell
  return kind === 'email' ? toEmail(cell) : toDomain(cell)
}

/** Returns the value of an option: it, else its label, else what the mapping says. */
function optionOf(
  options: CrmProperty['options'],
  text: string,
  words: Readonly<Record<string, string>>,
): string | undefined {
  const is = (one: string) => one.toLowerCase() === text.toLowerCase()
  const found =
    options.find(({ value }) => value === text) ??
    options.find(({ value }) => is(value)) ??
    options.find(({ label }) => is(label))
  if (found) return found.value
  const [, said] = Object.entries(words).find(([word]) => is(word)) ?? []
  return options.find(({ value, label }) => value === said || label === said)?.value
}
