import type { z } from 'zod'
import type { InputOf, Shape } from '../areas/shapes.js'
import { ApiError } from '../calls/errors.js'
import type { OperationId } from '../operations/table.js'
import type { FieldRefusal } from '../schemas/fields.js'
import { markField, nameFields } from '../values/field-names.js'
import { type Fields, isObject, valueAt } from '../values/objects.js'
import { checkNames, toInternal, withoutBlanks } from './given-fields.js'

type ErrorName = FieldRefusal['error']

/** Most sentences of an answer, and most issues read for them. */
const maxSentences = 5
const maxIssues = 100
/** The specification answers missing and malformed dates alike. */
const missingIsInvalid: ReadonlySet<OperationId> = new Set<OperationId>(['credits.consumption'])

/** Validates and completes the input of an operation. Throws an `ApiError` that names every invalid field. */
export function validate<Id extends OperationId>(id: Id, shape: Shape, input: unknown): InputOf<Id> {
  if (!isObject(input)) throw new ApiError('bad_request', { reason: 'The request must be a JSON object' })
  const given = withoutBlanks(id, shape, input)
  checkNames(id, shape, given)
  const fields = toInternal(id, shape, given)
  const parsed = shape.input.safeParse(fields, wording)
  if (parsed.success) return parsed.data as InputOf<Id>
  throw refusal(id, shape, fields, parsed.error.issues)
}

function refusal(
  id: OperationId,
  shape: Shape,
  fields: Fields,
  issues: readonly z.core.$ZodIssue[],
): ApiError {
  const keys = [
    ...missingKeys(shape.input, fields),
    ...issues.filter(isMissing).map(({ message }) => message),
  ]
  if (keys.length > 0 && !missingIsInvalid.has(id))
    return new ApiError('missing_keys', { keys: keys.join(', '), fields: keys.join(', ').split(', ') })
  const row = findSeverest(issues.map(rowOf))
  const reported = issues.filter((issue) => rowOf(issue) === row).slice(0, maxIssues)
  const sentences = [...new Set(reported.map((issue) => sentenceOf(issue, fields)))]
  if (row === 'missing_keys') return new ApiError(row, { keys: nameFields(sentences.join(', ')) })
  const sentence = joinSentences(sentences)
  const anyOf = reported.length === 1 ? refusalIn(reported[0])?.anyOf : undefined
  return new ApiError(row, { reason: nameFields(sentence), sentence, anyOf })
}

/** Returns the refusal of a field; `why` ends its sentence. */
export function refuseField(name: string, why: string): ApiError {
  const sentence = `${markField(name)} ${why}`
  return new ApiError('invalid', { reason: nameFields(sentence), sentence })
}

/** Returns the required fields that are missing, in the order of the schema. */
const missingKeys = (schema: z.ZodObject, fields: Fields): string[] =>
  Object.entries(schema.shape as Record<string, z.core.$ZodType>)
    .filter(([name, field]) => field._zod.optin === undefined && (valueAt(fields, [name]) ?? null) === null)
    .map(([name]) => name)

/** Returns whether a rule says that fields are missing; its message names them. */
const isMissing = (issue: z.core.$ZodIssue): boolean =>
  issue.path.length === 0 && rowOf(issue) === 'missing_keys'

/** Missing fields are reported before malformed ones, 400 before 422, and both before 404. */
const findSeverest = (rows: readonly ErrorName[]): ErrorName =>
  (['missing_keys', 'bad_request', 'invalid'] as const).find((row) => rows.includes(row)) ?? 'not_found'

const refusalIn = (issue: z.core.$ZodIssue | undefined): FieldRefusal | undefined =>
  issue?.code === 'custom' ? (issue.params as FieldRefusal | undefined) : undefined

const rowOf = (issue: z.core.$ZodIssue): ErrorName => refusalIn(issue)?.error ?? 'invalid'

const joinSentences = (sentences: readonly string[]): string =>
  sentences.slice(0, maxSentences).join('; ') + (sentences.length > maxSentences ? '; and more' : '')

/** Returns what is wrong with the value of a field, as a sentence that begins with its marked name; `undefined` if nothing is. */
export function describeValue(schema: z.ZodType, name: string, value: unknown): string | undefined {
  const issue = schema.safeParse(value, wording).error?.issues[0]
  return issue && sentenceOf({ ...issue, path: [name] }, { [name]: true })
}

function sentenceOf(issue: z.core.$ZodIssue, fields: Fields): string {
  if (issue.path.length === 0) return issue.message
  const path = markField(issue.path.map(String).join('.'))
  if (valueAt(fields, issue.path) === undefined) return `${path} is required`
  return `${path}${refusalIn(issue)?.isSentence ? ':' : ''} ${issue.message}`
}

/** What is said of a value whose schema has no words of its own. */
const wording = { error: (issue: z.core.$ZodRawIssue): string => `must be ${expectedOf(issue)}` }

function expectedOf(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_value') return `one of: ${issue.values.map(String).join(', ')}`
  return issue.code === 'invalid_type' ? (types[issue.expected] ?? issue.expected) : 'valid'
}

const types: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}
