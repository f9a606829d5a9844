import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { ApiError, Refusal } from '../../api/calls/errors.js'
import { engineFilterIn, pathParameters } from '../../api/operations/facts.js'
import { flagOf, type Operation } from '../../api/operations/table.js'
import { coerceField } from '../../api/validation/coerce.js'
import { withOwnWebhook } from '../../api/validation/own-webhook.js'
import { describeValue, type MissingOrInvalid, refuseField, validate } from '../../api/validation/validate.js'
import { nameFields } from '../../api/values/objects.js'
import { describing, identifying } from '../../runs/input/identifying.js'
import type { Context, StreamsContext } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { readInput } from '../context/io.js'
import type { Invocation } from '../options/command-environment.js'
import {
  type Field,
  fieldOfWords,
  fieldsOfSchema,
  inputOf,
  spellingsOf,
  withCountryCodes,
} from '../options/schema-options.js'
import { askChoice, askChoices, askText, canAsk } from '../output/prompt.js'
import { labelOf } from '../output/text.js'

export interface OperationRequest {
  readonly operation: Operation
  readonly shape: Shape
  readonly input: Input
  readonly invocation: Invocation
}

/** Returns the fields of a request: those of `--input`, replaced by those that options and arguments give. */
export async function collectInput(
  { streams, globals }: StreamsContext,
  operation: Operation,
  shape: Shape,
  { args, options }: Invocation,
): Promise<Input> {
  const file = typeof options.input === 'string' ? options.input : undefined
  const ofStdin = {
    '--input -': file === '-',
    '--csv -': options.csv === '-',
    '--api-key-stdin': globals.apiKeyStdin,
  }
  const [one, other] = Object.entries(ofStdin).flatMap(([name, isGiven]) => (isGiven ? [name] : []))
  if (other !== undefined) throw new Refusal('usage.stdin_twice', { one, other })
  const base = file === undefined ? {} : await readInput(streams, file)
  const names = pathParameters(operation)
  const fields = fieldsOfSchema(shape.input).filter(({ name }) => !names.includes(name))
  const inPath = Object.fromEntries(names.map((name, at) => [name, args[at]]))
  const spelled = [...fields, ...spellingsOf(operation.id, fields)]
  const typed = await withCountryCodes(shape.input, inputOf(shape.input, spelled, options))
  await checkKinds(operation, typed, (field, problem) => {
    const byName = /domain$/.test(field) ? nameOfCompany(operation, fields) : undefined
    return new Refusal('usage.misplaced', { flag: flagOf(field), problem, byName })
  })
  return {
    ...base,
    ...(await inOneSpelling(typed)),
    ...inPath,
  }
}

/**
 * Throws the refusal of a value that cannot be what its field means, such as text in place of a domain: nothing would be found for
 * it, and in a file it is invalid or not understood.
 */
export async function checkKinds(
  { batch }: Operation,
  input: Input,
  refuse: (field: string, problem: string) => Refusal = refuseField,
): Promise<void> {
  const { identity, into } = batch ?? {}
  const identifiers = identity && into === undefined ? [...identifying[identity], ...describing] : []
  for (const [field, value] of Object.entries(input)) {
    if (typeof value !== 'string' || value.trim() === '') continue
    if (!/(?:^|_)domain$/.test(field) && !identifiers.includes(field)) continue
    const { describeUnfit } = await import('../../identity/value-kinds.js')
    const about = identity === 'person' || identity === 'contact' ? 'people' : 'companies'
    const problem = describeUnfit(about, field, value)
    if (problem !== undefined) throw refuse(field, problem)
  }
}

/** Returns the option of a company's name; `undefined` where a lookup takes none. */
const nameOfCompany = ({ batch }: Operation, fields: readonly Field[]): string | undefined =>
  fields.find(({ name }) => name === 'company_name' || (name === 'name' && batch?.fields === undefined))?.flag

async function inOneSpelling(typed: Input): Promise<Input> {
  if (!Object.keys(typed).some((field) => /email|phone_number|_url$/.test(field))) return typed
  const { toOneSpelling } = await import('../../runs/input/mapping.js')
  return Object.fromEntries(
    Object.entries(typed).map(([field, value]) => [field, toOneSpelling(field, value)]),
  )
}

/** Throws a Refusal for a filter that only the engine applies, where a server is asked. */
export function checkEngineFilters(context: Pick<Context, 'isLocal'>, input: Input): void {
  const field = engineFilterIn(input)
  if (field !== undefined && !context.isLocal())
    throw new Refusal('usage.engine_filter', { flag: flagOf(field) })
}

/** Throws a Refusal, in the names of options, where a value that all rows of a file share is not valid. Those of `--input` are left to the target. */
export function checkShared({ shape, input, invocation }: OperationRequest): void {
  if (invocation.options.input !== undefined) return
  const fields = fieldsOfSchema(shape.input)
  for (const [name, value] of Object.entries(input)) {
    const schema = (shape.input.shape as Shape['input']['shape'])[name]
    const problem = schema && describeValue(schema, name, value)
    if (problem !== undefined)
      throw new Refusal('usage.shared_value', { sentence: nameFields(problem, toOptions(fields)) })
  }
}

