import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { ApiError, errorBody } from '../../src/api/calls/errors.js'
import { isPriced, type Limit, type Rate, rateOf } from '../../src/api/operations/facts.js'
import { isListedPlan, planOf } from '../../src/api/operations/plans.js'
import { type Operation, type OperationId, operation, operations } from '../../src/api/operations/table.js'
import { companySizes } from '../../src/api/schemas/enumerations.js'
import { planRates } from '../support/plan-rates.js'
import { type GoldenRow, goldenRows } from './golden-rows.js'

// Expectations are typed by hand from the specification: none of them may be imported.

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

const rowOf = (row: Operation): GoldenRow => [
  row.id,
  row.method,
  row.path,
  row.ok,
  Object.entries(row.price)
    .map(([unit, credits]) => `${credits} ${unit}`)
    .join(', '),
  row.quota ?? '',
  planOfRow(row),
  ownOf(row),
  row.errors,
  row.idempotent ? 'yes' : '',
]

const at = (endpoint: string): Operation => {
  const [method, path] = endpoint.split(' ')
  const found = operations().find((row) => row.method === method && row.path === path)
  if (!found) throw new Error(`no operation at ${endpoint}`)
  return found
}

/** The operations that the specification has. */
const specified = (): Operation[] => operations().filter(({ observed }) => !observed)

describe('the operation table', () => {
  it('has the operations of the decision table, in its order, and no others', () => {
    expect(operations().map(({ id }) => id)).toEqual(goldenRows.map(([id]) => id))
  })

  it.each(goldenRows)('%s matches the decision table', (...row) => {
    expect(rowOf(operation(row[0] as OperationId))).toEqual(row)
  })
})

describe('prices of the specification', () => {
  it.each([
    ['POST /contacts/single_enrich', 'email', 3],
    ['POST /contacts/single_enrich', 'phone', 30],
    ['POST /contacts/bulk_enrich', 'email', 3],
    ['POST /contacts/bulk_enrich', 'phone', 30],
    ['POST /accounts/single_enrich', 'company', 1],
    ['POST /leads/single_enrich', 'person', 1],
    ['POST /contacts/reverse_lookup', 'person', 1],
    ['POST /accounts/company_hiring', 'job', 1],
    ['POST /intents/accounts/stack', 'company', 3],
  ])('%s costs per %s: %i', (endpoint, unit, credits) => {
    expect(at(endpoint).price).toHaveProperty(unit, credits)
  })

  it.each([
    'POST /leads/advanced_search/preview',
    'POST /accounts/search/preview',
    'POST /intents/accounts/stack/preview',
  ])('%s is free and draws on no quota', (endpoint) => {
    expect(at(endpoint).price).toEqual({})
    expect(at(endpoint).quota).toBeUndefined()
  })

  it('apply to the credit-spending endpoints and to no others', () => {
    expect(
      specified()
        .filter(isPriced)
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    ).toEqual([
      'POST /accounts/company_hiring',
      'POST /accounts/company_stack',
      'POST /accounts/single_enrich',
      'POST /contacts/bulk_enrich',
      'POST /contacts/reverse_lookup',
      'POST /contacts/single_enrich',
      'POST /contacts/sync_single_enrich',
      'POST /intents/accounts/hiring',
      'POST /intents/accounts/stack',
      'POST /leads/single_enrich',
      'POST /messenger_validations',
    ])
  })
})

