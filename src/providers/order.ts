import type { ProviderOrder } from '../engine/tables/providers.js'
import { type Expression, parseExpression } from '../lists/expressions.js'
import { subjectFields } from './definition.js'

/** What the condition of an order may name: what a row has, and what the catalogue knows of its company. */
export const orderScope = Object.fromEntries(
  [...subjectFields, 'headcount', 'industry'].map((name) => [name, true] as const),
)

/** An order whose condition can be tested; without one it is for all rows. */
export type CompiledOrder = Pick<ProviderOrder, 'kind' | 'names'> & { readonly when: Expression | undefined }

export const compileOrders = (orders: readonly ProviderOrder[]): Promise<CompiledOrder[]> =>
  Promise.all(
    orders.map(async ({ kind, names, condition }) => ({
      kind,
      names,
      when: condition === '' ? undefined : await parseExpression(condition, orderScope, 'when'),
    })),
  )

/** Returns the names of providers in the order for a row: of the first order whose condition is true of it. */
export async function orderFor(
  orders: readonly CompiledOrder[],
  kind: string,
  names: readonly string[],
  valuesOf: () => Promise<Readonly<Record<string, unknown>>>,
): Promise<readonly string[]> {
  for (const order of orders)
    if (order.kind === kind && (!order.when || order.when.test({ ...nothing, ...(await valuesOf()) })))
      return order.names.filter((name) => names.includes(name))
  return names
}

const nothing = Object.fromEntries(Object.keys(orderScope).map((name) => [name, null]))
