import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { coerceInput, type FieldKind, kindOf } from '../../api/validation/coerce.js'

export interface RequestField {
  readonly name: string
  readonly kind: FieldKind
}

/** The texts of a form by the names of its fields; several values are the lines of one text. */
type Texts = Readonly<Record<string, string>>

/** Returns the fields of a request: required ones first, else in the order of the schema. */
export const requestFields = ({ input }: Pick<Shape, 'input'>): RequestField[] =>
  Object.entries(input.shape as Shape['input']['shape'])
    .map(([name, field]) => ({ name, kind: kindOf(field) }))
    .sort((one, other) => Number(other.kind.required) - Number(one.kind.required))

/** Returns the fields that a form has given. Texts of another kind than the field's stay, for validation to refuse. */
export function readRequest({ input }: Pick<Shape, 'input'>, texts: Texts): Input {
  const given = requestFields({ input }).flatMap(({ name, kind }) => {
    const text = texts[name]?.trim()
    if (!text) return []
    const isMany = kind.type === 'array' || kind.type === 'object'
    return [[name, isMany ? linesOf(text) : text] as const]
  })
  return coerceInput(input, Object.fromEntries(given))
}

const linesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')

export const RequestControl = ({
  field: { name, kind },
  value,
  showsName,
}: {
  readonly field: RequestField
  readonly value: string | undefined
  /** Whether the label has the name of the field in the API, too. */
  readonly showsName?: boolean
}) => (
  <div class="field">
    <label for={`field-${name}`}>
      {kind.description}
      {noteOf(kind)}
      {showsName && (
        <>
          {' '}
          <code>{name}</code>
        </>
      )}
    </label>
    <Control name={name} kind={kind} value={value} />
  </div>
)

function noteOf(kind: FieldKind): string {
  const notes = [
    kind.required ? 'required' : '',
    isObjects(kind)
      ? 'one JSON object per line'
      : kind.type === 'array' && !kind.item?.values
        ? 'one per line'
        : '',
    kind.type === 'object' ? 'JSON, or one key=value per line' : '',
    kind.default === undefined ? '' : `default: ${String(kind.default)}`,
  ].filter((note) => note !== '')
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`
}

const isObjects = ({ type, item }: FieldKind): boolean => type === 'array' && item?.type === 'object'

function Control({ name, kind, value }: RequestField & { readonly value: string | undefined }) {
  const words = kind.type === 'boolean' ? ['true', 'false'] : (kind.values ?? kind.item?.values)
  const chosen = new Set(linesOf(value ?? ''))
  const id = `field-${name}`
  if (words)
    return (
      <select
        id={id}
        name={name}
        multiple={kind.type === 'array'}
        size={kind.type === 'array' ? 3 : undefined}
      >
        {kind.type !== 'array' && <option value="" />}
        {words.map((word) => (
          <option value={word} selected={chosen.has(word)}>
            {word}
          </option>
        ))}
      </select>
    )
  if (kind.type === 'array' || kind.type === 'object')
    return (
      <textarea id={id} name={name} rows={isObjects(kind) || kind.type === 'object' ? 4 : 2}>
        {value ?? ''}
      </textarea>
    )
  const isNumber = kind.type === 'integer' || kind.type === 'number'
  return (
    <input
      id={id}
      name={name}
      type={isNumber ? 'number' : 'text'}
      step={kind.type === 'number' ? 'any' : undefined}
      value={value ?? ''}
    />
  )
}