describe('limits of the specification', () => {
  it.each([
    ['POST /contacts/single_enrich'],
    ['POST /contacts/sync_single_enrich'],
    ['POST /contacts/bulk_enrich'],
    ['POST /contacts/reverse_lookup'],
    ['POST /leads/single_enrich'],
    ['POST /accounts/single_enrich'],
    ['POST /accounts/company_stack'],
    ['POST /accounts/company_hiring'],
    ['POST /intents/accounts/hiring'],
    ['POST /intents/accounts/stack'],
    ['POST /messenger_validations'],
    ['GET /contacts/{id}'],
    ['GET /contacts/{id}/single_enrich'],
    ['GET /searches/{id}'],
    ['GET /lists/{id}'],
    ['GET /account'],
    ['GET /credits'],
  ])('%s is exempt from the plan limit', (endpoint) => {
    expect(rateOf(at(endpoint), true).plan).toBe(false)
    expect(rateOf(at(endpoint), false).plan).toBe(false)
  })

  it('people search is exempt when live, and follows the plan otherwise', () => {
    expect([true, undefined, false].map((live) => rateOf(at('POST /leads/search'), live).plan)).toEqual([
      false,
      false,
      true,
    ])
  })

  it('everything else counts towards the plan limit', () => {
    const exempt = specified().filter((row) => !rateOf(row, false).plan)
    expect(exempt).toHaveLength(17)
  })

  it.each([
    ['POST /accounts/headcount', 20, 'second'],
    ['POST /accounts/count_profiles', 20, 'second'],
    ['POST /accounts/', 20, 'minute'],
    ['POST /leads', 1, 'second'],
    ['POST /leads/advanced_search', 1, 'second'],
    ['POST /leads/advanced_search/preview', 1, 'second'],
    ['POST /accounts/company_hiring', 5, 'second'],
  ])('%s allows %i per %s', (endpoint, requests, per) => {
    expect(rateOf(at(endpoint), true).own).toEqual([requests, per])
  })

  it('the lead preview allows 5 per second with live: false', () => {
    expect(rateOf(at('POST /leads/advanced_search/preview'), false).own).toEqual([5, 'second'])
  })

  it('no other endpoint has an endpoint limit', () => {
    expect(operations().filter((row) => rateOf(row, true).own ?? rateOf(row, false).own)).toHaveLength(7)
  })

  it.each([
    ['POST /accounts/search/preview', 'accounts.search'],
    ['POST /leads/advanced_search/preview', 'leads.advanced_search'],
  ])('%s shares the counter of %s', (endpoint, group) => {
    expect(at(endpoint).group).toBe(group)
    expect(operation(group as OperationId).group).toBe(group)
  })
})

