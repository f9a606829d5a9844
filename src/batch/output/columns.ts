import type { Shape } from '../../api/areas/shapes.js'

/** A column of results: its name, and the way to its value in a reply. */
export interface ResultColumn {
  readonly name: string
  readonly path: readonly string[]
  /** What is shown of the value there; the value itself where absent. */
  readonly show?: (value: unknown) => unknown
}

/** As much of a schema as its columns depend on. */
export interface Node {
  readonly shape?: Readonly<Record<string, Node>>
  readonly def: {
    readonly type: string
    readonly innerType?: Node
    readonly out?: Node
    readonly element?: Node
    readonly valueType?: Node
    readonly options?: readonly Node[]
  }
}

/** The columns of an operation's reply: its fields, those of nested objects as `outer.inner`. */
export const resultColumns = (output: Shape['output']): ResultColumn[] => columnsOf(nodeOf(output))

/** A schema as its columns see it. */
export const nodeOf = (output: Shape['output']): Node => output as unknown as Node

/** The columns of a schema. */
export function columnsOf(node: Node): ResultColumn[] {
  const columns = new Map<string, ResultColumn>()
  collect(node, [], columns)
  return [...columns.values()]
}

function collect(node: Node, path: readonly string[], columns: Map<string, ResultColumn>): void {
  const { innerType, out, options } = node.def
  const inner = node.def.type === 'pipe' ? out : innerType
  if (inner) collect(inner, path, columns)
  else if (node.shape)
    for (const [key, field] of Object.entries(node.shape)) collect(field, [...path, key], columns)
  else if (options?.some(hasFields)) for (const option of options) collect(option, path, columns)
  else if (path.length > 0 || node.def.type === 'record') {
    // A reply whose keys are not known beforehand goes into one cell.
    const name = path.join('.') || 'reply'
    columns.set(name, { name, path })
  }
}

const hasFields = (node: Node): boolean =>
  node.shape !== undefined || (node.def.innerType !== undefined && hasFields(node.def.innerType))

/** The value at a path of a reply; undefined where the path ends early. */
export function valueAt(body: unknown, path: readonly string[]): unknown {
  let value = body
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** What a column shows of a reply. */
export function shownOf(body: unknown, { path, show }: ResultColumn): unknown {
  const value = valueAt(body, path)
  return show && value !== undefined ? show(value) : value
}

/** The results within a reply that holds several: a list in one of its fields, or a reply that is keyed by them. */
export interface Many {
  /** The field with the list; undefined where the keys of the reply are what tells its results apart. */
  readonly field: string | undefined
  /** Column for those keys. */
  readonly keyedBy: string
}

/** The columns of a reply with several results, all in one row: the list in one cell, and how many it has. */
export function listColumns(output: Shape['output'], { field }: Many): ResultColumn[] {
  return columnsOf(nodeOf(output)).flatMap((column) =>
    column.name === field ? [{ name: `${field}_count`, path: column.path, show: countOf }, column] : [column],
  )
}

/** The same where each result has few fields and there is mostly one: a column for each of them, `a; b` where there are more. */
export function joinedColumns(output: Shape['output'], { field }: Many): ResultColumn[] {
  const inner = columnsOf(itemOf(output, field)).map(({ name, path }) => ({
    name,
    path: [field ?? ''],
    show: (list: unknown) =>
      Array.isArray(list)
        ? list.map((item) => (item as Record<string, unknown>)[path[0] ?? ''] ?? null)
        : undefined,
  }))
  return columnsOf(nodeOf(output)).flatMap((column) => (column.name === field ? inner : [column]))
}

/** The columns of a row for each result: what the results share, then what each of them has. */
export function explodedColumns(output: Shape['output'], { field, keyedBy }: Many): ResultColumn[] {
  const inner = columnsOf(itemOf(output, field))
  if (field === undefined) return [{ name: keyedBy, path: [keyedBy] }, ...inner]
  const shape = nodeOf(output).shape ?? {}
  const shared = columnsOf(nodeOf(output)).filter(({ path }) => !isList(shape[path[0] ?? '']))
  return [...shared, ...inner]
}

const countOf = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined)

/** The schema of one result. */
function itemOf(output: Shape['output'], field: string | undefined): Node {
  const list = field === undefined ? nodeOf(output) : nodeOf(output).shape?.[field]
  const bare = list && unwrapped(list)
  const item = bare?.def.element ?? bare?.def.valueType
  if (!item) throw new Error(`a reply has no list ${field ?? ''}`)
  return item
}

const isList = (node: Node | undefined): boolean => node !== undefined && unwrapped(node).def.type === 'array'

/** A schema without what makes it optional or nullable. */
function unwrapped(node: Node): Node {
  const inner = node.def.type === 'pipe' ? node.def.out : node.def.innerType
  return inner ? unwrapped(inner) : node
}
