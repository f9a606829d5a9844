import { createRequire } from 'node:module'
import { CommanderError } from 'commander'
import { isRefusal, Refusal, type Report, systemCode } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isTooLarge, parseExact, toJson, toPrintableJson } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import { toCell } from '../../runs/output/columns.js'
import { crmKindOfRecords } from '../../runs/output/crm-layout.js'
import { type FormatName, type Layout, rowFormats } from '../../runs/output/formats.js'
import { type Sink, writeTo } from '../../runs/output/writer.js'
import type { Context, GlobalOptions, Streams, StreamsContext } from '../context/context.js'
import { directHint, isExitPrompt, shortenPath, systemReason, UsageError } from '../context/errors.js'
import { styledStream } from '../context/io.js'
import { asksForJson, fieldsOf, fileOf, formatOf, withSink } from './output.js'
import { columnsOf, flatten, pickFields, type Row, recordsIn, valueAt } from './records.js'
import type { Shown } from './table.js'
import { drawable, formatNumber, type Look, lookOf, lookOn, messageLines, oneLine } from './text.js'
import { widthOf } from './width.js'

export interface View extends Omit<Shown, 'fields'> {
  /** Returns the whole text of this result, of which `body` has each text on one line; `raw` is as it came. */
  readonly layout?: (body: unknown, look: Look, raw: unknown) => string | Promise<string>
  /** Whether `--jq` is applied to each record, because there may be too many for memory. */
  readonly isStream?: boolean
  /** Whether the result was paid for, or cannot be had again: it is printed whole where `--jq` fails on it. */
  readonly isOnce?: boolean
  /** Returns the time that relative times count from, where it is not that of this machine. */
  readonly now?: () => Promise<number>
}

/** Prints a result in the chosen format, to stdout or to the file of `-o`. */
export async function print(context: Context, body: unknown, view: View = {}): Promise<void> {
  await withSink(context, (sink) => printTo(sink, context, body, view))
}

/** Prints a result to a sink that was opened before the request, so that no paid result is without a place to go. */
export async function printTo(sink: Sink, context: Context, body: unknown, view: View = {}): Promise<void> {
  const { globals: options } = context
  const take = takerOf(context)
  if (take) return take(body)
  try {
    for await (const text of render(context, body, view)) await sink.write(text)
  } catch (error) {
    if (!view.isOnce || options.jq === undefined || !isRefusal(error, 'usage.jq')) throw error
    await sink.write(`${toPrintableJson(body, 2)}\n`)
    await sink.finish()
    throw error
  }
  await sink.finish()
}

/** Returns what takes the result in place of stdout; `undefined` where it is printed. */
const takerOf = ({ take, globals }: Context) => (fileOf(globals) === undefined ? take : undefined)

async function* render(context: Context, body: unknown, view: View): AsyncGenerator<string> {
  const { globals: options } = context
  const format = formatOf(context)
  const fields = fieldsOf(options)
  const stream: Partial<Streams['stdout']> = fileOf(options) === undefined ? context.streams.stdout : {}
  if (options.jq !== undefined) {
    yield filterJson(toPrintableJson(body, 0), options.jq, stream.isTTY === true)
  } else if (format === 'table') {
    const look = lookOn(context, stream, stream.isTTY ? await view.now?.() : undefined)
    if (view.layout && !fields) yield drawable(await view.layout(escapeValues(body), look, body), look)
    else {
      const { table } = await import('./table.js')
      yield table(body, recordsIn(body, fields ?? view.columns), { ...view, fields }, look)
    }
  } else if (rowFormats[format].whole) {
    yield rowFormats[format].whole(fields ? pickBodyFields(body, fields) : body)
  } else {
    const { rows } = recordsIn(body, fields ?? view.columns)
    yield* renderRecords(() => rows, format, options, view.columns)
  }
}

