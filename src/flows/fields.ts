import type { Shape } from '../api/areas/shapes.js'
import type { Input } from '../api/calls/caller.js'
import type { Operation } from '../api/operations/table.js'
import { accountRecord, leadAndCompany, leadRecord } from '../api/schemas/records.js'
import { type Fields, isObject, valueAt } from '../api/values/objects.js'
import { isLeaf, type Scope } from '../lists/expressions.js'
import type { ListKind } from '../lists/list-index.js'
import { describing, identifying } from '../runs/input/identifying.js'
import { fileKindOf, recordFieldsOf } from '../runs/input/mapping.js'
import { columnsOf, nodeOf, rowColumnsOf } from '../runs/output/columns.js'
import { scopeOf } from '../runs/output/select.js'
import type { RowSuppressor } from '../runs/plan/lookup.js'

export interface FlowRow {
  /** Line of the input that it comes from. */
  readonly line: number
  /** Its fields; `undefined` where it has left the flow. It keeps its place, so that the rows behind it keep theirs. */
  readonly fields: Fields | undefined
}

/** What rows are about after a step, and the fields that they have then. */
export interface RowShape {
  readonly about: ListKind
  readonly fields: Scope
}

/** Where a result goes: to the row, below `company`, to a row for each of its people, or to the rows of the input. */
export type ResultPlace = 'row' | 'company' | 'people' | 'records'

/** The field of the answer to an import that has what it found. */
export const foundIn = 'people'

/** Returns where the result of an operation goes; `undefined` where rows are not what it looks up. */
export function placeOf({ starts, batch }: Operation, { about }: RowShape): ResultPlace | undefined {
  if (starts === 'import') return about === 'companies' ? 'people' : undefined
  if (fileKindOf(batch?.identity ?? 'company') === about) return 'row'
  return about === 'people' ? 'company' : undefined
}

/** Fields of replies that say nothing about a company or person. */
const unsaid = new Set(['enrichment_id', 'credits_used', 'custom', 'message', 'status'])

/** Returns the shape of rows after a lookup. */
export function shapeAfter(
  before: RowShape,
  place: ResultPlace,
  operation: Operation,
  shape: Shape,
  constants: Input,
  sources: boolean,
): RowShape {
  const columns =
    place === 'people'
      ? columnsOf(nodeOf(leadAndCompany()))
      : rowColumnsOf({ operation, shape, constants, choices: { sources } }, false).usual
  const isSaid = ({ path }: { readonly path: readonly string[] }) => !unsaid.has(path.at(-1) ?? '')
  const found = scopeOf(isKeyed(operation) ? [{ path: [keyed] }] : columns.filter(isSaid))
  if (place === 'row') return { ...before, fields: { ...before.fields, ...found } }
  const { company, input, ...own } = before.fields
  const kept = input === undefined ? {} : { input }
  if (place === 'company')
    return { about: 'people', fields: { ...own, ...kept, company: { ...within(company), ...found } } }
  const { lead, company: employer } = found
  return { about: 'people', fields: { ...within(lead), ...kept, company: { ...own, ...within(employer) } } }
}

const within = (known: Scope[string] | undefined): Scope => (known && !isLeaf(known) ? known : {})

/** A reply that is keyed by departments is one field of the row. */
const keyed = 'departments'
const isKeyed = ({ id }: Operation): boolean => id === 'accounts.headcount'

/** Returns a row with the result of a lookup. What was not found leaves what is there. */
export function withResult(row: Fields, place: ResultPlace, operation: Operation, body: unknown): Fields {
  const found = isKeyed(operation) ? { [keyed]: body ?? null } : asFields(body)
  if (place === 'row') return merge(row, found)
  if (place === 'company') return { ...row, company: merge(asFields(row.company), found) }
  const { input, ...company } = row
  return {
    ...asFields(found.lead),
    ...(input === undefined ? {} : { input }),
    company: merge(company, asFields(found.company)),
  }
}

/** Returns a value as an object; an empty one where it is none. */
export const asFields = (value: unknown): Fields => (isObject(value) ? value : {})

const merge = (row: Fields, found: Fields): Fields => ({
  ...row,
  ...Object.fromEntries(
    Object.entries(found).filter(
      ([name, value]) => !unsaid.has(name) && (value !== null || row[name] === undefined),
    ),
  ),
})

