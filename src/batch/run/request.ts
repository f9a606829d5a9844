import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import type { Run } from '../../storage/state/runs/runs.js'
import type { SavedMap } from '../input/mapping.js'
import type { RunRecords } from './records.js'

/** How the options of a command say that a file is to be read. */
export interface InputChoices {
  /** Path of the input; `-` for stdin. */
  readonly file: string
  readonly map: readonly string[]
  /** A map that was kept, which fills no other fields. */
  readonly saved?: SavedMap | undefined
  /** Name to keep the map under. */
  readonly saveMap?: string | undefined
  readonly mapOnly: boolean
  /** Only the quote is wanted. */
  readonly dryRun: boolean
  readonly encoding: string | undefined
  readonly delimiter: string | undefined
  readonly raw: boolean
  /** Absolute path of the file for invalid rows; absent where the output's name gives it. */
  readonly rejects?: string | undefined
  readonly failOn: 'any' | 'none'
}

/** What the options say about a run: where it takes answers from, and what it may spend. */
export interface RunChoices {
  /** Starts a new run where the same one is on record. */
  readonly fresh: boolean
  readonly retryUnknown: boolean
  /** How old an answer of another run may be, in milliseconds; none is taken when absent. */
  readonly maxAgeMs: number | undefined
  readonly maxCredits: number | undefined
  readonly maxCreditsPerDay: number | undefined
  /** Name of a lock to hold meanwhile. */
  readonly lock: string | undefined
  /** Has its rows called by the workers of its database. */
  readonly distribute?: boolean | undefined
  /** Absolute path of the file that says how the run ended. */
  readonly summaryJson?: string | undefined
}

/** What the options of a batch command ask for. */
export interface BatchChoices extends InputChoices, RunChoices {
  readonly excel: boolean
  readonly format: 'csv' | 'tsv' | 'ndjson' | 'json'
  /** Result columns to write; all when absent. */
  readonly fields: readonly string[] | undefined
  /** A row for each result, where a lookup has several. */
  readonly explode?: boolean
  /** `FIELD` or `FIELD=Column`: the result that rows are looked up for, where they do not have it. */
  readonly onlyMissing?: string | undefined
}

/** A batch that is asked for: its operation, what is the same in every row, and what the options say. */
export interface BatchRequest {
  readonly operation: Operation
  readonly shape: Shape
  readonly constants: Input
  readonly choices: BatchChoices
  /** Path of the output as given; stdout when absent. */
  readonly output?: string | undefined
  /** The options that choose the target, for the record. */
  readonly targetOptions: Readonly<Record<string, unknown>>
  /** Locale of the output's numbers, for `--excel`. */
  readonly locale?: string | undefined
  /** The run to resume, where it does not have to be found. */
  readonly run?: Run
  /** Address of the database with its run; this machine's state when absent. */
  readonly database?: string | undefined
  /** The option that names that database in commands about the run; empty where they need none. */
  readonly place?: string
  /** The records that the run was found in, where they are open already. */
  readonly records?: RunRecords
}

/** What a record keeps of a request, as JSON: enough to start the run again from anywhere. */
export interface RecordedRequest {
  readonly constants: Input
  readonly choices: BatchChoices
  /** The options that choose the target. */
  readonly globals: Readonly<Record<string, unknown>>
  readonly batch: Operation['batch']
}
