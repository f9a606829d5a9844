import type { Shape } from '../../api/areas/shapes.js'
import { type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { Operation } from '../../api/operations/table.js'
import { resolvesNothing } from '../../api/operations/units.js'
import type { Context, GlobalOptions, StreamsContext } from '../context/context.js'
import { reportOfReply, UsageError } from '../context/errors.js'
import { readInput } from '../context/io.js'
import type { CommandEnvironment, Invocation } from '../options/command-environment.js'
import { checkFields, type Field, inputOf } from '../options/schema-options.js'
import { fieldsOf, fileOf, openSink, printTo, type View } from '../output/output.js'
import { isJson, reportError } from '../output/report-error.js'
import { credited } from '../output/text.js'
import { callOnce, exitOfRefusal, printRefusal } from './call.js'
import { dryRun, pathParameters } from './dry-run.js'
import { extraOf } from './extras.js'
import { everyPage } from './pagination.js'

/** The fields of a request: `--input` first, then what the options and arguments say. */
export async function gather(
  { streams }: StreamsContext,
  operation: Operation,
  shape: Shape,
  fields: readonly Field[],
  { args, options }: Invocation,
): Promise<Input> {
  const file = typeof options.input === 'string' ? options.input : undefined
  if (file === '-' && options.csv === '-')
    throw new UsageError('--input - and --csv - cannot both read stdin.')
  const base = file === undefined ? {} : await readInput(streams, file)
  const inPath = Object.fromEntries(pathParameters(operation).map((name, at) => [name, args[at]]))
  return { ...base, ...inputOf(shape.input, fields, options), ...inPath }
}

/** Sends one request, prints what came back and answers the exit code; with `--dry-run` it only shows the request. */
export async function runOnce(
  environment: CommandEnvironment,
  operation: Operation,
  shape: Shape,
  input: Input,
  invocation: Invocation,
): Promise<number> {
  const { globals, options } = invocation
  if (options.dryRun === true) {
    // Defaults of the schema count: an omitted limit can be a price of its own.
    const parsed = shape.input.safeParse(input)
    const { price } = dryRun(operation, parsed.success ? parsed.data : input)
    await environment.print({ ...dryRun(operation, input), price }, globals)
    return exitCodes.ok
  }
  checkFields(shape.output, fieldsOf(globals))
  const reply = await answered(environment.context, operation, input, invocation)
  if (!isOk(reply)) return refuse(environment, operation, reply, invocation)
  return judge(environment.context, operation, reply, invocation)
}

/** Asks, and prints a success; its place is opened first, so that no paid answer finds its door shut. */
export async function answered(
  context: Context,
  operation: Operation,
  input: Input,
  invocation: Invocation,
): Promise<Reply> {
  const { globals } = invocation
  const sink = await openSink(context, fileOf(globals), globals)
  try {
    const reply = await asked(context, operation, input, invocation)
    if (isOk(reply)) await printTo(sink, context, reply.body, globals, viewOf(operation))
    else await sink.discard()
    return reply
  } catch (error) {
    await sink.discard()
    throw error
  }
}

/** Asks, and answers what came back; with `--all` of every page. */
export async function asked(
  context: Context,
  operation: Operation,
  input: Input,
  { globals, options }: Invocation,
): Promise<Reply> {
  const idempotencyKey = typeof options.idempotencyKey === 'string' ? options.idempotencyKey : undefined
  const caller = await context.caller(globals)
  const ask = (fields: Input) => callOnce(context, caller, operation, fields, { ...globals, idempotencyKey })
  return options.all === true ? everyPage(ask, input) : ask(input)
}

function viewOf(operation: Operation): View {
  const { layout } = extraOf(operation.id)
  return { columns: operation.columns, ...(layout ? { layout } : {}) }
}

/** Tells of a failed answer: its body where the output is JSON, and what it means on stderr. Answers the exit code. */
export async function refuse(
  environment: CommandEnvironment,
  operation: Operation,
  reply: Reply,
  { globals }: Invocation,
): Promise<number> {
  const { context } = environment
  if (isJson(context, globals)) await printRefusal(environment, reply.body, globals)
  const report = reportOfReply(reply)
  return reportError(context, { ...report, exit_code: exitOfRefusal(operation, reply) }, globals)
}

/** What a success means beside its body; answers the exit code. */
export async function judge(
  context: StreamsContext,
  operation: Operation,
  reply: Reply,
  invocation: Invocation,
): Promise<number> {
  const { globals } = invocation
  if (resolvesNothing(operation, reply.body)) return sayNothingFound(context, globals, reply.status)
  if (reply.credits > 0 && context.streams.stdout.isTTY)
    context.notify(`Charged ${credited(reply.credits)}.`, globals)
  const { judge: check, after } = extraOf(operation.id)
  check?.(reply, invocation.options)
  await after?.(context, reply, invocation)
  return exitCodes.ok
}

/** Tells that a lookup resolved nothing; answers its exit code. */
export function sayNothingFound(
  context: StreamsContext,
  globals: GlobalOptions,
  status: number | null = null,
): Promise<number> {
  const said = { error: 'Nothing was found.', code: null, status, exit_code: exitCodes.notFound }
  return reportError(context, { ...said, hint: 'Nothing was charged.' }, globals)
}