function pickBodyFields(body: unknown, fields: readonly string[]): unknown {
  const { rows: found, isList, from } = recordsIn(body, fields)
  const rows = found.map((row) => pickFields(row, fields))
  if (!isList) return rows[0]
  return from === undefined ? rows : { ...(body as object), [from]: rows }
}

/** Returns a body whose texts are each on one line, without control characters. */
function escapeValues(value: unknown): unknown {
  if (typeof value === 'string') return oneLine(value)
  if (Array.isArray(value)) return value.map(escapeValues)
  if (!isObject(value) || isTooLarge(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [oneLine(name), escapeValues(inner)]),
  )
}

/** Reads the records, from the first one each time it is called. */
export type Records = () => AsyncIterable<Row> | Iterable<Row>

const chunkRows = 500

/** Prints records as they come, in any format, with memory that does not grow with their number. */
export async function printRecords(context: Context, records: Records, view: View = {}): Promise<void> {
  const { globals: options } = context
  const take = takerOf(context)
  if (take) return take(await Array.fromAsync(records()))
  const format = formatOf(context)
  if (format === 'table') return print(context, await readShown(context, records), view)
  if (options.jq !== undefined && !view.isStream)
    return print(context, await Array.fromAsync(records()), view)
  await withSink(context, async (sink) => {
    const pieces =
      options.jq === undefined
        ? renderRecords(records, format, options, view.columns)
        : filterRecords(records, options.jq)
    for await (const text of pieces) await sink.write(text)
    await sink.finish()
  })
}

/** Returns the records of a table, after a notice where there are too many for one. */
async function readShown(context: Context, records: Records): Promise<readonly Row[]> {
  const rows: Row[] = []
  const { tableRows } = await import('./table.js')
  for await (const row of records()) {
    if (rows.length < tableRows) rows.push(row)
    else {
      context.notify(
        `Only the first ${formatNumber(tableRows)} are shown. For all of them: -o FILE or --format ndjson`,
      )
      break
    }
  }
  return rows
}

async function* filterRecords(records: Records, expression: string): AsyncGenerator<string> {
  for await (const rows of chunks(records()))
    yield filterJson(rows.map((row) => toPrintableJson(row, 0)).join('\n'), expression, false)
}

export async function* renderRecords(
  records: Records,
  name: Exclude<FormatName, 'table'>,
  options: GlobalOptions = {},
  columns: readonly string[] = [],
): AsyncGenerator<string> {
  const format = rowFormats[name]
  // The columns are those of all records, which can differ: records are read twice instead of held in memory.
  const names = format.hasColumns ? await namesIn(records()) : []
  const layout = await layoutOf(name === 'ids' ? {} : options, names, columns)
  const { head, rows, end } = format.create(layout, { indent: 2 })
  yield head
  for await (const some of chunks(records())) yield rows(some)
  yield end()
}

/** Returns the columns of records with these names: those of an import, those asked for, else all. */
async function layoutOf(
  options: GlobalOptions,
  names: readonly string[],
  columns: readonly string[],
): Promise<Layout<Row>> {
  if (options.layout !== undefined && names.length > 0) {
    const { crmColumns } = await import('../../runs/output/crm-layout.js')
    return { ...crmColumns(options.layout, crmKindOfRecords(names)), record: (row) => row }
  }
  const fields = fieldsOf(options)
  // A file without records has a header, too.
  const all = names.length > 0 ? names : columns
  const header = fields ? columnsOf(fields, all) : all
  return {
    header,
    cells: (row) => {
      const flat = flatten(row)
      return header.map((name) => toCell(flat[name] ?? valueAt(row, name)))
    },
    record: (row) => (fields ? pickFields(row, fields) : row),
  }
}

async function namesIn(records: ReturnType<Records>): Promise<string[]> {
  const names = new Set<string>()
  for await (const row of records) for (const name of Object.keys(flatten(row))) names.add(name)
  return [...names]
}

