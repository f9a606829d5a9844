import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import type { Limit, Rate } from '../../src/api/operations/facts.js'
import { isListedPlan, planOf } from '../../src/api/operations/plans.js'
import { type Operation, type OperationId, operation, operations } from '../../src/api/operations/table.js'
import { companySizes } from '../../src/api/schemas/enumerations.js'
import { rowsOf } from '../support/fixtures.js'
import { planRates } from '../support/plan-rates.js'

// Expectations are typed by hand from the specification: none of them may be imported. How operations refuse, count and
// charge is told in test/spec.

const written = (own: Limit | undefined): string => (own ? own.join('/') : '')

function ownOf({ rate }: Operation): string {
  if (!('live' in rate)) return written(rate.own)
  const { live, database } = rate
  return live.own && database.own
    ? `${written(live.own)}, ${written(database.own)} with live:false`
    : written(live.own)
}

function planOfRow({ rate, group, id }: Operation): string {
  const counted = (one: Rate) => (one.plan ? 'yes' : 'no')
  const grouped = group === id ? '' : `, group ${group}`
  if (!('live' in rate)) return counted(rate) + grouped
  return rate.live.plan === rate.database.plan ? counted(rate.live) + grouped : 'only with live:false'
}

/** An operation as a row of the decision table. */
const rowOf = (row: Operation): string[] => [
  row.id,
  row.method,
  row.path,
  String(row.ok),
  Object.entries(row.price)
    .map(([unit, credits]) => `${credits} ${unit}`)
    .join(', '),
  row.quota ?? '',
  planOfRow(row),
  ownOf(row),
  row.errors,
  row.idempotent ? 'yes' : '',
  row.filters ? 'refused' : '',
  row.observed ? 'yes' : '',
]

const at = (endpoint: string): Operation => {
  const [method, path] = endpoint.split(' ')
  const found = operations().find((row) => row.method === method && row.path === path)
  if (!found) throw new Error(`no operation at ${endpoint}`)
  return found
}

/** The operations that the specification has. */
const specified = (): Operation[] => operations().filter(({ observed }) => !observed)

/** The decision table. Price: credits and unit. Plan: whether its minute counts, and in which group. */
const goldenRows = rowsOf('api/operations.tsv')

describe('the operation table', () => {
  it('has the operations of the decision table, in its order, and no others', () => {
    expect(operations().map(({ id }) => id)).toEqual(goldenRows.map(([id]) => id))
  })

  it.each(goldenRows)('%s matches the decision table', (...row) => {
    expect(rowOf(operation(row[0] as OperationId))).toEqual(row)
  })
})

describe('plans of the specification', () => {
  it.each(planRates)('%s: %i requests per minute', (name, requests) => {
    expect(isListedPlan(name)).toBe(true)
    expect(planOf(name).requestsPerMinute).toBe(requests)
  })

  it.each([
    ['Free', 50, 50, 200, 50],
    ['Basic', 250, 250, 2_000, 200],
    ['Starter', 1_000, 1_000, 10_000, 1_000],
    ['Growth', 2_500, 2_500, 25_000, 5_000],
    ['Team', 10_000, 10_000, 100_000, 20_000],
  ])(
    '%s: quotas and monthly credits',
    (name, dailyProfiles, dailyCompanies, monthlyCompanies, monthlyCredits) => {
      expect(planOf(name)).toMatchObject({ dailyProfiles, dailyCompanies, monthlyCompanies, monthlyCredits })
    },
  )

  it('an unlisted plan has the limits of Free', () => {
    expect(isListedPlan('Gold')).toBe(false)
    expect(planOf('constructor')).toEqual(planOf('Free'))
    expect(planOf('Gold').requestsPerMinute).toBe(1)
  })
})

describe('request fields of the specification', () => {
  const fieldsOf = async (endpoint: string) => (await shapeOf(at(endpoint).id)).input.shape

  it('these operations accept live, and no others', async () => {
    const shapes = await Promise.all(specified().map(async ({ id }) => (await shapeOf(id)).input.shape))
    const live = specified().filter((_, at) => 'live' in (shapes[at] ?? {}))
    expect(live.map(({ path }) => path)).toEqual([
      '/accounts/search',
      '/accounts/search/preview',
      '/accounts/single_enrich',
      '/accounts/headcount',
      '/leads/advanced_search',
      '/leads/advanced_search/preview',
      '/leads/search',
      '/leads/single_enrich',
    ])
  })

  it.each(rowsOf('api/fields.tsv'))('%s takes its fields', async (endpoint = '', fields = '') => {
    expect(Object.keys(await fieldsOf(endpoint))).toEqual(expect.arrayContaining(fields.split(', ')))
  })

  it('company sizes are the nine of the specification', () => {
    expect(companySizes).toEqual(
      'Self-employed 1-10 11-50 51-200 201-500 501-1000 1001-5000 5001-10000 10001+'.split(' '),
    )
  })
})
