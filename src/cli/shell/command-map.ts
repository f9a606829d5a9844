/** An option as the command map describes it. */
export interface DescribedOption {
  /** With its dashes. */
  readonly name: string
  /** All spellings and the value, such as `-o, --output <file>`. */
  readonly flags: string
  readonly description: string
  readonly takes_value: boolean
  /** The values it takes, where they are few. */
  readonly values?: readonly string[]
}

/** A command as the command map describes it. */
export interface Described {
  /** Words after `prospect`. */
  readonly command: string
  /** An option that belongs to the choice of the command. */
  readonly flag?: string
  readonly summary: string
  readonly arguments: readonly { readonly values?: readonly string[] }[]
  readonly options: readonly DescribedOption[]
}

/** Gives the whole command map. */
export type CommandMap = () => Promise<readonly Described[]>
