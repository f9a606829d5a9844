import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type { Shape } from '../../api/areas/shapes.js'
import { Refusal } from '../../api/calls/errors.js'
import { isPriced } from '../../api/operations/facts.js'
import { itemOperation, type Operation, rowOperation } from '../../api/operations/table.js'
import { nearest } from '../../api/values/nearest.js'
import { type Fields, pickFields } from '../../api/values/objects.js'
import { isRecords } from '../../runs/lists.js'
import { manyOf, onlyNames } from '../../runs/output/columns.js'
import { crmNames, isCrmName } from '../../runs/output/crm-names.js'
import { type BatchChoices, defaultMaxAgeMs, type InputChoices, type RunChoices } from '../../runs/request.js'
import type { Context, GlobalOptions, Streams, StreamsContext } from '../context/context.js'
import { openWorkspaceOwner } from '../context/open-databases.js'
import { claimFiles, type Invocation } from '../options/command-environment.js'
import { groups } from '../options/help.js'
import {
  costs,
  durationMs,
  type OptionRows,
  type OptionsOf,
  optionRows,
  positiveWhole,
  repeated,
  serverAddress,
  toOptions,
  whole,
} from '../options/values.js'
import {
  checkLayoutFormat,
  checkOutputFolder,
  checkOutputName,
  chosenFormat,
  fieldsOf,
  fileOf,
  pathOf,
} from '../output/output.js'

/** Adds the options with which a command reads a file, where it can: one request for each row, or one for all of them. */
export function addBatchOptions(command: Command, operation: Operation, shape: Shape): void {
  const { batch, starts } = operation
  const add = (some: OptionRows, group: string) => {
    for (const option of toOptions(some)) command.addOption(option.helpGroup(group))
  }
  if (!batch) {
    const isStored = isPriced(operation) && rowOperation(operation).batch !== undefined
    if (itemOperation(operation.id) || (isStored && starts === undefined)) add(storedAnswers, groups.request)
    if (starts === 'import') add(known, groups.request)
    return
  }
  const { explode, ...others } = writing
  const { onlyMissing, ...exploded } = others
  const { maxCredits, maxCreditsPerDay, ...free } = running
  const rows =
    batch.into === undefined
      ? {
          csv: rowByRow,
          ...reading,
          ...known,
          ...selecting,
          ...(operation.starts === 'import' ? exploded : manyOf(operation, shape) ? writing : others),
          ...(operation.id === 'accounts.enrich' ? provenance : {}),
          ...(isPriced(operation) ? running : free),
          ...(operation.quota === 'profiles' ? quota : {}),
        }
      : { csv: listFile, ...reading, skipKnown: known.skipKnown, ...summary }
  add({ ...rows, ...failOn }, groups.batch)
  if (batch.into === undefined) add(storedAnswers, isPriced(operation) ? groups.request : groups.batch)
}

const csv = <const Text extends string>(text: Text) => ['<file>', text, onlyFile] as const

function onlyFile(file: string, other: string | undefined): string {
  if (other === undefined) return file
  throw new InvalidArgumentError(`Only one file at a time; the other one is ${other}.`)
}

const rowByRow = csv('one lookup for each row of this CSV file; - for stdin')
const listFile = csv('the companies of this CSV file, a row each; - for stdin')

const reading = optionRows({
  sheet: ['<name>', 'the sheet of a workbook (default: its first one)'],
  map: ['<field=Column>', 'which column fills a field; without a column, none does (repeatable)', repeated],
  encoding: ['<label>', 'the encoding, such as windows-1252 (default: detected)'],
  delimiter: ['<character>', 'the delimiter (default: detected)', readDelimiter],
  sample: ['<n>', 'use only this many rows, spread over the file', positiveWhole],
  skipLines: ['<n>', 'lines above the header (default: detected)', whole],
  noHeader: ['', 'the first row is data; columns are column_1, column_2 and so on (default: detected)'],
  rawCsv: ['', 'leave cells as they are, even those that look like formulas'],
  rejects: ['<file>', 'where invalid rows go, with the reason (default: OUT.rejects.csv beside OUT)'],
})

