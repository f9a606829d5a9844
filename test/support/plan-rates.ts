/** The plans of the specification, and how many requests a minute each may make. */
export const planRates: readonly (readonly [plan: string, requests: number])[] = [
  ['Free', 1],
  ['Basic', 2],
  ['Starter', 10],
  ['Premium', 10],
  ['Build', 10],
  ['Advanced', 100],
  ['Professional', 100],
  ['Growth', 100],
  ['Boost', 100],
  ['Scale', 1_000],
  ['Enterprise', 1_000],
  ['Agency', 1_000],
  ['Team', 1_000],
]
