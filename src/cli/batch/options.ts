import { resolve } from 'node:path'
import type { GlobalOptions, Streams } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { checkOutputName } from '../options/output-name.js'
import { type Format, fieldsOf, fileOf, formatOf, isFormatKnown } from '../output/output.js'
import type { Invocation } from '../shell/shell.js'

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

/** Which column fills which field, kept under a name. */
export interface SavedMap {
  readonly name: string
  /** `field=Column` */
  readonly pairs: readonly string[]
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
export interface Choices extends InputChoices, RunChoices {
  readonly excel: boolean
  readonly format: Exclude<Format, 'table' | 'ids'>
  /** Result columns to write; all when absent. */
  readonly fields: readonly string[] | undefined
  /** A row for each result, where a lookup has several. */
  readonly explode?: boolean
  /** `FIELD` or `FIELD=Column`: the result that rows are looked up for, where they do not have it. */
  readonly onlyMissing?: string | undefined
}

/** Reads the options about the file. */
export function inputChoicesOf({ options }: Invocation, { cwd }: Pick<Streams, 'cwd'>): InputChoices {
  const text = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined)
  return {
    file: text('csv') ?? '',
    map: (options.map as string[] | undefined) ?? [],
    mapOnly: options.mapOnly === true,
    dryRun: options.dryRun === true,
    encoding: text('encoding'),
    delimiter: text('delimiter'),
    raw: options.rawCsv === true,
    rejects: pathOf('--rejects', options.rejects, cwd),
    saveMap: text('saveMap'),
    failOn: text('failOn') === 'none' ? 'none' : 'any',
  }
}

/** Reads the options of a batch command; what does not go together is refused before anything is read. */
export function choicesOf(invocation: Invocation, streams: Streams): Choices {
  const { options, globals } = invocation
  if (options.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key does not go with --csv: each paid row has a key of its own.')
  if (options.wait === false)
    throw new UsageError('--no-wait does not go with --csv: each row is answered in the output.')
  return {
    ...inputChoicesOf(invocation, streams),
    ...runChoicesOf(options, streams),
    excel: options.excel === true,
    format: options.mapOnly === true || options.dryRun === true ? 'csv' : rowFormat(globals, streams),
    fields: fieldsOf(globals),
    explode: options.explode === true,
    onlyMissing: typeof options.onlyMissing === 'string' ? options.onlyMissing : undefined,
  }
}

function pathOf(name: string, option: unknown, cwd: string): string | undefined {
  if (option === '-' || option === '') throw new UsageError(`${name} needs the name of a file.`)
  return typeof option === 'string' ? resolve(cwd, option) : undefined
}

/** Reads the options about the run. */
export function runChoicesOf(options: Invocation['options'], { cwd }: Pick<Streams, 'cwd'>): RunChoices {
  const number = (name: string) => (typeof options[name] === 'number' ? options[name] : undefined)
  return {
    fresh: options.fresh === true,
    retryUnknown: options.retryUnknown === true,
    maxAgeMs: options.refresh === true ? undefined : number('maxAge'),
    maxCredits: number('maxCredits'),
    maxCreditsPerDay: number('maxCreditsPerDay'),
    lock: typeof options.lock === 'string' ? options.lock : undefined,
    // A run that goes on is spread as it was, unless it is asked to be.
    distribute: options.distribute === true ? true : undefined,
    summaryJson: pathOf('--summary-json', options.summaryJson, cwd),
  }
}

/** The format of rows, which stream as CSV whatever the terminal: a table would need them all at once. */
export function rowFormat(globals: GlobalOptions, streams: Streams): Choices['format'] {
  const file = fileOf(globals)
  if (file !== undefined) checkOutputName(file)
  const isPlain = !globals.format && !globals.json && (file === undefined || !isFormatKnown(file))
  const format = isPlain ? 'csv' : formatOf(globals, streams)
  if (format !== 'table' && format !== 'ids') return format
  throw new UsageError(`The format ${format} does not go with --csv.`, 'Use csv, tsv, ndjson or json.')
}