export const selecting = optionRows({
  where: ['<condition>', 'write only the rows of which this is true, such as headcount >= 50'],
  only: ['<which>', 'write only these rows: found, valid, new, changed (repeatable, or a,b)', repeated],
  since: [
    '<run>',
    'compare new and changed with this run, or the last one before 7d (default: the last one)',
  ],
  columns: ['<names>', 'write these columns of the output, in this order: a,b,c'],
  keepInput: ['', 'with --layout: your columns too, and rows that were not found'],
})

const known = optionRows({
  skipKnown: [
    '<file>',
    'leave out rows that this list has, and pay nothing for them; also catalogue, list:NAME, crm:NAME (repeatable)',
    repeated,
  ],
})

const writing = optionRows({
  onlyMissing: ['<field>', 'skip rows that have this result; fill the others in place'],
  explode: ['', 'a row for each result, instead of all results in one cell'],
  excel: ['', 'write for a spreadsheet: byte order mark, delimiter of your locale'],
})

const provenance = optionRows({
  sources: ['', 'also say which open data it is from, of what day, and under what licence'],
})

const summary = optionRows({
  summaryJson: ['<file>', 'write the summary of the run to this file, as JSON'],
})

export const sameFile = optionRows({
  csv: ['<file>', 'the file that the run read, where it is now; - for stdin'],
})

export const quota = optionRows({
  maxProfiles: ['<n>', 'the most profiles the run may extract, however often it is resumed', whole],
})

export const sharing = optionRows({})

/** The options of a run that may change when it is resumed. */
export const spending = optionRows({
  maxCredits: ['<n>', 'the most credits the run may spend, however often it is resumed', whole],
  maxCreditsPerDay: ['<n>', 'the most credits that all runs of this profile may spend today (UTC)', whole],
  rows: [
    '<n>',
    'look up the first rows only; without it, the same command resumes with the others',
    positiveWhole,
  ],
  ...summary,
  concurrency: ['<n>', 'rows to look up at the same time (default: 256)', positiveWhole],
  retryUnknown: ['', 'retry rows whose call may have been charged without an answer'],
  ...sharing,
})

const storedAnswers = optionRows({
  maxAge: [
    '<duration>',
    'reuse stored answers up to this age, such as 90d (default: 30d for paid answers; 0 for none)',
    durationMs,
  ],
  refresh: ['', 'pay again, and ignore stored answers'],
})

const running = optionRows({
  fresh: ['', 'start a new run instead of resuming'],
  database: [
    '<url>',
    'the PostgreSQL database of engine and run, postgres://… (default: this machine)',
    serverAddress,
  ],
  ...spending,
})

const failOn = optionRows({
  failOn: ['<when>', 'exit code 11 when rows failed or were invalid (any) or never (none)', ['any', 'none']],
})

type Given = OptionsOf<
  typeof reading &
    typeof known &
    typeof selecting &
    typeof writing &
    typeof provenance &
    typeof running &
    typeof quota &
    typeof storedAnswers &
    typeof failOn &
    typeof sameFile
> & {
  readonly dryRun?: boolean
  readonly wait?: boolean | number
  readonly idempotencyKey?: string
  readonly lock?: string
}

const delimiterNames: Readonly<Record<string, string>> = {
  '\\t': '\t',
  tab: '\t',
  comma: ',',
  semicolon: ';',
  bar: '|',
  pipe: '|',
}

