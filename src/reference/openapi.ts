import { type Shape, shapeOf } from '../api/areas/shapes.js'
import { aliasesOf } from '../api/operations/aliases.js'
import { isLimited, isPriced } from '../api/operations/facts.js'
import { areaOf, type Operation, operations } from '../api/operations/table.js'
import { errorResponses, errorSchemas, errorsOf, headerReferences, headers, rateHeaders } from './answers.js'
import { examples } from './examples.js'
import { jsonSchema, type Schema, type Schemas, schemas } from './schemas.js'
import { eventBodies, webhookParameters, webhooks } from './webhooks.js'
import { priceWords, quotaWords, rateWords } from './words.js'

/** Options of a document. */
export interface OpenapiOptions {
  /** Version of the program. */
  readonly version: string
  /** Base address with the version segment. */
  readonly serverUrl?: string
}

const areas: Readonly<Record<string, string>> = {
  accounts: 'Companies: extract, search, enrich, and what is known of one',
  leads: 'People: extract, search, enrich',
  contacts: 'E-mail addresses and phones of contacts',
  intents: 'Buying signals',
  messenger: 'Reachability of phone numbers',
  searches: 'Saved searches and their leads',
  lists: 'Lists of companies',
  personas: 'Saved personas',
  titles: 'Job titles',
  locations: 'Location ids',
  credits: 'Credits and quotas',
  account: 'The account behind the key',
  webhooks: 'What is delivered to the address that a request gave',
}

/** Returns the whole API as an OpenAPI 3.1 document, from the operation table and the schemas. */
export async function openapi(options: OpenapiOptions): Promise<object> {
  const shapes = await Promise.all(operations().map(async (row) => [row, await shapeOf(row.id)] as const))
  const known = schemas()
  for (const [name, schema] of bodies(shapes)) known.name(name, schema)
  return {
    openapi: '3.1.0',
    info: info(options.version),
    servers: [{ url: options.serverUrl ?? '/api/v2' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(areas).map(([name, description]) => ({ name, description })),
    paths: paths(shapes, known),
    webhooks: webhooks(known),
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY', description: 'A key of a user' },
      },
      parameters: { IdempotencyKey: idempotencyKey, ...webhookParameters },
      headers,
      responses: errorResponses(),
      schemas: { ...errorSchemas, ...known.all() },
    },
  }
}

const info = (version: string) => ({
  title: 'Prospecting Data API',
  version: '1.0.0',
  description:
    'Extracts people and companies, enriches them, finds contacts and buying signals. Long work answers at once and delivers its results to a webhook. A server refuses requests to host names it does not serve and from pages of other origins (403), headers beyond 16 KiB (431), requests that take too long (408) and what is not HTTP (400) before it looks at the path.',
  'x-prospect-version': version,
})

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    '1 to 255 visible ASCII characters, bare or quoted. The same request with the same key has one effect and one answer, kept for 72 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 257 },
}

type Row = readonly [operation: Operation, shape: Shape]

/** Returns bodies by name, smaller ones first, so that larger ones refer to them. */
function bodies(rows: readonly Row[]): [name: string, schema: Schema][] {
  const all = rows.flatMap(([operation, shape]): [string, Schema][] => [
    ...(operation.method === 'POST'
      ? [[bodyName(operation, 'Request'), jsonSchema(shape.input)] as [string, Schema]]
      : []),
    [bodyName(operation, 'Reply'), jsonSchema(shape.output)],
  ])
  return [...all, ...eventBodies()].sort(
    ([, a], [, b]) => JSON.stringify(a).length - JSON.stringify(b).length,
  )
}

const bodyName = ({ id }: Operation, kind: 'Request' | 'Reply'): string =>
  id.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase()) + kind

function paths(rows: readonly Row[], known: Schemas): Schema {
  const byPath: Record<string, Record<string, Schema>> = {}
  for (const [operation, shape] of rows) {
    const described = describeOperation(operation, shape, known)
    byPath[operation.path] = { ...byPath[operation.path], [operation.method.toLowerCase()]: described }
  }
  return byPath
}

function describeOperation(operation: Operation, shape: Shape, known: Schemas): Schema {
  const input = jsonSchema(shape.input)
  const fields = Object.keys(input.properties as Schema)
  const parameters = parametersOf(operation, input)
  return {
    operationId: operation.id,
    tags: [areaOf(operation.id)],
    summary: operation.summary,
    description: descriptionOf(operation),
    'x-command': `prospect ${operation.command}${operation.flag ? ` --${operation.flag}` : ''}`,
    ...(isPriced(operation) ? { 'x-price': operation.price } : {}),
    ...(operation.quota ? { 'x-quota': operation.quota } : {}),
    'x-rate': operation.rate,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.method === 'POST'
      ? { requestBody: { required: true, content: json(known.place(input), examples[operation.id].request) } }
      : {}),
    responses: {
      [operation.ok]: success(operation, known.place(jsonSchema(shape.output))),
      ...errorsOf(operation, fields),
    },
  }
}

const json = (schema: Schema, example: unknown): Schema => ({ 'application/json': { schema, example } })

function descriptionOf(operation: Operation): string {
  const aliases = Object.entries(aliasesOf(operation.id))
  return [
    `Price: ${priceWords(operation)}.`,
    ...(operation.quota ? [`Quota: ${quotaWords[operation.quota]}.`] : []),
    `Request limit: ${rateWords(operation)}.`,
    ...(aliases.length > 0
      ? [`Also accepted: ${aliases.map(([alias, name]) => `\`${alias}\` for \`${name}\``).join(', ')}.`]
      : []),
  ].join(' ')
}

function success(operation: Operation, schema: Schema): Schema {
  const names = [
    ...(isLimited(operation) ? rateHeaders : []),
    ...(operation.idempotent ? ['Idempotent-Replayed'] : []),
  ]
  return {
    description: operation.starts ? 'Accepted; results are delivered later' : 'Success',
    ...(names.length > 0 ? { headers: headerReferences(...names) } : {}),
    content: json(schema, examples[operation.id].reply),
  }
}

/** Path parameters, the query of what has no body, and the idempotency key where it counts. */
function parametersOf(operation: Operation, input: Schema): Schema[] {
  const required = new Set((input.required ?? []) as string[])
  const fields = Object.entries(input.properties as Record<string, Schema>).flatMap(([name, field]) => {
    const inPath = operation.path.includes(`{${name}}`)
    if (operation.method === 'POST' && !inPath) return []
    const { description, ...schema } = field
    const place = { name, in: inPath ? 'path' : 'query', required: inPath || required.has(name) }
    const example = examples[operation.id].request[name]
    return [{ ...place, description, schema, ...(example === undefined ? {} : { example }) }]
  })
  return operation.idempotent ? [...fields, { $ref: '#/components/parameters/IdempotencyKey' }] : fields
}
