import { type Shape, shapeOf } from '../api/areas/shapes.js'
import { ApiError, codesOf, type Details, type ErrorCode, errorBody, errors } from '../api/calls/errors.js'
import { bodyLimits, hasBody, isLimited, isPriced, observedNote, type Rate } from '../api/operations/facts.js'
import {
  aliasesOf,
  areaOf,
  type Operation,
  type OperationId,
  operation,
  operations,
  wrapperOf,
} from '../api/operations/table.js'
import { type EventName, eventBody, eventNames, events } from '../api/webhooks/events.js'
import document from './document.json' with { type: 'json' }
import recorded from './examples.json' with { type: 'json' }
import { createNamedSchemas, type JsonSchema, type NamedSchemas, toJsonSchema } from './schemas.js'

interface OpenapiOptions {
  readonly version: string
  /** Base address with the version segment. */
  readonly serverUrl?: string
}

/** Returns the whole API as an OpenAPI 3.1 document, from the operation table and the schemas. */
export async function openapi(options: OpenapiOptions): Promise<object> {
  const shapes = await Promise.all(operations().map(async (row) => [row, await shapeOf(row.id)] as const))
  const known = createNamedSchemas()
  for (const [name, schema] of listBodies(shapes)) known.name(name, schema)
  return {
    openapi: '3.1.0',
    info: { ...document.info, 'x-prospect-version': options.version },
    servers: [{ url: options.serverUrl ?? '/api/v2' }],
    security: [{ apiKey: [] }],
    tags: document.tags,
    paths: describePaths(shapes, known),
    webhooks: Object.fromEntries(eventNames().map((name) => [name, { post: describeDelivery(name, known) }])),
    components: {
      securitySchemes: document.securitySchemes,
      parameters: { IdempotencyKey: document.idempotencyKey, ...document.webhookParameters },
      headers: document.headers,
      responses: errorResponses(),
      schemas: { ...document.errorSchemas, ...known.all() },
    },
  }
}

type OperationRow = readonly [operation: Operation, shape: Shape]

/** Returns bodies by name, smaller ones first, so that larger ones refer to them. */
function listBodies(rows: readonly OperationRow[]): [name: string, schema: JsonSchema][] {
  const all: [string, JsonSchema][] = []
  for (const [operation, shape] of rows) {
    if (hasBody(operation))
      all.push([schemaName(operation.id, 'Request'), bodySchema(operation, toJsonSchema(shape.input))])
    all.push([schemaName(operation.id, 'Reply'), toJsonSchema(shape.output)])
  }
  for (const name of eventNames()) all.push([schemaName(name, 'Event'), toJsonSchema(eventBody(name))])
  return all.sort(([, a], [, b]) => JSON.stringify(a).length - JSON.stringify(b).length)
}

const schemaName = (id: string, kind: 'Request' | 'Reply' | 'Event'): string =>
  id.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase()) + kind

function describePaths(rows: readonly OperationRow[], known: NamedSchemas): JsonSchema {
  const byPath: Record<string, Record<string, JsonSchema>> = {}
  for (const [operation, shape] of rows) {
    const described = describeOperation(operation, shape, known)
    byPath[operation.path] = { ...byPath[operation.path], [operation.method.toLowerCase()]: described }
  }
  return byPath
}

function describeOperation(operation: Operation, shape: Shape, known: NamedSchemas): JsonSchema {
  const input = toJsonSchema(shape.input)
  const fields = Object.keys(input.properties as JsonSchema)
  const parameters = parametersOf(operation, input)
  return {
    operationId: operation.id,
    tags: [areaOf(operation.id)],
    summary: operation.summary,
    description: descriptionOf(operation),
    'x-command': `prospect ${operation.command}${operation.flag ? ` --${operation.flag}` : ''}`,
    ...(operation.observed ? { 'x-observed': true } : {}),
    ...(isPriced(operation) ? { 'x-price': operation.price } : {}),
    ...(operation.quota ? { 'x-quota': operation.quota } : {}),
    'x-rate': operation.rate,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(hasBody(operation) ? { requestBody: describeBody(operation, input, known) } : {}),
    responses: {
      [operation.ok]: describeSuccess(operation, known.place(toJsonSchema(shape.output))),
      ...errorsOf(operation, fields),
    },
  }
}

