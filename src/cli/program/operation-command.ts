import { type Command, Option } from 'commander'
import { type Shape, shapeOf } from '../../api/areas/shapes.js'
import type { Operation } from '../../api/operations/table.js'
import { manyOf } from '../../batch/output/columns.js'
import { addBatchOptions } from '../batch/flags.js'
import { UsageError } from '../context/errors.js'
import { askMissing } from '../operation/ask-fields.js'
import { pathParameters } from '../operation/dry-run.js'
import { extraOf } from '../operation/extras.js'
import { hasPages } from '../operation/pagination.js'
import { gather, runOnce } from '../operation/run-sync.js'
import type { CommandEnvironment, Invocation } from '../options/command-environment.js'
import { groups } from '../options/global-options.js'
import {
  type Field,
  fieldOfWords,
  fieldsOfSchema,
  optionsOf,
  placeOf,
  withWords,
} from '../options/schema-options.js'
import { limitsText, priceText } from '../output/text.js'
import { withOwnWebhook } from '../target/own-webhook.js'
import { waitOf, waitOptions } from '../wait/options.js'
import { examples } from './examples.js'

/** Makes the command of an operation; `siblings` are the rows that share its words, each with a flag of its own. */
export async function operationCommand(
  environment: CommandEnvironment,
  name: string,
  operation: Operation,
  siblings: readonly Operation[] = [],
): Promise<Command> {
  const shape = await shapeOf(operation.id)
  const inPath = pathParameters(operation)
  const all = fieldsOfSchema(shape.input)
  const fields = all.filter((field) => !inPath.includes(field.name))
  const inPlace = fieldOfWords(operation.id, fields)
  const command = environment.command(name, operation.summary)
  for (const field of all)
    if (inPath.includes(field.name)) command.argument(`<${field.name}>`, field.kind.description)
  if (inPlace) command.argument(placeOf(inPlace), inPlace.kind.description)
  const own = [...flagOptions(operation, siblings), ...requestOptions(operation)]
  for (const option of [
    ...fieldOptions(operation, fields),
    ...own,
    ...(extraOf(operation.id).options?.() ?? []),
  ])
    command.addOption(option)
  if (hasPages(shape))
    command.addOption(new Option('--all', 'every page, as one answer').helpGroup(groups.request))
  if (operation.batch) addBatchOptions(command, operation.batch, manyOf(operation, shape) !== undefined)
  command.addHelpText('after', () => helpAfter(operation))
  return environment.action(command, (given) => {
    const options = withWords(inPlace, inPath.length > 0 ? [] : given.args, given.options)
    return run(environment, operation, shape, fields, { ...given, options })
  })
}

async function run(
  environment: CommandEnvironment,
  operation: Operation,
  shape: Shape,
  fields: readonly Field[],
  invocation: Invocation,
): Promise<number> {
  const { context } = environment
  const given = await gather(context, operation, shape, fields, invocation)
  if (invocation.options.csv !== undefined) {
    const { fromCsv } = await import('../commands/batch/from-csv.js')
    return fromCsv(environment, operation, shape, given, invocation)
  }
  const { globals, options } = invocation
  if (options.distribute === true || options.database !== undefined)
    throw new UsageError(
      `--${options.distribute === true ? 'distribute' : 'database'} is about the rows of a file: it goes with --csv.`,
    )
  // Who waits for the result gives an address of its own, where one is wanted.
  const isOurs = operation.starts !== undefined && (context.isLocal(globals) || waitOf(options).shows)
  const known = isOurs ? withOwnWebhook(shape, given) : given
  const input = await askMissing(context, shape, fields, known, globals)
  if (operation.starts === undefined) return runOnce(environment, operation, shape, input, invocation)
  const { runStarting } = await import('../wait/run-async.js')
  return runStarting(environment, operation, shape, input, invocation)
}

/** What must be given comes first; otherwise the order is the schema's. */
const fieldOptions = (operation: Operation, fields: readonly Field[]): Option[] =>
  fields
    .map((field) => (operation.starts && field.name === 'webhook_url' ? ownedWebhook(field) : field))
    .sort((a, b) => Number(b.kind.required) - Number(a.kind.required))
    .flatMap(optionsOf)

/** Nobody needs an address for what this command takes itself. */
const ownedWebhook = (field: Field): Field => ({
  ...field,
  kind: {
    ...field.kind,
    required: false,
    description: `${field.kind.description}; without it, this command waits for the result itself`,
  },
})

function flagOptions(operation: Operation, siblings: readonly Operation[]): Option[] {
  return [operation, ...siblings].flatMap((row) =>
    row.flag === undefined ? [] : [new Option(`--${row.flag}`, row.summary).helpGroup(groups.request)],
  )
}

function requestOptions(operation: Operation): Option[] {
  const key = new Option('--idempotency-key <key>', 'the same key again answers the same and costs nothing')
  const options = [
    new Option('--input <file>', 'the whole request as JSON, from a file or - for stdin'),
    new Option(
      '--dry-run',
      `print the request and its price${operation.batch ? ', with --csv the quote' : ''}; send nothing`,
    ),
    // Elsewhere the key is taken and ignored, as the API does.
    key.hideHelp(!operation.idempotent),
    ...(operation.starts ? waitOptions() : []),
  ]
  return options.map((option) => option.helpGroup(groups.request))
}

function helpAfter(operation: Operation): string {
  const lines = [`Price:    ${priceText(operation)}`, `Limits:   ${limitsText(operation)}`, '', 'Examples:']
  return `\n${[...lines, ...examples[operation.id].map((line) => `  $ prospect ${line}`)].join('\n')}`
}
