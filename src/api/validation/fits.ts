import * as z from 'zod'
import type { Shape } from '../areas/shapes.js'
import { isRead } from '../operations/facts.js'
import {
  type Operation,
  type OperationId,
  resolvesNothing,
  resultFields,
  saysNothingFound,
} from '../operations/table.js'
import { type Fields, isObject, valueAt } from '../values/objects.js'
import { bare } from './coerce.js'

type OutputShape = Pick<Shape, 'output'>

/**
 * Returns why another server's success cannot be used, in words that follow "Upstream answered"; `undefined` when it
 * can: it is a list or an object as expected, and has what accepted work, a state or a balance is settled by. Nothing
 * else is required, because servers differ and a paid result is not discarded for the type of a field.
 */
export function misfitOf(operation: Operation, { output }: OutputShape, body: unknown): string | undefined {
  if (bare(output) instanceof z.ZodArray)
    return Array.isArray(body) ? undefined : `with ${describeValue(body)} in place of a list`
  if (!isObject(body)) return `with ${describeValue(body)} in place of an object`
  const paths = settledBy(operation)
  const isFound = paths.some((path) => isSettled(valueAt(body, path.split('.'))))
  // An import that matched nothing has no id, and only counts.
  const isEmpty = operation.starts === 'import' && counts.some((name) => body[name] === 0)
  return paths.length === 0 || isFound || isEmpty ? undefined : `without ${paths.at(-1)}`
}

/** Fields of an error. */
const errorFields: ReadonlySet<string> = new Set([
  'error',
  'errors',
  'message',
  'code',
  'status',
  'top_up_url',
])

const isSaid = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && value !== '') || isObject(value)

/** Whether a success is an error: it says one, and has nothing of a result. */
export function isErrorInSuccess({ output }: OutputShape, body: unknown): body is Fields {
  if (!isObject(body) || !isSaid(body.error)) return false
  return !fieldsIn(bare(output)).some((field) => !errorFields.has(field) && isFilled(body[field]))
}

const isFilled = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)

/**
 * Returns why a success of a lookup is no answer to it, in words that follow "Upstream answered"; `undefined` where it has a
 * record, or says in its own shape that there is none.
 */
export function strangenessOf(operation: Operation, { output }: OutputShape, status: number, body: unknown) {
  if (status === 202 && operation.ok !== 202 && !operation.starts) return 'with 202 (accepted) and no result'
  if (!isObject(body) || operation.starts) return undefined
  const wrapper = operation.method === 'DELETE' ? undefined : wrapperIn(output, body)
  if (wrapper !== undefined) return `with its result inside "${wrapper}"`
  if (operation.needs === undefined) return foreignIn(operation, output, body)
  const list = operation.batch?.found
  if (list !== undefined)
    return Array.isArray(body[list]) || counts.some((name) => body[name] === 0)
      ? undefined
      : `without ${list}`
  const known = bare(output)
  if (!(known instanceof z.ZodObject) || !resolvesNothing(operation, body)) return undefined
  if (operation.needs !== 'unit' && operation.needs !== 'types') return undefined
  const says = [body.message, body.error].some((text) => typeof text === 'string' && saysNothingFound(text))
  const names = [...resultFields, 'enrichment_id'].some((field) => Object.hasOwn(body, field))
  const isBare = Object.keys(body).every((field) => field === 'custom')
  return says || names || isBare ? undefined : 'with something else than a record'
}

/** Returns why what was read for nothing is no answer: it has fields, and none of this API's. */
function foreignIn(operation: Operation, output: z.ZodType, body: Fields): string | undefined {
  const names = fieldsIn(bare(output))
  if (!isRead(operation) || names.length === 0 || Object.keys(body).length === 0) return undefined
  return names.some((name) => Object.hasOwn(body, name)) ? undefined : `without ${names[0]}`
}

/** Returns the field of a body that has all of a result inside, where nothing of it is beside it. */
function wrapperIn(output: z.ZodType, body: Fields): string | undefined {
  const known = bare(output)
  const names = fieldsIn(known)
  const has = (value: unknown, fields: readonly string[]) =>
    isObject(value) && fields.some((field) => Object.hasOwn(value, field))
  const items = known instanceof z.ZodRecord ? fieldsIn(bare(known.valueType)) : []
  const isResult = (value: unknown) =>
    has(value, names) || (isObject(value) && Object.values(value).some((item) => has(item, items)))
  return isResult(body) ? undefined : Object.keys(body).find((name) => isResult(body[name]))
}

const fieldsIn = (known: z.core.$ZodType): readonly string[] =>
  known instanceof z.ZodObject ? Object.keys(known.shape) : []

const maximumNotes = 5

/** Returns how a success differs from the schema: the fields of another type, and those that are missing. */
export function differencesOf({ output }: OutputShape, body: unknown): readonly string[] {
  const parsed = output.safeParse(body)
  if (parsed.success) return []
  const { issues } = parsed.error
  const isMissing = ({ path }: z.core.$ZodIssue) => valueAt(body, path) === undefined
  const other = issues
    .filter((issue) => !isMissing(issue))
    .map(({ path, message }) => `${path.join('.')}: ${message.replace('Invalid input: ', '')}`)
  const missing = issues.filter(isMissing).map(({ path }) => path.join('.'))
  return [...firstOf(other, '; '), ...(missing.length > 0 ? [`without ${firstOf(missing, ', ')}`] : [])]
}

const firstOf = (notes: readonly string[], separator: string): readonly string[] => {
  const more = notes.length - maximumNotes
  const first = notes.slice(0, maximumNotes).join(separator)
  return first === '' ? [] : [more > 0 ? `${first} and ${more} more` : first]
}

const states: Partial<Record<OperationId, readonly string[]>> = {
  'contacts.get': ['status'],
  'contacts.get_enrichment': ['status'],
  'credits.consumption': ['credits_consumed'],
  'credits.show': ['credits.enrichment'],
  'lists.get': ['status'],
  'searches.get': ['search.status'],
}

const counts = ['preview_count', 'total_count', 'total']

function settledBy({ id, starts }: Operation): readonly string[] {
  if (starts === 'waterfall') return ['id', 'enrichment_id']
  if (starts === 'import') return ['message.id', 'list.id', 'search.id', 'id']
  return states[id] ?? []
}

const isSettled = (value: unknown) => typeof value === 'number' || (typeof value === 'string' && value !== '')

export function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'nothing'
  return typeof value === 'object' ? 'an object' : 'a single value'
}
