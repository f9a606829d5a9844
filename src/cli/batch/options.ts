import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Shape } from '../../api/areas/shapes.js'
import { isPriced } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import { manyOf } from '../../runs/output/columns.js'
import { formatOfFile } from '../../runs/output/format.js'
import { type BatchChoices, defaultMaxAgeMs, type InputChoices, type RunChoices } from '../../runs/request.js'
import type { GlobalOptions, Streams, StreamsContext } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import type { Invocation } from '../options/command-environment.js'
import { serverAddress } from '../options/databases.js'
import { groups } from '../options/global-options.js'
import { durationMs, positiveWhole, repeated, whole } from '../options/values.js'
import { checkOutputFolder, checkOutputName, fieldsOf, fileOf, formatOf, pathOf } from '../output/output.js'

/**
 * Adds the options with which a command reads a file, where it can: one request for each row, or one for all of them. Stored
 * answers serve single lookups, too, where these are paid for.
 */
export function addBatchOptions(command: Command, operation: Operation, shape: Shape): void {
  const { batch } = operation
  if (!batch) return
  const options =
    batch.into === undefined
      ? [
          csv(rowByRow),
          ...reading(),
          known(),
          keepKnown(),
          ...writing(manyOf(operation, shape) !== undefined),
          ...running(),
        ]
      : [csv(together), ...reading(), known(), summary()]
  for (const option of [...options, failOn()]) command.addOption(option.helpGroup(groups.batch))
  if (batch.into === undefined)
    for (const option of storedAnswers())
      command.addOption(option.helpGroup(isPriced(operation) ? groups.request : groups.batch))
}

const rowByRow = 'one lookup for each row of this CSV file; - for stdin'
const together = 'the companies of this CSV file, a row each; - for stdin'

const csv = (description: string): Option =>
  new Option('--csv <file>', description).argParser((file: string, other: string | undefined) => {
    if (other === undefined) return file
    throw new InvalidArgumentError(`Only one file at a time; the other one is ${other}.`)
  })

const reading = (): Option[] => [
  new Option('--sheet <name>', 'the sheet of a workbook (default: its first one)'),
  new Option('--map <field=Column>', 'which column fills a field (repeatable)').argParser(repeated),
  new Option(
    '--override <field=value>',
    'give every row this value, whatever its column says (repeatable)',
  ).argParser(repeated),
  new Option('--map-only', 'show which column fills which field, and stop'),
  new Option('--save-map <name>', 'save the mapping under a name'),
  new Option('--use-map <name>', 'use a saved mapping, and no other columns'),
  new Option('--encoding <label>', 'the encoding, such as windows-1252 (default: detected)'),
  new Option('--delimiter <character>', 'the delimiter (default: detected)').argParser(delimiter),
  new Option('--sample <n>', 'use only this many rows, spread over the file').argParser(positiveWhole),
  new Option('--skip-lines <n>', 'lines above the header (default: detected)').argParser(whole),
  new Option(
    '--no-header',
    'the first row is data; columns are column_1, column_2 and so on (default: detected)',
  ),
  new Option('--raw-csv', 'leave cells as they are, even those that look like formulas'),
  new Option(
    '--rejects <file>',
    'where invalid rows go, with the reason (default: OUT.rejects.csv beside OUT)',
  ),
]

const writing = (isMany: boolean): Option[] => [
  new Option('--only-missing <field>', 'skip rows that have this result; fill the others in place'),
  ...(isMany ? [new Option('--explode', 'a row for each result, instead of all results in one cell')] : []),
  new Option('--excel', 'write for a spreadsheet: byte order mark, delimiter of your locale'),
]

const known = (): Option =>
  new Option(
    '--skip-known <file>',
    'leave out rows that this list has, and pay nothing for them; also catalogue, list:NAME (repeatable)',
  ).argParser(repeated)

const keepKnown = (): Option =>
  new Option('--keep-known', 'write the rows that --skip-known leaves out, with the status known')

const summary = (): Option =>
  new Option('--summary-json <file>', 'write the summary of the run to this file, as JSON')

/** The option that says where the input of a recorded run is now. */
export const sameFile = (): Option =>
  new Option('--csv <file>', 'the file that the run read, where it is now; - for stdin')

/** The options of a run that may change when it is resumed. */
export const spending = (): Option[] => [
  new Option(
    '--max-credits <n>',
    'the most credits the run may spend, however often it is resumed',
  ).argParser(whole),
  new Option(
    '--max-credits-per-day <n>',
    'the most credits that all runs of this profile may spend today (UTC)',
  ).argParser(whole),
  new Option(
    '--rows <n>',
    'look up the first rows only; without it, the same command resumes with the others',
  ).argParser(positiveWhole),
  summary(),
  new Option('--concurrency <n>', 'rows to look up at the same time (default: 256)').argParser(positiveWhole),
  new Option('--retry-unknown', 'retry rows whose call may have been charged without an answer'),
  new Option('--distribute', 'share the calls among the workers of the PostgreSQL database'),
]

const storedAnswers = (): Option[] => [
  new Option(
    '--max-age <duration>',
    'reuse stored answers up to this age, such as 90d (default: 30d in a batch; 0 for none)',
  ).argParser(durationMs),
  new Option('--refresh', 'ignore stored answers, and pay again'),
]

const running = (): Option[] => [
  new Option('--fresh', 'start a new run instead of resuming'),
  new Option(
    '--database <url>',
    'the PostgreSQL database of engine and run, postgres://… (default: this machine)',
  ).argParser(serverAddress),
  ...spending(),
]

