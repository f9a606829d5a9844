import { Option } from 'commander'
import { toFlag } from '../context/errors.js'

/**
 * What the value of an option may be, or what reads its text and, where it is repeated, the value so far; `words` are then
 * what completion offers.
 */
type Reader =
  | readonly string[]
  | (((text: string, before: never) => unknown) & { readonly words?: readonly string[] })

/** An option: its value as help names it, empty where it takes none, what help says of it, and how the value is read. */
type OptionRow = readonly [value: string, text: string, read?: Reader]

/** Options under the names by which commands read them: `dryRun` is typed as `--dry-run`. */
export type OptionRows = Readonly<Record<string, OptionRow>>

export type OptionsOf<Rows extends OptionRows> = {
  readonly [Name in keyof Rows as Attribute<Name>]?: ValueOf<Rows[Name]>
}

/** `noWorker` is typed as `--no-worker`, and makes `worker` false. */
type Attribute<Name> = Name extends `no${infer Rest}`
  ? Rest extends Capitalize<Rest>
    ? Uncapitalize<Rest>
    : Name
  : Name

type ValueOf<Row extends OptionRow> = Row extends readonly [string, string, infer Read]
  ? Read extends readonly (infer Text)[]
    ? Text
    : Read extends (...given: never[]) => infer Value
      ? Value
      : never
  : Row[0] extends ''
    ? boolean
    : string

export const optionRows = <const Rows extends OptionRows>(rows: Rows): Rows => rows

/** Creates the options of some rows. A value that begins with a letter, as in `-L <n>`, also has that short form. */
export const toOptions = (rows: OptionRows): Option[] =>
  Object.entries(rows).map(([name, [value, text, read]]) => {
    const [, short = '', rest = ''] = /^(-\w)? ?(.*)$/.exec(value) ?? []
    const option = new Option(`${short}${short && ', '}${toFlag(name)} ${rest}`.trim(), text)
    const words = typeof read === 'function' ? read.words : read
    if (words) option.choices(words)
    if (typeof read === 'function') option.argParser(read as (text: string, before: unknown) => unknown)
    return option
  })
