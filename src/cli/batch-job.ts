import type { Input } from '../api/caller.js'
import type { Shape } from '../api/shapes.js'
import type { Operation } from '../api/table.js'
import { type Mapping, mapColumns, parsePins, rowInput } from '../batch/mapping.js'
import type { Table } from '../batch/read.js'
import type { Run } from '../storage/runs.js'
import type { Choices } from './batch-choices.js'
import type { GlobalOptions } from './context.js'
import { identityOf } from './row-identity.js'
import { valueReader } from './row-values.js'
import type { Shell } from './shell.js'

/** A batch on its way: its operation, what is the same in every row, and what the options ask for. */
export interface Job {
  readonly shell: Shell
  readonly operation: Operation
  readonly shape: Shape
  readonly constants: Input
  readonly choices: Choices
  readonly globals: GlobalOptions
  /** The run that is meant, where that is not to be found out. */
  readonly run?: Run
}

/** Which column fills which field; throws MappingError. */
export function mappingOf({ operation, shape, constants, choices }: Job, table: Table): Mapping {
  return mapColumns({
    header: table.header,
    fields: Object.keys(shape.input.shape),
    subject: operation.batch?.identity ?? 'company',
    pins: parsePins(choices.map),
    constants,
  })
}

/** What a row asks for. */
export interface Lookup {
  readonly input: (cells: readonly string[]) => Input
  /** Equal for inputs that are the same paid lookup. */
  readonly identity: (input: Input) => string | undefined
}

/** What the rows of a mapped file ask for. */
export const lookupOf = ({ operation, shape, constants }: Job, mapping: Mapping): Lookup => ({
  input: rowInput(mapping, constants, valueReader(shape.input)),
  identity: identityOf(operation),
})
