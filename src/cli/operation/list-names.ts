import { type Input, isOk } from '../../api/calls/caller.js'
import { flagOf } from '../../api/operations/aliases.js'
import { operation } from '../../api/operations/table.js'
import { nearest } from '../../api/values/nearest.js'
import { foldText } from '../../catalogue/normalize/name.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { recordsIn } from '../output/records.js'
import { callOnce, everyPage } from './call.js'

/** Filters that take lists of companies. */
const fields = ['included_account_lists', 'excluded_account_lists'] as const

const isId = (text: string): boolean => /^\d+$|^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)

/**
 * Returns the input with the ids of lists where it has their names. Throws UsageError for a name that no list has, or
 * several have. Where the lists cannot be read, names stay.
 */
export async function resolveListNames(
  context: Context,
  input: Input,
  globals: GlobalOptions,
): Promise<Input> {
  const named = fields.filter((field) => asTexts(input[field]).some((one) => !isId(one)))
  if (named.length === 0) return input
  const caller = await context.caller(globals)
  const row = operation('lists.list')
  const reply = await everyPage((page) => callOnce(context, caller, row, page, globals), {})
  if (!isOk(reply)) return input
  const lists = recordsIn(reply.body, ['id', 'name']).rows
  const resolved = named.map((field) => [field, asTexts(input[field]).map((one) => idOf(field, one, lists))])
  return { ...input, ...Object.fromEntries(resolved) }
}

const asTexts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

function idOf(field: string, name: string, lists: readonly Readonly<Record<string, unknown>>[]): string {
  if (isId(name)) return name
  const found = lists.filter((list) => foldText(String(list.name)) === foldText(name))
  if (found.length === 1) return String(found[0]?.id)
  if (found.length > 1)
    throw new UsageError(
      `--${flagOf(field)}: ${found.length} lists are called "${name}".`,
      `Give the id of one: ${found.map(({ id }) => id).join(', ')}.`,
    )
  const meant = nearest(
    name,
    lists.map((list) => String(list.name)),
  )
  throw new UsageError(
    `--${flagOf(field)}: no list is called "${name}".`,
    `${meant ? `Did you mean "${meant}"? ` : ''}See: prospect lists list`,
  )
}
