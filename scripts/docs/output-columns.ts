import { rowShapeOf } from '../../src/api/areas/shapes.js'
import { type Operation, operations } from '../../src/api/operations/table.js'
import { type JsonSchema, toJsonSchema } from '../../src/reference/schemas.js'
import { manyOf, type ResultColumn, rowColumnsOf } from '../../src/runs/output/columns.js'

/** Returns the columns that the results of every operation with `--csv` have in a file, a table for each command. */
export async function outputColumns(): Promise<string> {
  const parts = operations()
    .filter(({ batch, flag }) => batch !== undefined && flag === undefined)
    .map(section)
  return (await Promise.all(parts)).join('\n\n')
}

async function section(operation: Operation): Promise<string> {
  const shape = await rowShapeOf(operation)
  const schema = toJsonSchema(shape.output)
  const columns = (explode: boolean) => rowColumnsOf({ operation, shape, constants: {} }, explode).usual
  const title = `## \`${operation.command}\``
  const many = manyOf(operation, shape)
  if (many?.hasLine) return [title, 'A row for each person:', table(columns(true), schema)].join('\n\n')
  const parts = [title, table(columns(false), schema)]
  if (many) parts.push('With `--explode`:', table(columns(true), schema))
  return parts.join('\n\n')
}

const table = (columns: readonly ResultColumn[], schema: JsonSchema): string =>
  [
    '| Column | Meaning |',
    '| --- | --- |',
    ...columns.map(({ name, path }) => `| \`${name}\` | ${meaningOf(name, path, schema)} |`),
  ].join('\n')

/** The description of a column, which is a field of the reply or of one of its results. */
function meaningOf(name: string, path: readonly string[], schema: JsonSchema): string {
  if (name === '_line') return 'Line of the file that the person comes from'
  if (name === 'department') return 'The department of this row'
  if (name.endsWith('_count') && path.join('.') === name.slice(0, -'_count'.length))
    return `How many results \`${path.join('.')}\` has`
  const nodes = name === path.join('.') ? [path] : [[...path, name], path]
  const inner = itemSchemas(schema).flatMap((item) => nodes.map((node) => descriptionAt(item, node)))
  const own = nodes.map((node) => descriptionAt(schema, node))
  const found = [...own, ...inner].find((text) => text !== undefined) ?? ''
  return found.replaceAll('|', '\\|')
}

/** The schemas of the results in a reply's lists and records. */
const itemSchemas = (schema: JsonSchema): JsonSchema[] =>
  [schema, ...Object.values((schema.properties ?? {}) as Record<string, JsonSchema>)].flatMap(
    ({ items, additionalProperties }) =>
      [items, additionalProperties].filter(
        (one): one is JsonSchema => typeof one === 'object' && one !== null,
      ),
  )

function descriptionAt(schema: JsonSchema, path: readonly string[]): string | undefined {
  const [first, ...rest] = path
  if (first === undefined) return schema.description as string | undefined
  const options = [schema, ...((schema.anyOf ?? []) as JsonSchema[])]
  for (const { properties, additionalProperties, items } of options) {
    const fields = (properties ?? {}) as Record<string, JsonSchema>
    const next = fields[first] ?? additionalProperties ?? (items as JsonSchema | undefined)
    if (next === undefined || typeof next !== 'object') continue
    const text = descriptionAt(next as JsonSchema, next === items ? path : rest)
    if (text !== undefined) return text
  }
  return undefined
}
