import { CommanderError } from 'commander'
import { isRefusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { parseExact, toJson } from '../../api/values/json.js'
import { systemCode } from '../../csv/encoding.js'
import { writeTo } from '../../runs/output/writer.js'
import type { StreamsContext } from '../context/context.js'
import { isExitPrompt, type Report, shortenPath, systemReason, UsageError } from '../context/errors.js'
import { styledStream } from '../context/io.js'
import { formatOf } from './output.js'
import { type Look, lookOf, messageLines, widthOf } from './text.js'

/** One line, or one object for JSON; on a terminal a usage error is a sentence. Returns the exit code. */
export async function reportError(context: StreamsContext, report: Report): Promise<number> {
  context.log?.write('error', report)
  const { stderr, env } = context.streams
  const look = lookOf(stderr, env, context.globals.color !== false)
  const { error, hint } = report
  const { json, format } = context.globals
  const isTyped =
    look.isTerminal &&
    context.streams.stdout.isTTY &&
    report.exit_code === exitCodes.usage &&
    !json &&
    format === undefined
  const text =
    isJson(context) && !isTyped
      ? context.redact(JSON.stringify(report))
      : toText({ ...report, error: context.redact(error), hint: context.redact(hint) }, context, look)
  // Where stderr fails too, the exit code has to say it.
  await writeTo(styledStream(stderr), `${text}\n`).catch(() => {})
  return report.exit_code
}

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
  return isSystemError(error) ? reportError(context, reportSystemError(error)) : reportBug(error, context)
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && systemCode(error) !== undefined

/** What it means that the system refused something that no command expects to fail, such as a full disk. */
function reportSystemError(error: NodeJS.ErrnoException): Report {
  const { path = 'A file' } = error
  return {
    error: `${shortenPath(path)} cannot be read or written: ${systemReason(error)}`,
    code: 'system',
    status: null,
    exit_code: exitCodes.unreachable,
    hint: 'Check free space and permissions, and run the command again.',
  }
}

/** Returns commander's error in our words, without values after `=`, which could be secrets. */
export function toUsageError(error: CommanderError): UsageError {
  const [first = '', meant = ''] = error.message.replace(/^error: /, '').split('\n')
  const text = reword(first)
    .replace(/'(--?[^'=]+)=[^']*'/g, "'$1'")
    .replace(/'/g, '"')
  return new UsageError(
    `${text[0]?.toUpperCase()}${text.slice(1)}.`.replace(/([.?])\.$/, '$1'),
    `${meant} Add --help to see what it takes.`.trim(),
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
