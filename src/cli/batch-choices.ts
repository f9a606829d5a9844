import type { GlobalOptions, Streams } from './context.js'
import { UsageError } from './exit.js'
import { type Format, fieldsOf, fileOf, formatOf, isFormatKnown } from './output.js'
import { checkOutputName } from './output-name.js'
import type { Invocation } from './shell.js'

/** How the options of a command say that a file is to be read. */
export interface InputChoices {
  /** Path of the input; `-` for stdin. */
  readonly file: string
  readonly map: readonly string[]
  readonly mapOnly: boolean
  readonly encoding: string | undefined
  readonly delimiter: string | undefined
  readonly raw: boolean
  readonly failOn: 'any' | 'none'
}

/** What the options of a batch command ask for. */
export interface Choices extends InputChoices {
  readonly excel: boolean
  readonly format: Exclude<Format, 'table' | 'ids'>
  /** Result columns to write; all when absent. */
  readonly fields: readonly string[] | undefined
}

/** Reads the options about the file. */
export function inputChoicesOf({ options }: Invocation): InputChoices {
  const text = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined)
  return {
    file: text('csv') ?? '',
    map: (options.map as string[] | undefined) ?? [],
    mapOnly: options.mapOnly === true,
    encoding: text('encoding'),
    delimiter: text('delimiter'),
    raw: options.rawCsv === true,
    failOn: text('failOn') === 'none' ? 'none' : 'any',
  }
}

/** Reads the options of a batch command; what does not go together is refused before anything is read. */
export function choicesOf(invocation: Invocation, streams: Streams): Choices {
  const { options, globals } = invocation
  if (options.dryRun)
    throw new UsageError('--dry-run does not work with --csv yet.', 'Leave out --csv to see one request.')
  if (options.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key does not go with --csv: each paid row has a key of its own.')
  if (options.wait === false)
    throw new UsageError('--no-wait does not go with --csv: each row is answered in the output.')
  return {
    ...inputChoicesOf(invocation),
    excel: options.excel === true,
    format: options.mapOnly === true ? 'csv' : rowFormat(globals, streams),
    fields: fieldsOf(globals),
  }
}

/** Rows stream as CSV whatever the terminal: a table would need them all at once. */
function rowFormat(globals: GlobalOptions, streams: Streams): Choices['format'] {
  const file = fileOf(globals)
  if (file !== undefined) checkOutputName(file)
  const isPlain = !globals.format && !globals.json && (file === undefined || !isFormatKnown(file))
  const format = isPlain ? 'csv' : formatOf(globals, streams)
  if (format !== 'table' && format !== 'ids') return format
  throw new UsageError(`The format ${format} does not go with --csv.`, 'Use csv, tsv, ndjson or json.')
}
