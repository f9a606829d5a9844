import { resolve } from 'node:path'
import type { BatchChoices, InputChoices, RunChoices } from '../../batch/run/request.js'
import type { GlobalOptions, Streams } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import type { Invocation } from '../options/command-environment.js'
import { checkOutputName, fieldsOf, fileOf, formatOf, isFormatKnown } from '../output/output.js'

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
export function choicesOf(invocation: Invocation, streams: Streams): BatchChoices {
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
    // A resumed run is distributed as before, unless the option is given.
    distribute: options.distribute === true ? true : undefined,
    summaryJson: pathOf('--summary-json', options.summaryJson, cwd),
  }
}

/** The format of rows, which stream as CSV whatever the terminal: a table would need them all at once. */
export function rowFormat(globals: GlobalOptions, streams: Streams): BatchChoices['format'] {
  const file = fileOf(globals)
  if (file !== undefined) checkOutputName(file)
  const isPlain = !globals.format && !globals.json && (file === undefined || !isFormatKnown(file))
  const format = isPlain ? 'csv' : formatOf(globals, streams)
  if (format !== 'table' && format !== 'ids') return format
  throw new UsageError(`The format ${format} does not go with --csv.`, 'Use csv, tsv, ndjson or json.')
}
