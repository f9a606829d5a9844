import type { Shape } from '../../api/areas/shapes.js'
import { type Node, nodeOf, unknownField } from '../../batch/output/columns.js'

/** Refuses names in `--fields` that no result of this kind has, before anything is paid for. */
export function checkFields(output: Shape['output'], fields: readonly string[] | undefined): void {
  if (!fields) return
  const names = new Set<string>()
  // Where the keys of a reply are not known beforehand, any name may be one.
  if (collect(nodeOf(output), names) === 'open') return
  for (const part of fields.flatMap((field) => field.split('.'))) {
    if (names.has(part)) continue
    throw unknownField(part, [...names])
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
