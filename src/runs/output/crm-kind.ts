import type { Shape } from '../../api/areas/shapes.js'
import { Refusal } from '../../api/calls/errors.js'
import { columnsOf, type Node, nodeOf, unwrap } from './columns.js'
import facts from './crm-layouts.json' with { type: 'json' }

/** The systems whose import has a layout. */
export const crmNames: readonly string[] = Object.keys(facts.layouts)

/** What the rows of a layout are about. */
export type CrmKind = 'companies' | 'people'

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
