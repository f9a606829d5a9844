import { rowsOf } from './fixtures.js'

/** The plans of the specification, and how many requests a minute each may make. */
export const planRates = rowsOf('spec/plan-rates.tsv').map(
  ([plan = '', requests]) => [plan, Number(requests)] as const,
)
