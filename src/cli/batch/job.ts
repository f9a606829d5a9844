import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import {
  type Mapping,
  type MappingRequest,
  mapColumns,
  parsePins,
  rowInput,
} from '../../batch/input/mapping.js'
import type { Table } from '../../batch/input/table.js'
import { findOnlyMissing, hasResult, type OnlyMissing } from '../../batch/output/format.js'
import type { Run } from '../../storage/state/runs/runs.js'
import type { GlobalOptions } from '../context/context.js'
import { tidyInput } from '../options/tidy-input.js'
import type { RunRecords } from '../runs/run-store.js'
import type { Shell } from '../shell/shell.js'
import type { Choices, InputChoices } from './options.js'
import { rowColumnsOf } from './row-columns.js'
import { identityOf } from './row-identity.js'
import { valueReader } from './row-values.js'

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
  /** Address of the database that has its run; the home of this machine when absent. */
  readonly database?: string | undefined
  /** The same for a person to type: the option that commands about runs need to find it; empty where they need none. */
  readonly place?: string
  /** The records that the run was found in, where they are open already. */
  readonly records?: RunRecords
}

/** Which column fills which field; throws MappingError. */
export const mappingOf = (job: Job, table: Table): Mapping => mapColumns(mappingRequestOf(job, table))

/** What the columns of a file are to be matched with. */
export const mappingRequestOf = (
  { operation, shape, constants, choices }: Job,
  table: Table,
): MappingRequest => ({
  header: table.header,
  fields: Object.keys(shape.input.shape),
  subject: operation.batch?.identity ?? 'company',
  constants,
  ...pinsOf(choices),
})

/** The columns that were named: those of a map that was kept onlyMissing no other fields, and `--map` comes first. */
export function pinsOf({
  map,
  saved,
}: Pick<InputChoices, 'map' | 'saved'>): Pick<MappingRequest, 'pins' | 'namedIn' | 'isExact'> {
  const given = parsePins(map)
  return {
    pins: { ...parsePins(saved?.pairs ?? []), ...given },
    namedIn: (field) => (saved && !Object.hasOwn(given, field) ? `The saved map ${saved.name}` : '--map'),
    isExact: saved !== undefined,
  }
}

/** The column that rows may have filled already; nothing where all are looked up. */
export function missingOf(job: Job, header: readonly string[]): OnlyMissing | undefined {
  const { explode = false, onlyMissing } = job.choices
  return onlyMissing === undefined
    ? undefined
    : findOnlyMissing(onlyMissing, rowColumnsOf(job, explode).all, header)
}

/** What a row asks for. */
export interface Lookup {
  readonly input: (cells: readonly string[]) => Input
  /** Equal for inputs that are the same paid lookup. */
  readonly identity: (input: Input) => string | undefined
  /** Rows that ask for nothing. */
  readonly skip?: ((cells: readonly string[]) => boolean) | undefined
}

/** What the rows of a mapped file ask for. */
export function lookupOf(job: Job, mapping: Mapping, header: readonly string[]): Lookup {
  const { operation, shape, constants } = job
  const onlyMissing = missingOf(job, header)
  const read = rowInput(mapping, constants, valueReader(shape.input))
  const tidy = tidyInput(operation)
  return {
    input: (cells) => tidy(read(cells)),
    identity: identityOf(operation),
    ...(onlyMissing ? { skip: hasResult(onlyMissing, header) } : {}),
  }
}
