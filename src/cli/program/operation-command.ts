import { type Command, Option } from 'commander'
import { shapeOf } from '../../api/areas/shapes.js'
import { observedNote, pathParameters } from '../../api/operations/facts.js'
import type { Operation, OperationId } from '../../api/operations/table.js'
import { addBatchOptions } from '../batch/options.js'
import { hasPages } from '../operation/call.js'
import { extraOf } from '../operation/extras.js'
import { addLocalId, resolveLocalId } from '../operation/local-ids.js'
import { collectInput } from '../operation/request.js'
import type { CommandEnvironment } from '../options/command-environment.js'
import { groups } from '../options/global-options.js'
import {
  argumentText,
  type Field,
  fieldOfWords,
  fieldsOfSchema,
  hasRecords,
  optionsOf,
  spellingsOf,
  withHeadings,
  withWords,
} from '../options/schema-options.js'
import { limitsText, priceText } from '../output/text.js'
import { waitOptions } from '../wait/options.js'
import examples from './examples.json' with { type: 'json' }
import { runOperation } from './run-operation.js'

/** Examples for the help of each operation, without the leading `prospect`; each one parses as it stands. */
const examplesOf: Readonly<Record<OperationId, readonly string[]>> = examples

/** Creates the command of an operation. `siblings` are the operations that a flag of the same command chooses. */
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
  addLocalId(command, operation)
  if (inPlace) command.argument(argumentText(inPlace), inPlace.kind.description)
  command
    .addOptions(fieldOptions(operation, fields))
    .addOptions(
      spellingsOf(operation.id, fields)
        .flatMap(optionsOf)
        .map((option) => option.hideHelp()),
    )
    .addOptions(flagOptions(operation, siblings))
    .addOptions(requestOptions(operation))
    .addOptions(extraOf(operation.id).options?.() ?? [])
  if (hasPages(shape))
    command.addOption(new Option('--all', 'get every page, as one answer').helpGroup(groups.request))
  addBatchOptions(command, operation, shape)
  if (hasRecords(operation, shape)) command.addLayout()
  // The technologies are those of the catalogue.
  if (operation.method === 'GET' && operation.id !== 'accounts.technologies') command.reads('engine')
  return command
    .addNote(factsText(operation))
    .addExamples(...examplesOf[operation.id])
    .run(async (context, given) => {
      const options = withWords(inPlace, inPath.length > 0 ? [] : given.args, given.options)
      const invocation = { ...given, options, args: await resolveLocalId(context, operation, given) }
      const input = await collectInput(context, operation, shape, invocation)
      return runOperation(context, { operation, shape, input, invocation })
    })
}

/** Returns the options of the fields: required ones first, else in the order of the schema. */
const fieldOptions = (operation: Operation, fields: readonly Field[]): Option[] =>
  withHeadings(operation.id, fields)
    .map((field) => (operation.starts && field.name === 'webhook_url' ? ownedWebhook(field) : field))
    .sort((a, b) => Number(b.kind.required) - Number(a.kind.required))
    .flatMap(optionsOf)

/** Makes `--webhook-url` optional, because the command can wait for the result itself. */
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
  const key = new Option(
    '--idempotency-key <key>',
    'a repeated request with the same key gets the same answer and costs nothing',
  )
  return [
    new Option(
      '--dry-run',
      `print the request and its price${operation.batch ? ', with --csv the quote' : ''}; send nothing`,
    ).helpGroup(groups.request),
    ...(operation.starts ? waitOptions() : []),
    new Option('--input <file>', 'the whole request as JSON, from a file or - for stdin').helpGroup(
      groups.everyRequest,
    ),
    // Other operations accept the key and ignore it, as the API does.
    key.hideHelp(!operation.idempotent).helpGroup(groups.everyRequest),
  ]
}

function factsText(operation: Operation): string {
  const { observed, unavailable } = operation
  const facts = [
    observed ? `Origin:   ${observedNote}` : '',
    unavailable ? `Here:     always refused. ${unavailable}.` : '',
    `Price:    ${priceText(operation)}`,
    `Limits:   ${limitsText(operation)}`,
  ]
  return facts.filter((fact) => fact !== '').join('\n')
}
