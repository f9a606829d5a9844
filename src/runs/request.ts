import type { Shape } from '../api/areas/shapes.js'
import type { Input } from '../api/calls/caller.js'
import type { Operation } from '../api/operations/table.js'
import { isObject } from '../api/values/objects.js'
import type { Run } from './journal/runs.js'
import type { FormatName } from './output/formats.js'
import type { SelectChoices } from './output/select.js'
import type { AnswerSource } from './ports.js'
import type { RunRecords } from './records.js'

/** The options of a command about its input file. */
export interface InputChoices {
  /** Path of the input; `-` for stdin. */
  readonly file: string
  /** Name of the sheet of a workbook; its first one when absent. */
  readonly sheet?: string | undefined
  readonly map: readonly string[]
  readonly dryRun: boolean
  readonly encoding?: string | undefined
  readonly delimiter?: string | undefined
  /** Lines above the header; recognised when absent. */
  readonly skipLines?: number | undefined
  /** False where the first row is data; recognised when absent. */
  readonly header?: boolean | undefined
  readonly raw: boolean
  /** Looks up this many rows, spread over the file. Such a run is another one than that of the whole file. */
  readonly sample?: number | undefined
  /** Absolute path of the file for invalid rows; absent where the output's name gives it. */
  readonly rejects?: string | undefined
  readonly failOn: 'any' | 'none'
  /** Lists whose rows are not looked up: absolute paths, `catalogue`, `list:NAME`. */
  readonly skipKnown?: readonly string[] | undefined
}

/** How old a paid answer may be that a run uses again where nothing else is said: 30 days. */
export const defaultMaxAgeMs = 30 * 86_400_000

/** The options of a command about its run: where answers come from, and what it may spend. */
export interface RunChoices {
  /** Starts a new run where the same one is recorded. */
  readonly fresh?: boolean | undefined
  readonly retryUnknown: boolean
  /** How old an answer of another run may be, in milliseconds; none is taken when absent. */
  readonly maxAgeMs?: number | undefined
  /** How old the stored answers are that would be taken without `refresh`. */
  readonly reusableMs?: number | undefined
  /** Uses no stored answers, and starts a new run where the same one is finished. */
  readonly refresh?: boolean | undefined
  /** Looks up the first rows only. Without it, resuming the run looks up the others. */
  readonly rows?: number | undefined
  readonly maxCredits?: number | undefined
  /** Most credits of this execution, beside what earlier ones of the run have spent. */
  readonly moreCredits?: number | undefined
  readonly maxCreditsPerDay?: number | undefined
  /** Most profiles that the run may extract, of a daily quota. */
  readonly maxProfiles?: number | undefined
  /** Rows in flight at once; a usual number when absent. */
  readonly concurrency?: number | undefined
  /** Name of a lock to hold meanwhile. */
  readonly lock?: string | undefined
  /** Absolute path of the file for the summary of the run. */
  readonly summaryJson?: string | undefined
}

export interface BatchChoices extends InputChoices, RunChoices, SelectChoices {
  readonly excel?: boolean | undefined
  readonly format: Exclude<FormatName, 'table' | 'ids'>
  /** The system whose import the columns are for. */
  readonly layout?: string | undefined
  /** Result columns to write; all when absent. */
  readonly fields?: readonly string[] | undefined
  /** A row for each result, where a lookup has several. */
  readonly explode?: boolean
  /** Columns with the open data that says it, its day and its licence. */
  readonly openSources?: boolean
  /** Columns that say who gave a value. */
  readonly sources?: boolean
  /** `FIELD` or `FIELD=Column`: the result that rows are looked up for, where they do not have it. */
  readonly onlyMissing?: string | undefined
  /** The run to compare with: an id, or how long ago it began at least, in milliseconds. */
  readonly since?: { readonly run: string } | { readonly ms: number } | undefined
  /** Id of the run that is compared with, in the record of a run; null where there was none. */
  readonly baseline?: string | null | undefined
  /** Writes the columns of the input behind those of `layout`, and rows that were not found. */
  readonly keepInput?: boolean | undefined
  /** Id of the flow that the run is a step of, in the record of a run. */
  readonly flow?: string | undefined
  /** Whether its rows go to a program or an address, in the record of a run. */
  readonly isOutward?: boolean | undefined
  /** Fingerprint of the lists of `skipKnown`, in the record of a run. */
  readonly knownPrint?: string | undefined
}

/** A requested batch: its operation, the input of rows that have no value for a field, and the options. */
export interface BatchRequest {
  readonly operation: Operation
  readonly shape: Shape
  readonly constants: Input
  readonly choices: BatchChoices
  /** Path of the output as given; stdout when absent. */
  readonly output?: string | undefined
  readonly targetOptions: Readonly<Record<string, unknown>>
  /** Locale of the output's numbers, for `--excel`. */
  readonly locale?: string | undefined
  /** The run to resume, where it does not have to be found. */
  readonly run?: Run
  /** Address of the database with its run; this machine's state when absent. */
  readonly database?: string | undefined
  /** The option that names that database in commands about the run; empty where they need none. */
  readonly databaseOption?: string
  /** The records with the run, where they are open already. */
  readonly records?: RunRecords
}

/** The part of a request that is recorded as JSON, to start the run again from anywhere. */
export interface RecordedRequest {
  readonly constants: Input
  readonly choices: BatchChoices
  /** The member who pays for the run, as `BatchTarget` names members; absent where that is not known. */
  readonly member?: string | undefined
  /** Where its answers come from, as of the start of its last execution; absent where that is not known. */
  readonly source?: AnswerSource | undefined
  /** What runs like it share: the columns that its fields come from, or the step of a flow. */
  readonly like: string
  /** The options that choose the target. */
  readonly globals: Readonly<Record<string, unknown>>
  /** Rows of the output that are invalid, as of the end of its last execution. */
  readonly invalid?: number
}

/** Returns what counts the records of an answer. */
export const countResults =
  ({ batch }: Operation) =>
  (body: unknown): number => {
    const records = isObject(body) ? body[batch?.found ?? ''] : undefined
    return Array.isArray(records) ? records.length : 0
  }