const describeBody = (operation: Operation, input: JsonSchema, known: NamedSchemas): JsonSchema => ({
  description: `At most ${bodyWords()}.`,
  required: true,
  content: jsonContent(
    known.place(bodySchema(operation, input)),
    inBody(operation, examples[operation.id].request),
  ),
})

const inBody = <T>({ path }: Operation, fields: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !path.includes(`{${name}}`)))

/** Returns the schema of a request body: that of the input without what is in the path. */
function bodySchema(operation: Operation, input: JsonSchema): JsonSchema {
  const properties = inBody(operation, input.properties as Record<string, JsonSchema>)
  const required = ((input.required ?? []) as string[]).filter((name) => Object.hasOwn(properties, name))
  return { ...input, properties, ...(input.required ? { required } : {}) }
}

const jsonContent = (schema: JsonSchema, example: unknown): JsonSchema => ({
  'application/json': { schema, ...(example === undefined ? {} : { example }) },
})

function descriptionOf(operation: Operation): string {
  const aliases = Object.entries(aliasesOf(operation.id))
  const wrapper = wrapperOf(operation.id)
  return [
    ...(operation.observed ? [observedNote] : []),
    `Price: ${priceWords(operation)}.`,
    ...(operation.quota ? [`Quota: ${quotaWords[operation.quota]}.`] : []),
    `Request limit: ${rateWords(operation)}.`,
    ...(operation.syncPath === undefined
      ? []
      : [
          `Also \`${operation.method} /v2${operation.syncPath}\` and \`/v2${operation.path}\`, below the origin (observed, not specified).`,
        ]),
    ...(operation.filters ? ['Unknown fields are refused with 422.'] : []),
    ...(wrapper === undefined ? [] : [`Also accepted: all fields inside \`${wrapper}\`.`]),
    ...(aliases.length > 0
      ? [`Also accepted: ${aliases.map(([alias, name]) => `\`${alias}\` for \`${name}\``).join(', ')}.`]
      : []),
  ].join(' ')
}

function describeSuccess(operation: Operation, schema: JsonSchema): JsonSchema {
  const names = [
    ...(isLimited(operation) ? rateHeaders : []),
    ...(operation.idempotent ? ['Idempotent-Replayed'] : []),
  ]
  return {
    description: operation.starts ? 'Accepted; results are delivered later' : 'Success',
    ...(names.length > 0 ? { headers: headerReferences(...names) } : {}),
    content: jsonContent(schema, examples[operation.id].reply),
  }
}

/** Path parameters, the query of what has no body, and the idempotency key where it counts. */
function parametersOf(operation: Operation, input: JsonSchema): JsonSchema[] {
  const required = new Set((input.required ?? []) as string[])
  const fields = Object.entries(input.properties as Record<string, JsonSchema>).flatMap(([name, field]) => {
    const inPath = operation.path.includes(`{${name}}`)
    if (hasBody(operation) && !inPath) return []
    const { description, ...schema } = field
    const place = { name, in: inPath ? 'path' : 'query', required: inPath || required.has(name) }
    const example = examples[operation.id].request[name]
    return [{ ...place, description, schema, ...(example === undefined ? {} : { example }) }]
  })
  return operation.idempotent ? [...fields, referTo('parameters', 'IdempotencyKey')] : fields
}

/** An event as an entry of `webhooks`: what is posted to the URL of a request. */
function describeDelivery(name: EventName, known: NamedSchemas): JsonSchema {
  const from = events[name.split('.')[0] as keyof typeof events].from
  const endpoints = from.map((id) => `\`${operation(id).method} ${operation(id).path}\``)
  return {
    operationId: name,
    tags: ['webhooks'],
    summary: eventWords(name),
    description: `Sent for ${endpoints.join(', ')}, to the \`webhook_url\` of the request.`,
    // Receivers authenticate deliveries by their signature; no key is sent.
    security: [],
    parameters: Object.keys(document.webhookParameters).map((one) => referTo('parameters', one)),
    requestBody: {
      required: true,
      content: jsonContent(known.place(toJsonSchema(eventBody(name))), eventExamples[name]),
    },
    responses: document.deliveryResponses,
  }
}

/** Returns a price in words, such as `3 credits per email, 30 credits per phone`; `free` without one. */
export function priceWords({ price }: Operation): string {
  const parts = Object.entries(price).map(
    ([unit, credits]) => `${credits} ${credits === 1 ? 'credit' : 'credits'} per ${unit.replace('_', ' ')}`,
  )
  return parts.length === 0 ? 'free' : parts.join(', ')
}

