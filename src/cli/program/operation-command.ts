import { type Command, Option } from 'commander'
import { shapeOf } from '../../api/areas/shapes.js'
import { Refusal } from '../../api/calls/errors.js'
import { isPriced, observedNote, pathParameters } from '../../api/operations/facts.js'
import { areaOf, type Operation, vendorKindsOf } from '../../api/operations/table.js'
import { withOwnWebhook } from '../../api/validation/own-webhook.js'
import type { Fields } from '../../api/values/objects.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { OperationCall } from '../../mcp/session.js'
import { addBatchOptions, batchOptions, vendorOptions, withVendorOptions } from '../batch/options.js'
import {
  askMissing,
  checkEngineFilters,
  checkKinds,
  checkTyped,
  collectInput,
  type OperationRequest,
} from '../call/build.js'
import { runSync } from '../call/call.js'
import { extraOf } from '../call/extras.js'
import { withFields } from '../call/print.js'
import { hasPages } from '../call/send.js'
import { findStored } from '../call/spending.js'
import { requireSetUp } from '../commands/setup/set-up.js'
import type { Context } from '../context/context.js'
import { openAdmin } from '../context/open-databases.js'
import {
  type CommandEnvironment,
  expandId,
  type Invocation,
  resolveIds,
  type StoredIds,
  type StoredKind,
} from '../options/command-environment.js'
import { groups } from '../options/help.js'
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
import { toOptions } from '../options/values.js'
import { waitOf, waitOptions } from '../options/webhooks.js'
import { canAsk } from '../output/prompt.js'
import { limitsText, priceText } from '../output/text.js'

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
  const kind = kindOf(operation)
  if (kind) command.addStoredId(kind)
  if (inPlace) command.argument(argumentText(inPlace), inPlace.kind.description)
  command
    .addOptions(fieldOptions(operation, fields))
    .addOptions(
      spellingsOf(operation.id, fields)
        .flatMap(optionsOf)
        .map((option) => option.hideHelp()),
    )
    .addOptions(
      [operation, ...siblings]
        .filter(({ flag }) => flag !== undefined)
        .map(({ flag, summary }) => new Option(`--${flag}`, summary).helpGroup(groups.request)),
    )
    .addOptions(requestOptions(operation))
    .addOptions(extraOf(operation.id).options?.() ?? [])
  if (hasPages(shape))
    command.addOption(new Option('--all', 'get every page, as one answer').helpGroup(groups.request))
  addBatchOptions(command, operation, shape)
  if (vendorKindsOf(operation).length > 0)
    for (const option of toOptions(vendorOptions)) {
      const isOfAddresses = option.attributeName() === 'accept' && !operation.id.startsWith('contacts.')
      command.addOption(option.helpGroup(groups.request).hideHelp(isOfAddresses))
    }
  if (hasRecords(operation, shape)) command.addLayout()
  return command
    .addNote(factsText(operation))
    .addExamplesOf(operation.id)
    .run(async (plain, given) => {
      const target = isShown(operation, given) ? plain : await requireSetUp(plain, databaseOf(given))
      const context = await withVendorOptions(target, given.options)
      const options = withWords(inPlace, inPath.length > 0 ? [] : given.args, given.options)
      const invocation = { ...given, options, args: await resolveLocalId(context, operation, given) }
      const input = await collectInput(context, operation, shape, invocation)
      return runOperation(context, { operation, shape, input, invocation })
    })
}

const databaseOf = ({ options: { database } }: Invocation): string | undefined =>
  typeof database === 'string' ? database : undefined

/** Returns whether only a request is printed, for which nothing has to be set up. */
const isShown = (operation: Operation, { options }: Invocation): boolean =>
  options.dryRun === true && options.csv === undefined && kindOf(operation) === undefined

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

function requestOptions(operation: Operation): Option[] {
  const quote = operation.batch ? ', with --csv the quote' : ''
  const dryRun = new Option('--dry-run', `print the request and its price${quote}; send nothing`)
  const input = new Option('--input <file>', 'the whole request as JSON, from a file or - for stdin')
  const key = new Option(
    '--idempotency-key <key>',
    'a repeated request with the same key gets the same answer and costs nothing',
  )
  return [
    dryRun.helpGroup(groups.request),
    ...(operation.starts ? waitOptions() : []),
    input.helpGroup(groups.everyRequest),
    // Other operations accept the key and ignore it, as the API does.
    key.hideHelp(!operation.idempotent).helpGroup(groups.everyRequest),
  ]
}

function factsText(operation: Operation): string {
  const facts = [
    operation.observed ? `Origin:   ${observedNote}` : '',
    `Price:    ${priceText(operation)}`,
    `Limits:   ${limitsText(operation)}`,
  ]
  return facts.filter((fact) => fact !== '').join('\n')
}

/**
 * Does what the command of an operation does, with fields in place of words, and waits for the work that it starts. Returns the
 * exit code.
 */
