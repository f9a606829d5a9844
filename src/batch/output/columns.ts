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
