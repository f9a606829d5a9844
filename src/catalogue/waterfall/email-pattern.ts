import { listNameForms, type NameForms, type PersonName } from './name-variants.js'

/** A person's name and the part of their address before the `@`. */
export interface EmailExample extends PersonName {
  readonly local: string
}

/** How an organisation forms addresses from names. */
export interface EmailPattern {
  /** Such as `{first}.{last}` or `{f}{last}`. */
  readonly template: string
  /** Returns the address of a name before the `@`; `undefined` when the name lacks a part. */
  localPart(name: PersonName): string | undefined
}

interface AddressShape {
  readonly parts: readonly (keyof NameForms)[]
  readonly separator: string
}

const twoParts: readonly AddressShape['parts'][] = [
  ['first', 'last'],
  ['f', 'last'],
  ['first', 'l'],
  ['last', 'first'],
  ['last', 'f'],
  ['l', 'first'],
]
const oneForm: readonly AddressShape['parts'][] = [['first'], ['last'], ['f', 'l']]

const shapes: readonly AddressShape[] = [
  ...twoParts.flatMap((parts) => ['.', '', '_', '-'].map((separator) => ({ parts, separator }))),
  ...oneForm.map((parts) => ({ parts, separator: '' })),
]

/** An example with the forms of its name. */
interface ReadExample {
  readonly local: string
  readonly forms: readonly NameForms[]
}

/**
 * Returns the pattern that most examples follow: at least two different ones, more than half of all, and more than
 * any other pattern. Names of several words are spelt as in most examples that have one.
 */
export function learnPattern(examples: readonly EmailExample[]): EmailPattern | undefined {
  const locals = new Map(examples.map((example) => [example.local, example]))
  const all = [...locals.values()].map((example) => ({ local: example.local, forms: listNameForms(example) }))
  const ballots = new Map(shapes.map((shape): [AddressShape, ReadExample[]] => [shape, []]))
  for (const read of all) for (const shape of findShapes(read)) ballots.get(shape)?.push(read)
  const [winner, second] = [...ballots].sort(([, a], [, b]) => b.length - a.length)
  if (!winner) return undefined
  const [shape, { length: votes }] = winner
  if (votes < 2 || votes * 2 <= all.length || votes === second?.[1].length) return undefined
  return createPattern(shape, findSpelling(...winner))
}

/** Returns the shapes that the address of an example can have. */
function findShapes({ local, forms }: ReadExample): readonly AddressShape[] {
  const different =
    forms.length === 1 ? forms : new Map(forms.map((one) => [Object.values(one).join(' '), one])).values()
  const spelt = [...different]
  return shapes.filter((shape) => spelt.some((form) => isWrittenAs(local, shape, form)))
}

/** Returns the index of the form that explains most of the addresses; of several, the most common one. */
function findSpelling(shape: AddressShape, agreeing: readonly ReadExample[]): number {
  const explained: number[] = []
  for (const { local, forms } of agreeing)
    if (forms.length > 1)
      for (const [at, form] of forms.entries())
        explained[at] = (explained[at] ?? 0) + (isWrittenAs(local, shape, form) ? 1 : 0)
  return explained.length === 0 ? 0 : explained.indexOf(Math.max(...explained))
}

const createPattern = (shape: AddressShape, spelling: number): EmailPattern => ({
  template: shape.parts.map((part) => `{${part}}`).join(shape.separator),
  localPart: (name) => {
    const forms = listNameForms(name)
    const form = forms[forms.length === 1 ? 0 : spelling]
    const local = form && formatLocal(shape, form)
    return local !== undefined && isWritable(local) ? local : undefined
  },
})

/** Returns whether the address is valid; names in other scripts are not transcribed. */
const isWritable = (local: string): boolean => /^(?=.{1,64}$)[a-z0-9]+(?:[._-][a-z0-9]+)*$/.test(local)

/** Returns whether a name in a shape is this text. Comparing lengths first rejects most shapes quickly. */
function isWrittenAs(local: string, shape: AddressShape, forms: NameForms): boolean {
  let length = shape.separator.length * (shape.parts.length - 1)
  for (const part of shape.parts) length += forms[part].length
  return length === local.length && formatLocal(shape, forms) === local
}

/** Returns a name in a shape; `undefined` for a name of one letter, which is only an initial. */
function formatLocal({ parts, separator }: AddressShape, forms: NameForms): string | undefined {
  const isShort = (part: keyof NameForms) => forms[part].length < (part === 'f' || part === 'l' ? 1 : 2)
  return parts.some(isShort) ? undefined : parts.map((part) => forms[part]).join(separator)
}
