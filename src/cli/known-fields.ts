import type { Shape } from '../api/shapes.js'
import { nearest } from '../batch/nearest.js'
import { UsageError } from './exit.js'

/** As much of a schema as its names depend on. */
interface Node {
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

/** Refuses names in `--fields` that no result of this kind has, before anything is paid for. */
export function checkFields(output: Shape['output'], fields: readonly string[] | undefined): void {
  if (!fields) return
  const names = new Set<string>()
  // Where the keys of a reply are not known beforehand, any name may be one.
  if (collect(output as unknown as Node, names) === 'open') return
  for (const part of fields.flatMap((field) => field.split('.'))) {
    if (names.has(part)) continue
    const meant = nearest(part, [...names])
    throw new UsageError(
      `--fields names "${part}", which the result does not have.`,
      meant ? `Did you mean ${meant}?` : `It has: ${[...names].join(', ')}.`,
    )
  }
}

/** Gathers all names of a schema, at any depth; `open` when it takes names of its own. */
function collect(node: Node, names: Set<string>): 'open' | undefined {
  if (node.def.type === 'record') return 'open'
  const { innerType, out, element, options = [] } = node.def
  const inner = [innerType, out, element, ...options].filter((each) => each !== undefined)
  for (const [name, field] of Object.entries(node.shape ?? {})) {
    names.add(name)
    inner.push(field)
  }
  return inner.map((each) => collect(each, names)).find((answer) => answer === 'open')
}
