import { ApiError, type Details, type ErrorCode, errorBody, errors } from '../api/calls/errors.js'
import { hasBody, isLimited, isPriced } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import document from './document.json' with { type: 'json' }
import type { JsonSchema } from './schemas.js'

const titles: Readonly<Record<string, string>> = document.errorTitles

/** Details for the examples of error texts. */
const example: Details = {
  keys: 'webhook_url',
  reason: 'limit must be a whole number of 1 or more',
  need: 3,
  have: 1,
  limit: 1_048_576,
  top_up_url: 'http://127.0.0.1:4010/top-up',
}

/** Reasons for the errors that this example does not fit. */
const reasons: Readonly<Partial<Record<ErrorCode, string>>> = {
  bad_request: 'search_url must be a valid company search URL',
  bad_gateway: 'without JSON',
  storage_failed: 'the disk is full',
  database_read_only: 'it is a standby',
  database_unreachable: 'nothing listens at its address',
}

const errorOf = (code: ErrorCode): ApiError =>
  new ApiError(code, { ...example, reason: reasons[code] ?? String(example.reason) })

/** References to headers by name. */
export const headerReferences = (...names: string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** Names of the headers on every reply that a request limit counts. */
export const rateHeaders = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-RateLimit-Reset-After',
] as const

/** Every error response: one per status, and one per body shape when there are two. */
export function errorResponses(): Record<string, JsonSchema> {
  const statuses = Object.keys(titles).map(Number)
  return Object.fromEntries(
    statuses.flatMap((status) =>
      (hasOwnShape(status) ? (['text', 'coded'] as const) : (['text'] as const)).map((shape) => [
        nameOf(status, shape),
        errorResponse(status, shape),
      ]),
    ),
  )
}

const codesOf = (status: number): ErrorCode[] =>
  (Object.keys(errors) as ErrorCode[]).filter((code) => errors[code].status === status)

const hasOwnShape = (status: number): boolean => codesOf(status).some((code) => 'own' in errors[code])

const nameOf = (status: number, shape: Operation['errors']): string =>
  `${titles[status]}${shape === 'coded' && hasOwnShape(status) ? 'Coded' : ''}`

function errorResponse(status: number, shape: Operation['errors']): JsonSchema {
  const coded = shape === 'coded' && hasOwnShape(status)
  const schema = status === 402 ? 'InsufficientCredits' : coded ? 'CodedError' : 'Error'
  const found = codesOf(status).map(errorOf)
  return {
    description: [...new Set(found.map(({ code }) => errors[code].hint))].join(' '),
    ...(status === 429 ? { headers: headerReferences(...rateHeaders, 'Retry-After') } : {}),
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${schema}` },
        examples: Object.fromEntries(
          found.map((error) => [error.code, { value: errorBody(error, { errors: shape }) }]),
        ),
      },
    },
  }
}

/** Returns references to the errors of an operation, by status. */
export function errorsOf(operation: Operation, fields: readonly string[]): Record<string, JsonSchema> {
  const possible: readonly [status: number, when: boolean][] = [
    [400, true],
    [401, true],
    [402, isPriced(operation)],
    [403, true],
    [404, looksUp(operation, fields)],
    [408, true],
    [409, operation.idempotent],
    [413, true],
    [415, hasBody(operation)],
    [422, fields.length > 0],
    [429, isLimited(operation) || fields.includes('live') || operation.observedLimit !== undefined],
    [431, true],
    [500, true],
    [502, true],
    [503, true],
  ]
  return Object.fromEntries(
    possible
      .filter(([, when]) => when)
      .map(([status]) => [status, { $ref: `#/components/responses/${nameOf(status, operation.errors)}` }]),
  )
}

const identifiers = [
  'persona_id',
  'company_network_id',
  'company_network_url',
  'company_network_urls',
  'post_url',
]

/** Returns whether an operation names one thing that may not exist. */
function looksUp({ path, batch, starts }: Operation, fields: readonly string[]): boolean {
  const single = batch !== undefined && starts === undefined && batch.identity !== 'number'
  return path.includes('{') || single || identifiers.some((name) => fields.includes(name))
}
