import { type Command, Option } from 'commander'
import type { Input, Reply } from '../api/caller.js'
import { isOk } from '../api/caller.js'
import { type Shape, shapeOf } from '../api/shapes.js'
import type { Operation } from '../api/table.js'
import { callOnce, exitOfRefusal, resolvesNothing } from './call.js'
import { complain, isJson, spoken } from './complain.js'
import { examples } from './examples.js'
import { exits, reportOfAnswer, UsageError } from './exit.js'
import { extraOf } from './extras.js'
import { credited, limitsText, priceText } from './facts.js'
import { type Field, fieldsOfSchema, inputOf, optionsOf } from './fields.js'
import { groups } from './flags.js'
import { readInput } from './io.js'
import { fileOf, printTo } from './output.js'
import { dryRun, pathParameters } from './request.js'
import type { Invocation, Shell } from './shell.js'
import { openSink } from './sink.js'

/** Makes the command of an operation; `siblings` are the rows that share its words, each with a flag of its own. */
export async function operationCommand(
  shell: Shell,
  name: string,
  operation: Operation,
  siblings: readonly Operation[] = [],
): Promise<Command> {
  const shape = await shapeOf(operation.id)
  const inPath = pathParameters(operation)
  const fields = fieldsOfSchema(shape.input)
  const command = shell.command(name, operation.summary)
  for (const field of fields.filter((each) => inPath.includes(each.name)))
    command.argument(`<${field.name}>`, field.kind.description)
  const inOptions = fields.filter((each) => !inPath.includes(each.name))
  // What must be given comes first; otherwise the order is the schema's.
  for (const field of [...inOptions].sort((a, b) => Number(b.kind.required) - Number(a.kind.required)))
    for (const option of optionsOf(field)) command.addOption(option)
  for (const option of [
    ...flagOptions(operation, siblings),
    ...requestOptions(operation),
    ...(extraOf(operation.id).options?.() ?? []),
  ])
    command.addOption(option)
  if (operation.batch) await addBatch(command)
  command.addHelpText('after', () => helpAfter(operation))
  return shell.action(command, async (invocation) => {
    if (invocation.options.csv !== undefined) return runBatch(shell, operation, shape, inOptions, invocation)
    return run(shell, operation, await gather(shell, operation, shape, inOptions, invocation), invocation)
  })
}

const addBatch = async (command: Command) => (await import('./batch-options.js')).addBatchOptions(command)

async function runBatch(
  shell: Shell,
  operation: Operation,
  shape: Shape,
  fields: readonly Field[],
  invocation: Invocation,
): Promise<number> {
  const { batch } = await import('./commands/batch.js')
  const constants = await gather(shell, operation, shape, fields, invocation)
  return batch(shell, operation, shape, constants, invocation)
}

function flagOptions(operation: Operation, siblings: readonly Operation[]): Option[] {
  return [operation, ...siblings].flatMap((row) =>
    row.flag === undefined ? [] : [new Option(`--${row.flag}`, row.summary).helpGroup(groups.request)],
  )
}

function requestOptions(operation: Operation): Option[] {
  const options = [
    new Option('--input <file>', 'the whole request as JSON, from a file or - for stdin'),
    new Option('--dry-run', 'print the request and its price, send nothing'),
    new Option('--idempotency-key <key>', 'the same key again answers the same and costs nothing').hideHelp(
      !operation.idempotent,
    ),
  ]
  return options.map((option) => option.helpGroup(groups.request))
}

function helpAfter(operation: Operation): string {
  const lines = [`Price:    ${priceText(operation)}`, `Limits:   ${limitsText(operation)}`, '', 'Examples:']
  return `\n${[...lines, ...examples[operation.id].map((line) => `  $ prospect ${line}`)].join('\n')}`
}

/** The fields of the request: `--input` first, then what the options and arguments say. */
async function gather(
  shell: Shell,
  operation: Operation,
  shape: Shape,
  fields: readonly Field[],
  { args, options }: Invocation,
): Promise<Input> {
  const { streams } = shell.context
  const file = typeof options.input === 'string' ? options.input : undefined
  if (file === '-' && options.csv === '-')
    throw new UsageError('--input - and --csv - cannot both read stdin.')
  const base = file === undefined ? {} : await readInput(streams, file)
  const inPath = Object.fromEntries(pathParameters(operation).map((name, at) => [name, args[at]]))
  return { ...base, ...inputOf(shape.input, fields, options), ...inPath }
}

async function run(
  shell: Shell,
  operation: Operation,
  input: Input,
  invocation: Invocation,
): Promise<number> {
  const { context } = shell
  const { globals, options } = invocation
  if (options.dryRun === true) {
    await shell.print(await quoted(operation, input), globals)
    return exits.ok
  }
  const sink = await openSink(context, fileOf(globals))
  try {
    const idempotencyKey = typeof options.idempotencyKey === 'string' ? options.idempotencyKey : undefined
    const caller = await context.caller(globals)
    const reply = await callOnce(context, caller, operation, input, { ...globals, idempotencyKey })
    if (!isOk(reply)) {
      await sink.discard()
      return await refuse(shell, operation, reply, invocation)
    }
    const { layout } = extraOf(operation.id)
    await printTo(sink, context, reply.body, globals, {
      columns: operation.columns,
      ...(layout ? { layout } : {}),
    })
    return await judge(shell, operation, reply, invocation)
  } catch (error) {
    await sink.discard()
    throw error
  }
}

async function quoted(operation: Operation, input: Input): Promise<unknown> {
  // Defaults of the schema count: an omitted limit can be a price of its own.
  const parsed = (await shapeOf(operation.id)).input.safeParse(input)
  return { ...dryRun(operation, input), price: dryRun(operation, parsed.success ? parsed.data : input).price }
}

/** A failed answer: its body where the output is JSON, and what it means on stderr. */
async function refuse(
  shell: Shell,
  operation: Operation,
  reply: Reply,
  { globals }: Invocation,
): Promise<number> {
  const { context } = shell
  if (isJson(context, globals)) await shell.print(spoken(context, reply.body), { ...globals, output: '-' })
  const report = reportOfAnswer(reply.status, reply.body)
  return complain(context, { ...report, exit_code: exitOfRefusal(operation, reply) }, globals)
}

async function judge(
  shell: Shell,
  operation: Operation,
  reply: Reply,
  invocation: Invocation,
): Promise<number> {
  const { context } = shell
  const { globals, options } = invocation
  if (resolvesNothing(operation, reply)) {
    const report = {
      error: 'Nothing was found.',
      code: null,
      status: reply.status,
      exit_code: exits.notFound,
      hint: 'Nothing was charged.',
    }
    return complain(context, report, globals)
  }
  if (reply.credits > 0 && context.streams.stdout.isTTY)
    context.notify(`Charged ${credited(reply.credits)}.`, globals)
  extraOf(operation.id).judge?.(reply, options)
  return exits.ok
}