export const quotaWords = { profiles: 'profiles per day', companies: 'companies per day and month' } as const

/** Returns the limits of an operation in words; both when `live: false` changes them. */
export function rateWords({ rate }: Operation): string {
  if (!('live' in rate)) return formatRate(rate)
  return `${formatRate(rate.live)}; with live: false: ${formatRate(rate.database)}`
}

function formatRate({ plan, own }: Rate): string {
  const parts = [...(own ? [`${own[0]} per ${own[1]}`] : []), ...(plan ? ['plan'] : [])]
  return parts.length === 0 ? 'none' : parts.join(' and ')
}

export const bodyWords = (): string =>
  `${bodyLimits.bytes / 1_048_576} MiB and ${bodyLimits.values.toLocaleString('en')} values`

const phases: Readonly<Record<string, string>> = {
  record: 'A record was found; only with streaming: true',
  completed: 'The work is done',
  failed: 'The work could not be done',
}

export const eventWords = (name: EventName): string => phases[name.split('.')[1] ?? ''] ?? ''

/** A request, its path parameters and query among the fields, and the reply of the engine. */
export interface Example {
  readonly request: Readonly<Record<string, unknown>>
  readonly reply: unknown
}

/** A success of every operation, recorded from the engine over the sample data. */
export const examples: Readonly<Record<OperationId, Example>> = recorded.operations

/** A body of every event, recorded in the same way. */
export const eventExamples: Readonly<Record<EventName, unknown>> = recorded.events

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
  bad_gateway: 'nothing: connection closed',
  unusable_answer: 'without JSON',
  storage_failed: 'the disk is full',
  database_read_only: 'it is a standby',
  database_unreachable: 'nothing listens at its address',
}

const errorOf = (code: ErrorCode): ApiError =>
  new ApiError(code, { ...example, reason: reasons[code] ?? String(example.reason) })

const referTo = (kind: string, name: string): JsonSchema => ({ $ref: `#/components/${kind}/${name}` })

const headerReferences = (...names: string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, referTo('headers', name)]))

/** Names of the headers on every reply that a request limit counts. */
const rateHeaders = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'X-RateLimit-Reset-After']

/** Every error response: one per status, and one per body shape when there are two. */
function errorResponses(): Record<string, JsonSchema> {
  const responses: Record<string, JsonSchema> = {}
  for (const status of Object.keys(titles).map(Number))
    for (const shape of ['text', 'coded'] as const)
      responses[nameOf(status, shape)] ??= errorResponse(status, shape)
  return responses
}

const hasOwnShape = (status: number): boolean => codesOf(status).some((code) => 'own' in errors[code])

const nameOf = (status: number, shape: Operation['errors']): string =>
  `${titles[status]}${shape === 'coded' && hasOwnShape(status) ? 'Coded' : ''}`

function errorResponse(status: number, shape: Operation['errors']): JsonSchema {
  const coded = shape === 'coded' && hasOwnShape(status)
  const schema = status === 402 ? 'InsufficientCredits' : coded ? 'CodedError' : 'Error'
  const found = codesOf(status).map(errorOf)
  const examples = found.map((error) => [error.code, { value: errorBody(error, { errors: shape }) }] as const)
  return {
    description: [...new Set(found.map(({ code }) => errors[code].hint))].join(' '),
    ...(status === 429 ? { headers: headerReferences(...rateHeaders, 'Retry-After') } : {}),
    content: {
      'application/json': { schema: referTo('schemas', schema), examples: Object.fromEntries(examples) },
    },
  }
}

/** Returns references to the errors of an operation, by status. */
function errorsOf(operation: Operation, fields: readonly string[]): Record<string, JsonSchema> {
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
      .map(([status]) => [status, referTo('responses', nameOf(status, operation.errors))]),
  )
}

const identifier = /^(?:persona_id|company_network_(?:id|url|urls)|post_url)$/

/** Returns whether an operation names one thing that may not exist. */
function looksUp({ path, batch, starts }: Operation, fields: readonly string[]): boolean {
  const single = batch !== undefined && starts === undefined && batch.identity !== 'number'
  return path.includes('{') || single || fields.some((name) => identifier.test(name))
}