export function hasField(fields: Scope, path: string): boolean {
  let at: Scope[string] | undefined = fields
  for (const part of partsOf(path)) {
    if (at && isLeaf(at)) return true
    at = at !== undefined && Object.hasOwn(at, part) ? at[part] : undefined
  }
  return at !== undefined
}

/** Names of columns may have dots. */
const partsOf = (path: string): string[] =>
  path.startsWith('input.') ? ['input', path.slice('input.'.length)] : path.split('.')

export const fieldOf = (row: Fields, path: string): unknown => valueAt(row, partsOf(path))

export function fieldReader(paths: readonly string[]): (row: Fields) => unknown[] {
  const parts = paths.map(partsOf)
  return (row) => parts.map((path) => valueAt(row, path) ?? null)
}

/** The fields of a request that rows fill, each with the fields of rows for it, the best first. */
export type Filling = readonly (readonly [field: string, paths: readonly string[]])[]

/** Returns the fields of a request that rows may fill: of a search, those that say which company it is. */
export const rowFields = ({ starts }: Operation, fields: object): readonly string[] =>
  starts === 'import' ? ['company_domain', 'company_network_url', 'company_network_id'] : Object.keys(fields)

/** Returns how rows fill the requests of an operation. `given` are fields that the flow fills. */
export function fillingOf(
  operation: Operation,
  { input }: Shape,
  { about, fields }: RowShape,
  given: readonly string[],
  mapped: Readonly<Record<string, string>> = {},
): Filling {
  const subject = operation.batch?.identity ?? 'company'
  const kind = fileKindOf(subject)
  const meant = new Set<string>([...identifying[subject], ...describing, 'country', 'country_code'])
  return rowFields(operation, input.shape).flatMap((field): Filling => {
    const path = mapped[field]
    if (path !== undefined) return [[field, [path]]]
    if (given.includes(field) || !meant.has(field)) return []
    const paths = pathsFor(field, kind, about).filter((one) => hasField(fields, one))
    return paths.length > 0 ? [[field, paths]] : []
  })
}

/** Fields of rows about people that identify them beside those that a request has, each with its paths. */
export const identifyingBeside = (filling: Filling): Filling =>
  ['email', 'personal_email', 'network_url'].flatMap(
    (field): Filling =>
      filling.some(([filled]) => filled === field) ? [] : [[field, pathsFor(field, 'people', 'people')]],
  )

function pathsFor(field: string, kind: ListKind, about: ListKind): readonly string[] {
  const own = recordFieldsOf(kind, field)
  if (kind === 'companies') {
    if (about === 'companies') return own
    const bare = own.flatMap((name) => (name === 'name' || name === 'domain' ? [`company_${name}`] : []))
    return [...own.map((name) => `company.${name}`), ...bare]
  }
  const nested = /^(?:company_)?(name|domain)$/.exec(field)?.[1]
  if (nested !== undefined && (field !== 'name' || own[0] === 'company_name'))
    return [`company.${nested}`, ...own]
  return field === 'email' ? [...own, 'most_probable_email'] : own
}

/** Returns the field of rows that a column of a list fills. */
export const recordNameOf = (about: ListKind, field: string): string =>
  recordFieldsOf(about, field)[0] ?? field

export const pathsOf = (fields: Scope, before = ''): string[] =>
  Object.entries(fields).flatMap(([name, below]) =>
    isLeaf(below) ? [before + name] : pathsOf(below, `${before}${name}.`),
  )

export const rowOfRecord = (record: unknown): Fields =>
  isObject(record) && isObject(record.lead)
    ? { ...record.lead, company: record.company ?? null }
    : asFields(record)

/** Returns which rows are about somebody suppressed, or at a company that is. */
export async function suppressedIn(
  suppressor: RowSuppressor,
  rows: readonly Fields[],
): Promise<readonly boolean[]> {
  const companies = rows.map(({ company }) => asFields(company))
  const people = rows.map((row, at) => ({ company_domain: companies[at]?.domain, ...row }))
  const [own, theirs] = await Promise.all([suppressor.areAbout(people), suppressor.areAbout(companies)])
  return rows.map((_, at) => own[at] === true || theirs[at] === true)
}

/** Returns what the records of a search or a list are. */
export function recordShape(about: ListKind): RowShape {
  const company = scopeOf(columnsOf(nodeOf(accountRecord())))
  if (about === 'companies') return { about, fields: company }
  return { about, fields: { ...scopeOf(columnsOf(nodeOf(leadRecord()))), company } }
}