describe('quotas of the specification', () => {
  it.each([
    ['POST /leads', 'profiles'],
    ['POST /leads/advanced_search', 'profiles'],
    ['POST /leads/search', 'profiles'],
    ['POST /intents/leads/posts_engagers', 'profiles'],
    ['POST /accounts/', 'companies'],
    ['POST /accounts/search', 'companies'],
    ['POST /intents/accounts/lookalikes', 'companies'],
    ['POST /intents/accounts/growth', 'companies'],
  ])('%s draws on %s', (endpoint, quota) => {
    expect(at(endpoint).quota).toBe(quota)
  })

  it('are used by no other operation', () => {
    expect(operations().filter(({ quota }) => quota)).toHaveLength(8)
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

describe('errors of the specification', () => {
  it.each([
    [
      'missing_keys',
      { keys: 'search_url, name, webhook_url' },
      400,
      { error: 'Missing required keys: search_url, name, webhook_url' },
    ],
    ['invalid_api_key', {}, 401, { error: 'Invalid API key' }],
    ['plan_limit_reached', {}, 422, { error: "Can't proceed with the request. Plan limit reached." }],
    ['rate_limited', {}, 429, { error: 'Rate limit exceeded. Please wait before retrying.' }],
    [
      'network_rate_limited',
      {},
      429,
      { error: 'Rate limited by the network. Please wait a few hours before retrying.' },
    ],
    ['internal', {}, 500, { error: 'Internal server error' }],
  ] as const)('%s', (code, details, status, body) => {
    const error = new ApiError(code, details)
    expect(error.status).toBe(status)
    expect(errorBody(error, operation('accounts.extract'))).toEqual(body)
  })

  it('insufficient credits have the code, the shortfall and the top-up address', () => {
    const error = new ApiError('insufficient_credits', {
      need: 3,
      have: 1,
      top_up_url: 'https://example.com/top-up',
    })
    expect(error.status).toBe(402)
    expect(errorBody(error, operation('accounts.hiring'))).toEqual({
      error: 'Insufficient credits: need 3 credits, have 1',
      code: 'insufficient_credits',
      top_up_url: 'https://example.com/top-up',
    })
  })

  it('the weekly limit has its code and no top-up address', () => {
    const error = new ApiError('workspace_limit_exceeded')
    expect(error.status).toBe(403)
    expect(errorBody(error)).toMatchObject({ code: 'workspace_limit_exceeded' })
    expect(errorBody(error)).not.toHaveProperty('top_up_url')
  })

  it('a missing permission has no code', () => {
    expect(new ApiError('forbidden').status).toBe(403)
    expect(errorBody(new ApiError('forbidden'))).not.toHaveProperty('code')
  })

  it('an operation of the coded kind returns its own errors with status and message', () => {
    expect(errorBody(new ApiError('not_found'), operation('searches.get'))).toEqual({
      error: 404,
      message: 'Not found',
    })
    expect(errorBody(new ApiError('rate_limited'), operation('leads.extract'))).toEqual({
      error: 'Rate limit exceeded. Please wait before retrying.',
    })
  })
})

describe('request fields of the specification', () => {
  const fieldsOf = async (endpoint: string) => (await shapeOf(at(endpoint).id)).input.shape

  it.each([
    ['POST /leads/advanced_search'],
    ['POST /leads/advanced_search/preview'],
    ['POST /leads/search'],
    ['POST /leads/single_enrich'],
    ['POST /accounts/search'],
    ['POST /accounts/search/preview'],
    ['POST /accounts/single_enrich'],
    ['POST /accounts/headcount'],
  ])('%s accepts live', async (endpoint) => {
    expect(await fieldsOf(endpoint)).toHaveProperty('live')
  })

  it('no other operation accepts live', async () => {
    const shapes = await Promise.all(specified().map(async ({ id }) => (await shapeOf(id)).input.shape))
    expect(shapes.filter((shape) => 'live' in shape)).toHaveLength(8)
  })

  it.each([
    ['POST /accounts/', ['search_url', 'name', 'webhook_url', 'streaming', 'custom', 'limit']],
    ['POST /accounts/single_enrich', ['company_network_url', 'name', 'domain', 'country', 'live']],
    [
      'POST /accounts/count_profiles',
      [
        'company_network_id',
        'company_network_url',
        'title_to_include',
        'title_to_exclude',
        'included_locations',
        'excluded_locations',
      ],
    ],
    [
      'POST /intents/accounts/stack/preview',
      [
        'stacks',
        'stack_match',
        'excluded_stacks',
        'countries',
        'included_industries',
        'excluded_industries',
        'company_size',
      ],
    ],
    ['POST /leads', ['search_url', 'name', 'webhook_url', 'streaming', 'custom', 'limit', 'scale']],
    ['POST /lists', ['name', 'companies', 'webhook_url']],
    ['GET /searches', ['enriched', 'cursor', 'per_page', 'page']],
    ['GET /searches/{id}', ['id', 'cursor', 'per_page', 'page']],
    ['GET /lists', ['cursor', 'per_page', 'page']],
    ['POST /job_title_suggestions', ['job_titles']],
    ['POST /locations', ['name', 'source']],
    ['GET /credits_consumption', ['start_date', 'end_date']],
    [
      'POST /accounts/company_hiring',
      [
        'company_domain',
        'company_name',
        'company_network_url',
        'posted_within_days',
        'limit',
        'job_title_keywords',
        'excluded_job_title_keywords',
        'job_description_keywords',
        'excluded_job_description_keywords',
        'job_country_codes',
        'excluded_job_country_codes',
        'full_description',
      ],
    ],
    [
      'POST /leads/search',
      [
        'persona_id',
        'job_titles',
        'excluded_job_titles',
        'functions',
        'seniority_levels',
        'included_locations',
        'excluded_locations',
      ],
    ],
    [
      'POST /leads/advanced_search',
      [
        'connections_of_profile',
        'relationship',
        'follows_your_company',
        'viewed_your_profile',
        'with_shared_experiences',
        'posted_on_linkedin',
        'past_colleague',
        'first_name',
        'last_name',
      ],
    ],
    ['POST /contacts/single_enrich', ['enrichment_type', 'phone_country_codes', 'phone_type']],
    ['POST /contacts/reverse_lookup', ['email']],
  ])('%s takes its fields', async (endpoint, fields) => {
    expect(Object.keys(await fieldsOf(endpoint))).toEqual(expect.arrayContaining(fields))
  })

  it('company sizes are the nine of the specification', () => {
    expect(companySizes).toEqual([
      'Self-employed',
      '1-10',
      '11-50',
      '51-200',
      '201-500',
      '501-1000',
      '1001-5000',
      '5001-10000',
      '10001+',
    ])
  })
})