/** Throws UsageError, in the names of options. A request from `--input` is left to the target, which names its fields. */
export function checkTyped({ operation, shape, invocation }: OperationRequest, input: Input): void {
  if (invocation.options.input !== undefined) return
  const fields = fieldsOfSchema(shape.input)
  try {
    // The address of results is chosen with the way to wait for them.
    validate(operation.id, shape, withOwnWebhook(operation.id, shape, input))
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'not_found') throw error
    const { anyOf, fields: keys = [], sentence = error.message } = error.details as MissingOrInvalid
    const optionOf = toOptions(fields)
    const values = fields.find(({ name, kind }) => keys.includes(name) && valuesOf(kind))?.kind
    const text =
      keys.length > 0
        ? `${keys.map(optionOf).join(' and ')} ${keys.length > 1 ? 'are' : 'is'} required`
        : nameFields(sentence, optionOf)
    const words = [operation.command, operation.flag ? `--${operation.flag}` : ''].join(' ').trim()
    const hints = [
      ...(anyOf || Object.keys(input).length === 0 ? waysToAsk(operation, fields) : []),
      ...(values ? [`The values are: ${valuesOf(values)?.join(', ')}.`] : []),
      `See: prospect ${words} --help`,
    ]
    throw new UsageError(`${text}.`, hints.join(' '))
  }
}

/** Returns the sentence that says how to ask about one word, or about the rows of a file; nothing where neither can be. */
function waysToAsk({ id, command, batch, flag }: Operation, fields: readonly Field[]): readonly string[] {
  if (flag !== undefined) return []
  const byWord = fieldOfWords(id, fields)
  const words = [
    ...(byWord ? [byWord.name.toUpperCase().replaceAll('_', '-')] : []),
    ...(batch ? ['--csv FILE'] : []),
  ]
  return words.length === 0
    ? []
    : [`Write ${words.map((word) => `prospect ${command} ${word}`).join(' or ')}.`]
}

const valuesOf = ({ values, item }: Field['kind']) => values ?? item?.values

function toOptions(fields: readonly Field[]): (path: string) => string {
  const flags = new Map(fields.map(({ name, flag }) => [name, `--${flag}`]))
  return (path) => {
    const [name = '', ...inside] = path.split('.')
    return [flags.get(name) ?? name, ...inside.filter((part) => !/^\d+$/.test(part))].join('.')
  }
}

/** Asks a person at a terminal for required fields that are missing. Elsewhere the API reports them. */
export async function askMissing(
  context: Context,
  { input: schema }: Shape,
  input: Input,
  mapped: readonly string[] = [],
): Promise<Input> {
  if (!canAsk(context)) return input
  const answers: Record<string, unknown> = {}
  for (const field of missingFields(schema, input, mapped)) {
    const type = (schema.shape as Shape['input']['shape'])[field.name]
    if (type) answers[field.name] = await askField(context, field, type)
  }
  return { ...input, ...answers }
}

/** Asks for required options that no column of a file fills. Throws a Refusal without a person to ask. */
export async function requireOptions(
  context: Context,
  shape: Shape,
  input: Input,
  mapped: readonly string[] = [],
): Promise<Input> {
  const given = await askMissing(context, shape, input, mapped)
  const [missing] = missingFields(shape.input, given, mapped)
  if (!missing) return given
  const known = valuesOf(missing.kind)
  throw new Refusal('usage.no_option', { flag: missing.flag, known, isMapped: mapped.length > 0 })
}

type FieldSchema = Shape['input']['shape'][string]

/** Returns the missing fields that a question can ask for: objects are too much to type at one. */
const missingFields = (schema: Shape['input'], input: Input, mapped: readonly string[]): Field[] =>
  fieldsOfSchema(schema)
    .filter(({ name, kind }) => kind.required && input[name] === undefined && !mapped.includes(name))
    .filter(({ kind }) => kind.type !== 'object' && kind.item?.type !== 'object')

async function askField(context: Context, field: Field, schema: FieldSchema) {
  const { description, values, item, type } = field.kind
  if (type === 'enum' && values) return askChoice(context, description, values.map(toChoice))
  if (item?.values) return askChoices(context, description, item.values)
  const words = type === 'array' ? ' (several with commas)' : ''
  const read = (text: string): unknown => {
    const parts = type === 'array' ? text.split(',') : [text]
    return coerceField(schema, parts.map((part) => part.trim()).filter(Boolean))
  }
  const check = (text: string) => {
    const problem = describeValue(schema, field.name, read(text))
    if (problem !== undefined) throw new Error(`${nameFields(problem, toOptions([field]))}.`)
  }
  const text = await askText(context, `${description}${words}`, undefined, check)
  return text === undefined ? undefined : read(text)
}

const toChoice = (value: string) => ({ value, name: labelOf(value) })