async function* chunks(records: ReturnType<Records>): AsyncGenerator<Row[]> {
  let rows: Row[] = []
  for await (const row of records) {
    rows.push(row)
    if (rows.length < chunkRows) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

interface Jq {
  /** Throws an error with an exit code: 3 where the expression is none, 5 where it fails. */
  raw(json: string, filter: string, flags: readonly string[]): string | undefined
}

/**
 * Loads jq (decision 25): few commands need it, and it is large. The package is a promise, which `import` cannot hand
 * over.
 */
const loadJq = (): Promise<Jq> => createRequire(import.meta.url)('jq-web') as Promise<Jq>

/** Throws a Refusal for an expression that jq does not understand. Runs nothing of it. */
export async function checkJq(expression: string): Promise<void> {
  const jq = await loadJq()
  try {
    jq.raw('null', `empty | (\n${expression}\n)`, ['--'])
  } catch {
    // What does not compile does not run, either, and fails with a better message.
    await filterJson('null', expression, false)
  }
}

/** Returns what an expression makes of JSON, as `gh --jq` prints it: texts without quotes, a line for each result. */
async function filterJson(json: string, expression: string, pretty: boolean): Promise<string> {
  const jq = await loadJq()
  try {
    // It returns the lines without the end of the last one.
    const lines = jq.raw(json, expression, ['-r', ...(pretty ? [] : ['-c']), '--'])
    return lines === undefined ? '' : `${lines}\n`
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string }
    const said = (stderr || message).replace(/^Non-zero exit code: \d+\n/, '').split('\n')[0] ?? ''
    const problem = said
      .replace(/^jq: error:? ?/, '')
      .replace(/ \(Unix shell quoting issues\?\)|\(at \w*:\d+\): | at <top-level>.*$/g, '')
    throw new Refusal('usage.jq', { problem })
  }
}

/** Says on stderr what went wrong: one line, or one object where JSON was asked for. Returns the exit code. */
export async function reportError(context: StreamsContext, given: Report): Promise<number> {
  const isDirect = given.code === 'outcome_unknown' && context.globals.direct === true
  const told = isDirect ? { ...given, hint: directHint } : given
  const report = { ...told, error: withoutUserInfo(told.error), hint: withoutUserInfo(told.hint) }
  context.log?.write('error', report)
  const { stderr, env } = context.streams
  const look = lookOf(stderr, env, context.globals.color !== false)
  const { error, hint } = report
  const text = asksForJson(context.globals)
    ? context.redact(JSON.stringify(report))
    : toText({ ...report, error: context.redact(error), hint: context.redact(hint) }, context, look)
  // Where stderr fails too, the exit code has to say it.
  await writeTo(styledStream(stderr), `${text}\n`).catch(() => {})
  return report.exit_code
}

/** Returns a text in which no address has a password, or a user that may be one: what was given for a file is repeated, too. */
const withoutUserInfo = (text: string): string =>
  text.replace(/\b([a-z][\w+.-]*:\/{1,2})([^\s"']*)@/gi, (whole, scheme: string, before: string) => {
    const [host = ''] = before.split(/[/?#]/)
    // Behind a slash, a name with an @ is part of a path, unless what stands before is no host with a port.
    const isPath = before.length > host.length && /^[^:]+(?::\d*)?$/.test(host)
    // The address of a database has to be repeated as it is in a command that can be copied.
    const isRole = /^postgres/i.test(scheme) && !before.includes(':')
    return isPath || isRole ? whole : `${scheme}…@`
  })

export const isJson = (context: StreamsContext): boolean => ['json', 'ndjson'].includes(formatOf(context))

/** Returns the body of a refusal without keys, which a server could repeat in its error. */
export const redactBody = (context: StreamsContext, body: unknown): unknown =>
  parseExact(context.redact(toJson(body ?? null)))

function toText({ error, hint }: Report, { streams }: StreamsContext, look: Look): string {
  const happened = messageLines(/[.!?…]$/.test(error) ? error : `${error}.`, streams)
  const todo = hint === '' ? [] : messageLines(hint, streams)
  const red = happened.map(look.red)
  const isShort = !look.isTerminal || widthOf([...happened, ...todo].join(' ')) <= look.width
  return isShort ? [...red, ...todo].join(' ') : [...red, ...todo].join('\n')
}

/** Reports the error that ended a command; returns the exit code. */
export async function outcomeOf(error: unknown, context: StreamsContext): Promise<number> {
  // A reader that left is no failure of a command that spends nothing.
  if (isRefusal(error, 'output.closed')) return exitCodes.ok
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  // Ctrl-C at a question.
  if (isExitPrompt(error)) return exitCodes.interrupted
  const { reportOf } = await import('../messages.js')
  const report = reportOf(error instanceof CommanderError ? toUsageError(error) : error)
  if (report) return reportError(context, report)
  if (!(error instanceof Error && 'syscall' in error && systemCode(error) !== undefined))
    return reportBug(error, context)
  // The system refused something that no command expects to fail, such as a full disk.
  const { path = 'A file' } = error as NodeJS.ErrnoException
  const text = `${shortenPath(path)} cannot be read or written: ${systemReason(error)}`
  const hint = 'Check free space and permissions, and run the command again.'
  const code = { code: 'system', status: null, exit_code: exitCodes.unreachable }
  return reportError(context, { error: text, ...code, hint })
}

/** Returns commander's error in our words, without values after `=`, which could be secrets. */
export function toUsageError(error: CommanderError): UsageError {
  const [first = '', meant = ''] = error.message.replace(/^error: /, '').split('\n')
  const text = reword(first)
    .replace(/'(--?[^'=]+)=[^']*'/g, "'$1'")
    .replace(/'/g, '"')
  const quotes = /Expected [1-9]\d* arguments? but/.test(first) ? 'Put what has spaces in quotes.' : ''
  return new UsageError(
    `${text[0]?.toUpperCase()}${text.slice(1)}.`.replace(/([.?])\.$/, '$1'),
    [meant, quotes, 'Add --help to see what it takes.'].filter(Boolean).join(' '),
  )
}

function reword(text: string): string {
  return text
    .replace(/^unknown option '(--[^'=]+)=.*'$/s, "unknown option '$1', or one that takes no value")
    .replace(/^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*)' is invalid\./s, "$1 does not take '$2'.")
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*?)'\./s, "<$2> does not take '$1'.")
    .replace('Allowed choices are ', 'It takes: ')
    .replace(/^required option '(.*)' not specified/, '$1 is required')
    .replace(/^missing required argument '(.*)'/, '<$1> is missing')
    .replace(/^option '(?:-\w, )?(.*)' argument missing/, '$1 needs a value')
}

const bugHint =
  'Please report it to the maintainers of the copy you installed, with the command, what prospect version prints, and what it prints with --verbose. Leave out keys and personal data.'

/** Says on stderr that something is a bug, for what goes on working after it. */
export function notifyBug(context: StreamsContext, error: unknown): void {
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  context.notify(`This is a bug in prospect: ${message}`)
  context.notify(bugHint)
  if (context.globals.verbose) context.notify(stack)
}

async function reportBug(error: unknown, context: StreamsContext): Promise<number> {
  const text = error instanceof Error ? error.message : String(error)
  const report: Report = {
    error: `This is a bug in prospect: ${text}`,
    code: 'bug',
    status: null,
    exit_code: 1,
    hint: bugHint,
  }
  const wantsStack = context.globals.verbose === true || context.streams.env.PROSPECT_DEBUG !== undefined
  if (wantsStack && error instanceof Error)
    await writeTo(context.streams.stderr, `${context.redact(error.stack ?? '')}\n`)
  return reportError(context, report)
}
