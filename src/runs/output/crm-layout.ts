import type { Shape } from '../../api/areas/shapes.js'
import { Refusal } from '../../api/calls/errors.js'
import { emailStatusOf } from '../../api/schemas/enumerations.js'
import { once, valueAt } from '../../api/values/objects.js'
import { normaliseName, synonymsOf } from '../../csv/names.js'
import { toCountryCode } from '../../identity/country.js'
import { describePhone, toE164 } from '../../identity/phone.js'
import { toDomain } from '../../identity/value-kinds.js'
import { columnsOf, type Node, nodeOf, type OutputRow, toCell, unwrap } from './columns.js'
import facts from './crm-layouts.json' with { type: 'json' }
import type { CrmName } from './crm-names.js'
import type { Layout } from './formats.js'

type Columns = Readonly<Record<string, string>>

interface CrmFacts extends Readonly<Record<CrmKind, Columns>> {
  readonly custom: Readonly<Record<CrmKind, Columns>>
}

const layouts: Readonly<Record<string, CrmFacts>> = facts.layouts satisfies Record<CrmName, CrmFacts>

export function crmColumns(crm: string, kind: CrmKind) {
  const layout = layouts[crm]
  if (!layout) throw new Error(`there is no layout ${crm}`)
  const columns = Object.entries({ ...layout[kind], ...layout.custom[kind] })
  return {
    header: columns.map(([name]) => name),
    /** Returns the cells of a record. `other` is asked for fields that the record lacks. */
    cells(record: unknown, other: (field: string) => string | undefined = () => undefined): string[] {
      const get = (field: string): unknown => {
        const path = pathsOf(kind, field).find((one) => !isEmpty(valueAt(record, one.split('.'))))
        return path === undefined ? other(field) || undefined : valueAt(record, path.split('.'))
      }
      return columns.map(([, field]) => toCell(shown[field]?.(get) ?? get(field)))
    },
  }
}

/** Returns the fields of the columns of a layout, by their headers; none where the system has no layout. */
export const layoutFields = (crm: string, kind: CrmKind): Columns =>
  layouts[crm] ? { ...layouts[crm][kind], ...layouts[crm].custom[kind] } : {}

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

type GetValue = (field: string) => unknown

/** How fields are shown that are not simply a value of the record. An empty text stands for no value. */
const shown: Readonly<Record<string, (get: GetValue) => unknown>> = {
  // Mail to an invalid address harms the sender.
  email: (get) => (addressOf(get).status === 'invalid' ? '' : addressOf(get).email),
  email_status: (get) => addressOf(get).status,
  phone: (get) => phonesOf(get).find((number) => !isMobile(number)) ?? '',
  mobile: (get) => phonesOf(get).find(isMobile) ?? '',
  domain: (get) => toDomain(toCell(get('domain'))),
  // Leads and contacts need a company.
  company_name: (get) => get('company_name') ?? toDomain(toCell(get('company_domain'))),
  company_domain: (get) => toDomain(toCell(get('company_domain'))),
  country: (get) => toCountryName(toCell(get('country'))),
  full_name: (get) => get('full_name') ?? [get('first_name'), get('last_name')].map(toCell).join(' ').trim(),
  location: (get) => get('location') ?? get('city'),
}

/** Returns the professional address, else the personal one, and its status in our words. */
function addressOf(get: GetValue): { readonly email: unknown; readonly status: string } {
  const kind = get('email') === undefined && get('personal_email') !== undefined ? 'personal_email' : 'email'
  return { email: get(kind), status: emailStatusOf(toCell(get(`${kind}_status`))) ?? '' }
}

const phonesOf = (get: GetValue): string[] => {
  const phones = get('phone')
  return Array.isArray(phones)
    ? phones.map(String)
    : toCell(phones)
        .split(/\s*;\s*/)
        .filter((one) => one !== '')
}

const isMobile = (number: string): boolean => describePhone(toE164(number) ?? number).type === 'mobile'

// Made for the first country that is written: it would slow down the start of every command.
const regionNames = once(() => new Intl.DisplayNames(['en'], { type: 'region' }))

/** Returns the English name of a country, or what was given where a file with that name would not be understood. */
function toCountryName(country: string): string {
  const code = toCountryCode(country)
  const name = code && regionNames().of(code)
  return name && toCountryCode(name) === code ? name : country
}

