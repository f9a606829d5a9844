import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { coerceField } from '../../api/validation/coerce.js'
import type { Context, GlobalOptions } from '../context/context.js'
import type { Field } from '../options/schema-options.js'
import { askChoice, askText, canAsk } from '../output/prompt.js'

/** Asks a person at a terminal for required fields that were not given; elsewhere the API says what is missing. */
export async function askMissing(
  context: Context,
  { input: { shape } }: Shape,
  fields: readonly Field[],
  input: Input,
  globals: GlobalOptions,
): Promise<Input> {
  if (!canAsk(context, globals)) return input
  const answers: Record<string, unknown> = {}
  for (const field of fields.filter((one) => isMissing(one, input))) {
    const schema = (shape as Shape['input']['shape'])[field.name]
    if (schema) answers[field.name] = await answerTo(context, field, schema, globals)
  }
  return { ...input, ...answers }
}

type Schema = Shape['input']['shape'][string]

/** Objects are not typed at a question. */
const isMissing = ({ name, kind }: Field, input: Input): boolean =>
  kind.required && input[name] === undefined && kind.type !== 'object' && kind.item?.type !== 'object'

async function answerTo(context: Context, field: Field, schema: Schema, globals: GlobalOptions) {
  const { description, values, item, type } = field.kind
  if (type === 'enum' && values) return askChoice(context, description, choicesOf(values), globals)
  const words = item?.values
    ? ` (${item.values.join(', ')})`
    : type === 'array'
      ? ' (several with commas)'
      : ''
  const read = (text: string) => valueIn(schema, type === 'array' ? text.split(',') : [text])
  const check = (text: string) => {
    const parsed = schema.safeParse(read(text))
    if (!parsed.success)
      throw new Error(`Not a value for ${field.name}: ${parsed.error.issues[0]?.message ?? ''}`)
  }
  const text = await askText(context, `${description}${words}`, globals, undefined, check)
  return text === undefined ? undefined : read(text)
}

const choicesOf = (values: readonly string[]) => values.map((value) => ({ value, name: value }))

const valueIn = (schema: Schema, parts: readonly string[]): unknown =>
  coerceField(
    schema,
    parts.map((part) => part.trim()).filter((part) => part !== ''),
  )