const failOn = (): Option =>
  new Option(
    '--fail-on <when>',
    'exit code 11 when rows failed or were invalid (any) or never (none)',
  ).choices(['any', 'none'])

const delimiterNames: Readonly<Record<string, string>> = {
  ...{ '\\t': '\t', tab: '\t', comma: ',', semicolon: ';', bar: '|', pipe: '|' },
}

/** Reads a delimiter, given as the character or by its name. */
function delimiter(text: string): string {
  const character = delimiterNames[text] ?? text
  if (!/^[^"\r\n]$/u.test(character))
    throw new InvalidArgumentError('Give one character, or tab, comma, semicolon or bar.')
  return character
}

/** Reads the options about the file. */
export function inputChoicesOf(options: Invocation['options'], streams: Pick<Streams, 'cwd'>): InputChoices {
  const text = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined)
  return {
    file: text('csv') ?? '',
    sheet: text('sheet'),
    map: (options.map as string[] | undefined) ?? [],
    mapOnly: options.mapOnly === true,
    dryRun: options.dryRun === true,
    encoding: text('encoding'),
    delimiter: text('delimiter'),
    skipLines: typeof options.skipLines === 'number' ? options.skipLines : undefined,
    header: options.header === false ? false : undefined,
    raw: options.rawCsv === true,
    rejects: pathOf('--rejects', options.rejects, streams),
    sample: typeof options.sample === 'number' ? options.sample : undefined,
    saveMap: text('saveMap'),
    failOn: text('failOn') === 'none' ? 'none' : 'any',
    skipKnown: knownLists(options.skipKnown, streams),
  }
}

/** Returns the lists of `--skip-known`, with the paths of files. */
function knownLists(option: unknown, { cwd }: Pick<Streams, 'cwd'>): readonly string[] | undefined {
  if (!Array.isArray(option)) return undefined
  return option.map(String).map((source) => {
    if (source === '-' || source === '')
      throw new UsageError(
        '--skip-known needs the name of a file: the rows of a run are read more than once.',
      )
    return source === 'catalogue' || source.startsWith('list:') ? source : resolve(cwd, source)
  })
}

/** Throws UsageError for `--jq` with a command that writes rows of a run. */
export function refuseJq({ jq }: GlobalOptions, command: string): void {
  if (jq !== undefined)
    throw new UsageError(
      `--jq cannot be used with ${command}, which prints rows.`,
      'Use --format ndjson, and pipe the rows to jq.',
    )
}

/** Reads the options of a batch command. Throws UsageError for options that cannot be used together. */
export function choicesOf(context: StreamsContext, { options }: Invocation): BatchChoices {
  const { globals, streams } = context
  refuseJq(globals, '--csv')
  if (options.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key cannot be used with --csv: each paid row has a key of its own.')
  if (options.rows !== undefined && options.sample !== undefined)
    throw new UsageError('--rows and --sample cannot be used together.', 'Use one or the other.')
  if (options.wait === false)
    throw new UsageError('--no-wait cannot be used with --csv: each row is answered in the output.')
  return {
    ...inputChoicesOf(options, streams),
    ...runChoicesOf(options, streams),
    excel: options.excel === true,
    format: options.mapOnly === true || options.dryRun === true ? 'csv' : rowFormat(context),
    layout: globals.layout,
    fields: fieldsOf(globals),
    explode: options.explode === true,
    keepKnown: options.keepKnown === true ? true : undefined,
    onlyMissing: typeof options.onlyMissing === 'string' ? options.onlyMissing : undefined,
  }
}

/**
 * Returns how old an answer of another run may be, in milliseconds; `undefined` where none is reused. `setting` is that of
 * the profile.
 */
export function maxAgeOf(
  operation: Operation,
  { maxAgeMs, refresh }: Pick<RunChoices, 'maxAgeMs' | 'refresh'>,
  setting: string | undefined,
): number | undefined {
  const usual = isPriced(operation) ? defaultMaxAgeMs : 0
  const chosen = maxAgeMs ?? (setting === undefined ? usual : durationMs(setting))
  return refresh || chosen === 0 ? undefined : chosen
}

/** Reads the options about the run. */
export function runChoicesOf(options: Invocation['options'], streams: Pick<Streams, 'cwd'>): RunChoices {
  const number = (name: string) => (typeof options[name] === 'number' ? options[name] : undefined)
  return {
    fresh: options.fresh === true,
    retryUnknown: options.retryUnknown === true,
    maxAgeMs: number('maxAge'),
    refresh: options.refresh === true ? true : undefined,
    rows: number('rows'),
    maxCredits: number('maxCredits'),
    maxCreditsPerDay: number('maxCreditsPerDay'),
    concurrency: number('concurrency'),
    lock: typeof options.lock === 'string' ? options.lock : undefined,
    // A resumed run is distributed as before, unless the option is given.
    distribute: options.distribute === true ? true : undefined,
    summaryJson: pathOf('--summary-json', options.summaryJson, streams),
  }
}

/** Returns the format of rows. On a terminal it is CSV too, because a table would need all rows at once. */
export function rowFormat(context: StreamsContext): BatchChoices['format'] {
  const { globals, streams } = context
  const file = fileOf(globals)
  if (file !== undefined) {
    checkOutputName(file, globals, streams)
    checkOutputFolder('-o', file, streams)
  }
  const isPlain = !globals.format && !globals.json && (file === undefined || !formatOfFile(file))
  const format = isPlain ? 'csv' : formatOf(context)
  if (format !== 'table' && format !== 'ids') return format
  throw new UsageError(
    `The format ${format} is not for the rows of a file.`,
    'Use --format csv, tsv, ndjson or json.',
  )
}
