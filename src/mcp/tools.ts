import * as z from 'zod'
import { type Shape, shapeOf } from '../api/areas/shapes.js'
import { Refusal } from '../api/calls/errors.js'
import { isPriced, observedNote, pathParameters } from '../api/operations/facts.js'
import { areaOf, type Operation, type OperationId, operations } from '../api/operations/table.js'
import type { WorkStep } from '../api/ports/ports.js'
import { parseTexts } from '../api/validation/coerce.js'
import { withOwnWebhook } from '../api/validation/own-webhook.js'
import { validate } from '../api/validation/validate.js'
import { type Fields, withoutUndefined } from '../api/values/objects.js'
import { affordable, mostCredits } from '../engine/credits/cost.js'
import { priceWords } from '../reference/openapi.js'
import { type JsonSchema, toJsonSchema } from '../reference/schemas.js'
import { resultOf, type Session, type Started, waitFor } from './session.js'

export interface ToolCall {
  readonly signal: AbortSignal
  onStep(step: WorkStep): void
  note(text: string): void
}

export interface Tool {
  readonly name: string
  /** The area of its operation, or `files`; `--tools` also takes areas. */
  readonly area: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema: JsonSchema
  readonly annotations: Readonly<Record<`${string}Hint`, boolean>>
  /** Throws a refusal, or a CommandFailure. */
  run(session: Session, input: Fields, call: ToolCall): Promise<Fields>
}

/** Returns the name of an operation's tool, such as `accounts_enrich`. */
export const toolName = (id: OperationId): string => id.replace('.', '_')

/** How long a call waits for work that takes longer, in milliseconds. */
const waitMs = 30_000

/** Most records of accepted work in an answer. */
const maxRecords = 100

/** Returns the tools of the operation table. Schemas let a server's answers differ: no client may discard one that was paid for. */
export const operationTools = (
  isServer: boolean,
  priced: (row: Operation) => Promise<Operation>,
): Promise<readonly Tool[]> =>
  Promise.all(operations().map(async (row) => toTool(await priced(row), isServer)))

async function toTool(row: Operation, isServer: boolean): Promise<Tool> {
  const shape = await shapeOf(row.id)
  const isRead = row.method === 'GET' || (row.method === 'POST' && row.ok === 200)
  const output = outputSchemaOf(row, shape)
  return {
    name: toolName(row.id),
    area: areaOf(row.id),
    description: describe(row),
    inputSchema: inputSchemaOf(row, shape),
    outputSchema: isServer ? { anyOf: [output, { type: 'object' }] } : output,
    annotations: {
      readOnlyHint: isRead && !isPriced(row) && row.starts === undefined,
      destructiveHint: row.method === 'DELETE',
      openWorldHint: true,
    },
    run: async (session, given, call) => {
      const read = parseTexts(shape.input, given) as Fields
      const input = await session.port.resolveNames({ operation: row, shape, input: read })
      return answerOf(session, row, startCall(session, row, shape, input), call)
    },
  }
}

/** Returns a JSON Schema without formats that the validators of clients do not know, and would warn of. */
export const schemaOf = (type: z.ZodType): JsonSchema =>
  JSON.parse(JSON.stringify(toJsonSchema(type)), (key, value: unknown) =>
    key === 'format' && value === 'iri' ? undefined : value,
  ) as JsonSchema

function describe(row: Operation): string {
  const { summary, observed, starts } = row
  return [
    `${summary}.`,
    isPriced(row) ? `Price: ${priceWords(row)}; nothing found costs nothing.` : 'Free.',
    starts
      ? `Waits up to ${waitMs / 1_000} s, then answers with an id; ${readerOf(row)} has the result.`
      : '',
    observed ? observedNote : '',
  ]
    .filter((text) => text !== '')
    .join(' ')
}

function readerOf({ id, starts }: Operation): string {
  if (id === 'lists.create') return 'lists_get'
  return starts === 'waterfall' ? 'contacts_get' : 'searches_get'
}

/** Returns the schema of the fields. The address for results is optional, since calls wait for them. */
function inputSchemaOf({ starts }: Operation, { input }: Shape): JsonSchema {
  const schema = schemaOf(input)
  if (!starts || !Array.isArray(schema.required)) return schema
  return { ...schema, required: schema.required.filter((name) => name !== 'webhook_url') }
}

/** Returns the schema of an answer. Lists are inside an object, as the older protocol wants it. */
function outputSchemaOf({ starts }: Operation, { output }: Shape): JsonSchema {
  const schema = schemaOf(starts ? acceptedShape() : output)
  if (schema.type !== 'array') return { ...schema, type: 'object' }
  return { type: 'object', properties: { items: schema }, required: ['items'] }
}

export const commandWords = ({ command, flag }: Operation): readonly string[] => [
  ...command.split(' '),
  ...(flag === undefined ? [] : [`--${flag}`]),
]

function startCall(session: Session, row: Operation, shape: Shape, given: Fields): Started {
  const missing = pathParameters(row).find((name) => String(given[name] ?? '').trim() === '')
  if (missing !== undefined) throw new Refusal('tools.no_argument', { name: missing })
  const { input, held } = isPriced(row) ? holdFor(session, row, shape, given) : { input: given, held: 0 }
  return session.startPaid(held, session.port.call({ operation: row, shape, input }))
}

/**
 * Holds the maximum price of a request. The request is what was validated: in another spelling it could cost more. One
 * whose price depends on what matches gets a lower `limit` where the budget pays for no more.
 */
function holdFor(session: Session, row: Operation, shape: Shape, given: Fields) {
  const input: Fields = validate(row.id, shape, withOwnWebhook(row.id, shape, given))
  const most = mostCredits(row, input)
  const { credits = most ?? undefined, limit } = affordable(row, most, session.left) ?? {}
  return { input: limit === undefined ? input : { ...input, limit }, held: session.hold(credits) }
}

/** Returns the schema of an answer about accepted work. It is loaded with the other schemas. */
function acceptedShape() {
  return z.object({
    status: z.enum(['finished', 'working']),
    id: z.string().nullable().describe('Id of the work'),
    records: z
      .array(z.record(z.string(), z.unknown()))
      .optional()
      .describe(`What was found, at most ${maxRecords} records`),
    total: z.int().optional().describe('How many records were found'),
    next: z.string().optional().describe('The tool that has the rest, or the result later'),
  })
}

/**
 * Waits for the result of a request. Where it starts work, it answers after a while with the id; the work goes on, and what
 * it does not spend is returned to the budget when it ends.
 */
async function answerOf(session: Session, row: Operation, started: Started, call: ToolCall): Promise<Fields> {
  const isEnded = !row.starts || (await waitFor(session, started, waitMs, call.signal, call.onStep))
  const ended = isEnded ? await started.ended : undefined
  started.notices.forEach(call.note)
  const body = ended && resultOf(ended)
  if (!row.starts) return Array.isArray(body) ? { items: body } : (body as Fields)
  const id = (await started.id) ?? null
  if (!ended) return { status: 'working', id, next: `Call ${readerOf(row)} with this id later.` }
  const found = [body].flat()
  const next = found.length > maxRecords ? `Call ${readerOf(row)} with this id for the others.` : undefined
  const records = found.slice(0, maxRecords)
  return withoutUndefined({ status: 'finished', id, records, total: found.length, next })
}
