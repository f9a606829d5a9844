import { Argument } from 'commander'
import { type Kind, kinds } from '../../../catalogue/kinds/kind.js'

/** The first argument of commands about one kind of record. */
export const kindArgument = (): Argument => new Argument('<kind>', 'kind of record').choices(kinds)

/** The kind that an argument, already checked, names. */
export const kindOf = (text: string | undefined): Kind => text as Kind