/** Positions of the columns that fill a field, the best first. */
type Mapped = Readonly<Record<string, readonly number[]>>

/** Columns of an input that hold the fields of a layout, by the header and by the mapping of the run. */
function inputFields(kind: CrmKind, header: readonly string[], mapped: Mapped) {
  const names = header.map(normaliseName)
  return (field: string): readonly number[] => {
    const wanted = [field, ...(synonymsOf(kind, field).sure ?? [])].map(normaliseName)
    return mapped[field] ?? [names.findIndex((name) => wanted.includes(name))]
  }
}

/**
 * Returns a layout of the columns that a system's import expects. They hold the result of the row, else the value of the input.
 * With `keepsInput`, those of the input and of the status follow; one with the name of one of them is called `input.NAME`.
 */
export function withCrmColumns(
  { header: names, cells }: ReturnType<typeof crmColumns>,
  kind: CrmKind,
  layout: Layout<OutputRow>,
  mapped: Mapped,
  keepsInput = false,
): Layout<OutputRow> {
  const taken = new Set(names.map(normaliseName))
  const rest = layout.header.map((name) => (taken.has(normaliseName(name)) ? `input.${name}` : name))
  const columnOf = inputFields(kind, layout.header, mapped)
  const header = keepsInput ? [...names, ...rest] : names
  const allCells: Layout<OutputRow>['cells'] = (row) => {
    const own = layout.cells(row)
    const crm = cells(row.body, (field) =>
      columnOf(field)
        .map((at) => own[at]?.trim())
        .find((cell) => cell !== undefined && cell !== ''),
    )
    return keepsInput ? [...crm, ...own] : crm
  }
  return {
    header,
    cells: allCells,
    record(row) {
      const written = allCells(row)
      return Object.fromEntries(header.map((name, at) => [name, written[at]]))
    },
  }
}

type CrmKind = 'companies' | 'people'

/** Returns what identifies a company or person: the profile, else the address or the domain; `undefined` without any. */
export function identityOfRecord(kind: CrmKind, record: unknown): string | undefined {
  const fields = kind === 'people' ? ['network_profile_url', 'email'] : ['network_url', 'domain']
  const values = fields
    .flatMap((field) => pathsOf(kind, field))
    .map((path) =>
      toCell(valueAt(record, path.split('.')))
        .trim()
        .toLowerCase(),
    )
  return values.find((value) => value !== '')
}

/** Returns the paths of a field in a record, the best first. */
export const pathsOf = (kind: CrmKind, field: string): readonly string[] => {
  const paths: Readonly<Record<string, readonly string[]>> = facts.fields[kind]
  return paths[field] ?? []
}

/** The fields that show what a record is about: people have one of these, companies a name and one of the others. */
const signs = {
  people: ['full_name', 'first_name', 'last_name'],
  companies: ['domain', 'network_url'],
} as const

/** Returns what a record is about, by the dotted names of its fields; `undefined` where it is no company or person. */
function crmKindOf(names: readonly string[]): CrmKind | undefined {
  const has = (kind: CrmKind, field: string) => pathsOf(kind, field).some((path) => names.includes(path))
  if (signs.people.some((field) => has('people', field))) return 'people'
  return has('companies', 'name') && signs.companies.some((field) => has('companies', field))
    ? 'companies'
    : undefined
}

/** Returns what the records of a reply are about: the reply itself, or a list in it. */
export function crmKindOfReply(output: Shape['output']): CrmKind | undefined {
  const reply = unwrap(nodeOf(output))
  const lists = [reply, ...Object.values(reply.shape ?? {}).map(unwrap)]
  const records = [reply, ...lists.flatMap(({ def }): Node[] => (def.element ? [unwrap(def.element)] : []))]
  return records
    .map((record) => crmKindOf(columnsOf(record).map(({ name }) => name)))
    .find((kind) => kind !== undefined)
}

/** Returns what records are about. Throws a Refusal where they are no companies or people. */
export const crmKindOfRecords = (names: readonly string[]): CrmKind => required(crmKindOf(names))

/** Returns what a reply is about, before it is asked for. Throws a Refusal where it has no companies or people. */
export const requireCrmKind = (output: Shape['output']): CrmKind => required(crmKindOfReply(output))

function required(kind: CrmKind | undefined): CrmKind {
  if (kind !== undefined) return kind
  throw new Refusal('output.no_layout')
}