export async function callOperation(
  plain: Context,
  { operation, shape, input: given, rows }: OperationCall,
): Promise<number> {
  const context = await requireSetUp(plain)
  // An agent would take the people of a sample for real ones; a run says where its answers come from.
  const isOfRecords = isPriced(operation) || operation.starts !== undefined
  if (!rows && isOfRecords && (await context.source())?.kind === 'practice') await context.notifySource()
  const names = pathParameters(operation)
  // As with `--input`, what is wrong with a field is said in its own name, not in that of an option.
  const others = operation.starts ? { wait: true } : {}
  const options: Fields = { input: '-', ...(rows ? batchOptions(context, rows.options) : others) }
  const ids = names.map((name) => String(given[name] ?? ''))
  const args = await resolveLocalId(context, operation, { args: ids, options })
  const input = { ...given, ...Object.fromEntries(names.map((name, at) => [name, args[at]])) }
  await checkKinds(operation, input)
  return runOperation(context, { operation, shape, input, invocation: { args, options } })
}

/** Runs the command of an operation: for the rows of a file, or for one request. Returns the exit code. */
async function runOperation(context: Context, asked: OperationRequest): Promise<number> {
  const asking = context.withDatabase(databaseOf(asked.invocation) ?? context.home.engine)
  const request = { ...asked, operation: await asking.priced(asked.operation) }
  const { operation, shape, input: given } = request
  const { options } = request.invocation
  checkEngineFilters(context, given)
  if (options.csv !== undefined) {
    const { fromCsv } = await import('../batch/run.js')
    return fromCsv(context, request)
  }
  if (options.database !== undefined) throw new Refusal('usage.database_of_csv')
  // A command that waits for the result on a server gives its own address later.
  const isOurs =
    operation.starts !== undefined &&
    (context.isLocal() || waitOf(context, request.invocation, given).printsResult)
  let input = await askMissing(context, shape, isOurs ? withOwnWebhook(operation.id, shape, given) : given)
  if (operation.filters && options.input === undefined) {
    const { resolveFilterNames } = await import('../call/filter-names.js')
    input = await resolveFilterNames(context, input)
  }
  if (input.stacks !== undefined || input.excluded_stacks !== undefined) {
    const { noteUnknownTechnologies } = await import('../call/filter-names.js')
    await noteUnknownTechnologies(context, input)
  }
  // After the names of lists have become ids, which have no spaces.
  checkTyped(request, input)
  if (context.globals.verbose) await context.notifySource()
  if (operation.starts === undefined) {
    if (isPriced(operation) && options.dryRun !== true && canAsk(context)) {
      withFields(context, shape)
      if (!(await findStored(context, { ...request, input })))
        await (await import('../call/confirm.js')).confirmCall(context, { ...request, input })
    }
    return runSync(context, { ...request, input })
  }
  const { runAsync } = await import('../call/await.js')
  const known =
    options.skipKnown === undefined
      ? undefined
      : await (await import('../batch/request.js')).openKnownRecords(context, { ...request, input })
  return runAsync(context, { ...request, input }, undefined, known)
}

interface LocalKind extends StoredKind {
  readonly ids: (admin: Admin) => StoredIds
}

const jobKind = (
  noun: string,
  list: string,
  filter: Parameters<Admin['jobsStartingWith']>[2],
): LocalKind => ({
  noun,
  list,
  ids: (admin) => (prefix, limit) => admin.jobsStartingWith(prefix, limit, filter),
})

const kinds: Readonly<Record<string, LocalKind>> = {
  searches: jobKind('search', 'searches list --no-enriched', { isSearch: true }),
  lists: jobKind('list', 'lists list', { kind: 'list_import' }),
  contacts: jobKind('enrichment', 'engine jobs list', { kind: 'contact_enrichment' }),
  personas: {
    noun: 'persona',
    list: 'personas list',
    ids: (admin) => async (prefix) => (await admin.personaIds()).filter((id) => id.startsWith(prefix)),
  },
}

/** Returns the kind of thing that the path of an operation names; `undefined` where it names none. */
const kindOf = (row: Operation): LocalKind | undefined =>
  pathParameters(row).length > 0 ? kinds[areaOf(row.id)] : undefined

/** Ids of a server are passed as they are. Throws a Refusal for none, an ambiguous one, and `--last` with a server. */
async function resolveLocalId(context: Context, operation: Operation, { args, options }: Invocation) {
  const kind = kindOf(operation)
  const [id] = args
  const isWhole = options.last !== true && id !== undefined && /^[\da-f-]{36}$/i.test(id)
  if (!kind || isWhole) return args
  if (areaOf(operation.id) === 'lists' && id !== undefined && options.last !== true) {
    const { resolveListName } = await import('../call/filter-names.js')
    const named = await resolveListName(context, id)
    if (named !== id) return [named]
  }
  if (!context.isLocal()) {
    if (id !== undefined && options.last !== true) return args
    const problem = options.last ? '--last is for the engine of this machine' : '<id> is missing'
    throw new Refusal('usage.which_id', { problem, noun: kind.noun, list: kind.list })
  }
  const ids = kind.ids(await openAdmin(context))
  if (id === undefined || options.last) return resolveIds({ args, options }, kind, ids)
  // The engine says what is wrong with an id that nothing has.
  return [(await expandId(id, kind.noun, ids)) ?? id]
}
