import { listNameForms, type NameForms, type PersonName } from './name-variants.js'

/** A person's name and the part of their address before the `@`. */
export interface EmailExample extends PersonName {
  readonly local: string
}

/** How an organisation makes addresses of names. */
export interface Pattern {
  /** Such as `{first}.{last}` or `{f}{last}`. */
  readonly template: string
  /** The address of a name before the `@`; nothing where the name does not have what it takes. */
  localPart(name: PersonName): string | undefined
}

interface Shape {
  readonly parts: readonly (keyof NameForms)[]
  readonly separator: string
}

const twoParts: readonly Shape['parts'][] = [
  ['first', 'last'],
  ['f', 'last'],
  ['first', 'l'],
  ['last', 'first'],
  ['last', 'f'],
  ['l', 'first'],
]
const oneForm: readonly Shape['parts'][] = [['first'], ['last'], ['f', 'l']]

const shapes: readonly Shape[] = [
  ...twoParts.flatMap((parts) => ['.', '', '_', '-'].map((separator) => ({ parts, separator }))),
  ...oneForm.map((parts) => ({ parts, separator: '' })),
]

/** An example with what its name can look like. */
interface ReadExample {
  readonly local: string
  readonly forms: readonly NameForms[]
}

/**
 * Returns the pattern that most examples follow: at least two different ones, more than half of all, and more than
 * any other pattern. Names of several words are spelt as in most examples that have one.
 */
export function learnPattern(examples: readonly EmailExample[]): Pattern | undefined {
  const locals = new Map(examples.map((example) => [example.local, example]))
  const all = [...locals.values()].map((example) => ({ local: example.local, forms: listNameForms(example) }))
  const ballots = new Map(shapes.map((shape): [Shape, ReadExample[]] => [shape, []]))
  for (const read of all) for (const shape of findShapes(read)) ballots.get(shape)?.push(read)
  const [winner, second] = [...ballots].sort(([, a], [, b]) => b.length - a.length)
  if (!winner) return undefined
  const [shape, { length: votes }] = winner
  if (votes < 2 || votes * 2 <= all.length || votes === second?.[1].length) return undefined
  return createPattern(shape, findSpelling(...winner))
}

/** The shapes that the address of an example can have. */
function findShapes({ local, forms }: ReadExample): readonly Shape[] {
  const different =
    forms.length === 1 ? forms : new Map(forms.map((one) => [Object.values(one).join(' '), one])).values()
  const spelt = [...different]
  return shapes.filter((shape) => spelt.some((form) => isWrittenAs(local, shape, form)))
}

/** The place of the spelling that explains most of the addresses; of several, the most usual one. */
function findSpelling(shape: Shape, agreeing: readonly ReadExample[]): number {
  const explained: number[] = []
  for (const { local, forms } of agreeing)
    if (forms.length > 1)
      for (const [at, form] of forms.entries())
        explained[at] = (explained[at] ?? 0) + (isWrittenAs(local, shape, form) ? 1 : 0)
  return explained.length === 0 ? 0 : explained.indexOf(Math.max(...explained))
}

const createPattern = (shape: Shape, spelling: number): Pattern => ({
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

/** Whether a name in a shape is this text; most are not even as long, which is found out sooner. */
function isWrittenAs(local: string, shape: Shape, forms: NameForms): boolean {
  let length = shape.separator.length * (shape.parts.length - 1)
  for (const part of shape.parts) length += forms[part].length
  return length === local.length && formatLocal(shape, forms) === local
}

/** A name in a shape. A whole name of one letter is an initial, and what it stands for is not known. */
function formatLocal({ parts, separator }: Shape, forms: NameForms): string | undefined {
  const isShort = (part: keyof NameForms) => forms[part].length < (part === 'f' || part === 'l' ? 1 : 2)
  return parts.some(isShort) ? undefined : parts.map((part) => forms[part]).join(separator)
}
