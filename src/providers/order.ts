import type { ProviderOrder } from '../engine/tables/providers.js'
import { parseExpression } from '../lists/expressions.js'
import { subjectFields } from './definition.js'

/** What the condition of an order may name: what a row has, and what the catalogue knows of its company. */
export const orderScope = Object.fromEntries(
  [...subjectFields, 'headcount', 'industry'].map((name) => [name, true] as const),
)

/** Returns the names of providers in the order for a row: of the first order whose condition is true of it. */
export async function orderFor(
  orders: readonly ProviderOrder[],
  kind: string,
  names: readonly string[],
  valuesOf: () => Promise<Readonly<Record<string, unknown>>>,
): Promise<readonly string[]> {
  for (const order of orders) {
    if (order.kind !== kind) continue
    if (order.condition !== '') {
      const condition = await parseExpression(order.condition, orderScope, 'when')
      if (!condition.test({ ...nothing, ...(await valuesOf()) })) continue
    }
    return order.names.filter((name) => names.includes(name))
  }
  return names
}

const nothing = Object.fromEntries(Object.keys(orderScope).map((name) => [name, null]))
