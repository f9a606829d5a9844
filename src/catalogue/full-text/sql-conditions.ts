import { type Connection, readNumber, type Value } from '../../storage/driver/connection.js'

/** A condition in SQL with the values of its placeholders. */
export type Condition = readonly [sql: string, ...values: Value[]]

/** The opposite of a condition, also true when the condition is unknown. */
export const not = ([sql, ...values]: Condition): Condition => [`(${sql}) IS NOT TRUE`, ...values]

const joinBy =
  (operator: 'AND' | 'OR', withoutAny: 'TRUE' | 'FALSE') =>
  (conditions: readonly Condition[]): Condition => [
    conditions.map(([sql]) => `(${sql})`).join(` ${operator} `) || withoutAny,
    ...conditions.flatMap(([, ...values]) => values),
  ]

/** At least one of the conditions; false when there are none. */
export const some = joinBy('OR', 'FALSE')

/** All of the conditions; true when there are none. */
export const every = joinBy('AND', 'TRUE')

/** A column has one of some values. The SQL is the same for any number of them, so it is prepared once. */
export const isOneOf = (column: string, values: readonly (string | number)[]): Condition => [
  `${column} IN (SELECT ${typeof values[0] === 'number' ? 'atom' : 'value'} FROM json_each(?))`,
  JSON.stringify(values),
]

/** Returns the condition of a list; none when the list is empty or missing. */
export const ifAny = <T>(
  items: readonly T[] | undefined,
  of: (items: readonly T[]) => Condition,
): Condition[] => (items?.length ? [of(items)] : [])

/**
 * Whether few or many records fulfil a condition. Texts of few are cheaper to look up one by one than to search
 * first.
 */
export type Selectivity = 'few' | 'many'

/** A condition with its selectivity. */
export interface EstimatedCondition {
  readonly condition: Condition
  readonly selectivity: Selectivity
}

const mostOfFew = 500

/** Estimates a condition that an index answers: few are at most 500 records. */
export async function estimateSelectivity(
  connection: Connection,
  table: 'people' | 'jobs',
  condition: Condition,
): Promise<EstimatedCondition> {
  const [where, ...values] = condition
  const first = [`SELECT key FROM ${table} WHERE ${where} LIMIT ?`, ...values, mostOfFew + 1] as const
  return { condition, selectivity: (await countRows(connection, first)) <= mostOfFew ? 'few' : 'many' }
}

/** Returns the number of rows that a query finds. */
export const countRows = (connection: Connection, [sql, ...values]: Condition): Promise<number> =>
  readNumber(connection, `SELECT count(*) AS total FROM (${sql}) AS found`, ...values)