function readDelimiter(text: string): string {
  const character = delimiterNames[text] ?? text
  if (!/^[^"\r\n]$/u.test(character))
    throw new InvalidArgumentError('Give one character, or tab, comma, semicolon or bar.')
  return character
}

export const inputChoicesOf = (given: Given, streams: Pick<Streams, 'cwd'>): InputChoices => ({
  ...pickFields(given, ['sheet', 'encoding', 'delimiter', 'skipLines', 'sample']),
  file: given.csv ?? '',
  map: given.map ?? [],
  dryRun: given.dryRun ?? false,
  raw: given.rawCsv ?? false,
  failOn: given.failOn ?? 'any',
  header: given.header === false ? false : undefined,
  rejects: pathOf('--rejects', given.rejects, streams),
  skipKnown: knownLists(given, streams),
})

export function selectChoicesOf(
  { globals }: Pick<StreamsContext, 'globals'>,
  { where, only = [], since, columns: names, keepInput }: OptionsOf<typeof selecting>,
) {
  const known = only
    .flatMap((list) => list.split(','))
    .map((name) => onlyNames.find((one) => one === name.trim()) ?? refuseOnly(name.trim()))
  const columns = names?.split(',').map((name) => name.trim())
  if (columns?.includes('')) throw new Refusal('usage.columns_empty')
  const { layout, fields } = globals
  const other = layout !== undefined ? '--layout' : fields !== undefined ? '--fields' : undefined
  if (columns && other) throw new Refusal('usage.columns_twice', { other })
  if (keepInput && layout === undefined) throw new Refusal('usage.keep_input')
  if (since !== undefined && !known.includes('new') && !known.includes('changed'))
    throw new Refusal('usage.since_of_only')
  const isDuration = since !== undefined && /^(?:\d+(?:\.\d+)?[smhd])+$/.test(since)
  return {
    where,
    only: known.length > 0 ? known : undefined,
    since: since === undefined ? undefined : isDuration ? { ms: durationMs(since) } : { run: since },
    columns,
    keepInput,
  }
}

function refuseOnly(name: string): never {
  const near = nearest(name, onlyNames)
  throw new Refusal('usage.only', { name, meant: near, known: onlyNames })
}

/** Returns the lists of `--skip-known`, with the paths of files; `undefined` without any. */
export const knownLists = (
  { skipKnown }: { readonly skipKnown?: unknown },
  streams: Pick<Streams, 'cwd'>,
): readonly string[] | undefined => {
  if (!Array.isArray(skipKnown)) return undefined
  return skipKnown.map(String).map((source) => {
    if (source === '-' || source === '') throw new Refusal('usage.skip_known_stdin')
    return isRecords(source) ? source : resolve(streams.cwd, source)
  })
}

/** Throws a Refusal for `--jq` with a command that writes rows of a run. A quote is JSON. */
export function refuseJq({ jq }: GlobalOptions, { dryRun }: Given, command: string): void {
  if (jq !== undefined && !dryRun) throw new Refusal('usage.jq_of_rows', { command })
}

/**
 * Returns the options of a batch that no command line gave. Throws a Refusal for files that may not be read or written, and for a
 * layout of no CRM.
 */
export function batchOptions(context: Context, { maxAge, ...options }: Fields): Fields {
  const { layout } = context.globals
  claimFiles(context, { ...options, ...context.globals })
  const of = { flag: 'layout', text: layout, known: crmNames }
  if (layout !== undefined && !isCrmName(layout))
    throw new Refusal('usage.value', { ...of, near: nearest(layout, crmNames) })
  checkLayoutFormat(context.globals)
  return typeof maxAge === 'string' ? { ...options, maxAge: durationMs(maxAge) } : options
}

/** Reads the options of a batch command. Throws a Refusal for options that cannot be used together. */
export function choicesOf(context: StreamsContext, { options }: Invocation<Given>): BatchChoices {
  const { globals, streams } = context
  refuseJq(globals, options, '--csv')
  if (options.idempotencyKey !== undefined) throw new Refusal('usage.key_of_rows')
  if (options.rows !== undefined && options.sample !== undefined) throw new Refusal('usage.rows_or_sample')
  if (options.wait === false) throw new Refusal('usage.no_wait_of_rows')
  return {
    ...inputChoicesOf(options, streams),
    ...runChoicesOf(options, streams),
    excel: options.excel === true,
    format: rowFormat(context, options.dryRun === true),
    layout: globals.layout,
    fields: fieldsOf(globals),
    explode: options.explode === true,
    openSources: options.sources === true,
    ...selectChoicesOf(context, options),
    onlyMissing: options.onlyMissing,
  }
}

/** In milliseconds; `undefined` where no answer of another run is reused. `setting` is that of the profile. */
export function maxAgeOf(
  operation: Operation,
  { maxAgeMs, refresh }: Pick<RunChoices, 'maxAgeMs' | 'refresh'>,
  setting: string | undefined,
): number | undefined {
  const usual = isPriced(operation) ? defaultMaxAgeMs : 0
  const chosen = maxAgeMs ?? (setting === undefined ? usual : durationMs(setting))
  return refresh || chosen === 0 ? undefined : chosen
}

export const runChoicesOf = (given: Given, streams: Pick<Streams, 'cwd'>): RunChoices => ({
  ...pickFields(given, ['refresh', 'rows', 'maxCredits', 'maxCreditsPerDay', 'maxProfiles']),
  ...pickFields(given, ['concurrency', 'lock']),
  fresh: given.fresh ?? false,
  retryUnknown: given.retryUnknown ?? false,
  maxAgeMs: given.maxAge,
  summaryJson: pathOf('--summary-json', given.summaryJson, streams),
})

/**
 * Returns the format of rows. On a terminal it is CSV too, because a table would need all rows at once; a quote of them is shown as
 * one.
 */
export function rowFormat({ globals, streams }: StreamsContext, isQuote = false): BatchChoices['format'] {
  const file = fileOf(globals)
  if (file !== undefined) {
    checkOutputName(file, globals, streams)
    checkOutputFolder('-o', file, streams)
  }
  const format = chosenFormat(globals) ?? 'csv'
  if (format === 'table' && isQuote) return 'csv'
  if (format !== 'table' && format !== 'ids') return format
  throw new Refusal('usage.format_of_rows', { format })
}

/** Whether rows are shown to a person who chose no format and no file. */
export const isOnScreen = ({ globals, streams }: StreamsContext): boolean =>
  streams.stdout.isTTY === true && chosenFormat(globals) === undefined && fileOf(globals) === undefined

/** What providers of the user may cost, and which of their addresses end a waterfall. */
export const vendorOptions = optionRows({
  maxCost: ['<name=n>', 'the most to spend at your own provider (repeatable)', costs],
  accept: ['<status>', 'end only at an address that is valid', ['valid']],
})

export async function withVendorOptions(
  context: Context,
  given: OptionsOf<typeof vendorOptions>,
): Promise<Context> {
  const { maxCost, accept } = given
  if (maxCost === undefined && accept === undefined) return context
  if (!context.isLocal()) throw new Refusal('usage.vendor_limits')
  await checkProviders(context, maxCost)
  return context.withGlobals({ maxCost, accept })
}

/** Returns a context whose calls ask data vendors once more whose answers were lost before, where that is wanted. */
export const askingAgain = (context: Context, retryUnknown: boolean): Context =>
  retryUnknown && context.isLocal() ? context.withGlobals({ lostBefore: context.clock.now() }) : context

/** Throws a Refusal for a limit of a provider that there is not: it would limit nothing. */
export async function checkProviders(context: Context, limits: Readonly<Record<string, number>> = {}) {
  const names = Object.keys(limits)
  if (names.length === 0) return
  const { listProviders } = await import('../../engine/tables/providers.js')
  const owner = await openWorkspaceOwner(context)
  const providers = owner ? await owner.driver.read((tx) => listProviders(tx, owner.owner)) : []
  const known = providers.map(({ name }) => name)
  const name = names.find((one) => !known.includes(one))
  if (name !== undefined) throw new Refusal('usage.no_provider', { name, meant: nearest(name, known), known })
}
