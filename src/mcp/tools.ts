import type * as z from 'zod'
import { type Shape, shapeOf } from '../api/areas/shapes.js'
import { Refusal } from '../api/calls/errors.js'
import { exitCodes } from '../api/calls/exit-codes.js'
import { isPriced, observedNote, pathParameters } from '../api/operations/facts.js'
import { areaOf, type Operation, type OperationId, operations } from '../api/operations/table.js'
import { namedFields, orByName } from '../api/schemas/enumerations.js'
import { parseTexts } from '../api/validation/coerce.js'
import { withOwnWebhook } from '../api/validation/own-webhook.js'
import { findUnknown, unwrap, validate } from '../api/validation/validate.js'
import { nearest } from '../api/values/nearest.js'
import { type Fields, isObject, once, withoutUndefined } from '../api/values/objects.js'
import { affordable, mostCredits } from '../engine/credits/cost.js'
import { priceWords, quotaWords } from '../reference/openapi.js'
import { type JsonSchema, toJsonSchema } from '../reference/schemas.js'
import {
  CommandFailure,
  type Ended,
  resultOf,
  type Session,
  type Started,
  type ToolCall,
  waitFor,
} from './session.js'

export interface Tool {
  readonly name: string
  /** The area of its operation, or `files`, `flows`, `ledger`, `suppress`; `--areas` takes them. */
  readonly area: string
  readonly description: string
  /** The commands whose place it takes in what is said to its callers, such as `credits`. */
  readonly commands?: readonly string[]
  /** Computed when it is first asked for: of sixty tools, an agent is usually shown a dozen. */
  readonly inputSchema: () => JsonSchema
  readonly annotations: Readonly<Record<`${string}Hint`, boolean>>
  /** Throws a refusal, or a CommandFailure. */
  run(session: Session, input: Fields, call: ToolCall): Promise<Fields>
}

/** Returns the name of an operation's tool, such as `accounts_enrich`. */
export const toolName = (id: OperationId): string => id.replace('.', '_')

/** How long a call waits for work that takes longer, in milliseconds. */
const waitMs = 30_000

/** Most records of accepted work in an answer that has no pages. */
const maxRecords = 100

/** Most records of a search in an answer: a person and their company take 1,600 characters, twice, and clients cut off long answers. */
const pageSize = 10

/** How a caller gets the records that an answer has no place for. */
const nextPage = (page: number): string =>
  `Call run_status with this id and page: ${page} for more of them. For all in a file, give the search an output.`

const pagesOf = (total: number): number => Math.ceil(total / pageSize)

/** The tools that a model sees unless more are asked for: what most questions need, in the order in which they are listed. */
export const usualTools: readonly string[] = [
  'accounts_search',
  'leads_advanced_search',
  'accounts_enrich',
  'contacts_enrich_sync',
  'quote_file',
  'run_file',
  'run_status',
  'match_file',
  'suppress_check',
  'ledger',
  'credits_show',
  'flow_run',
]

/**
 * Returns the tools of the operation table. They have no schemas of answers: a server's may differ, no client may discard one
 * that was paid for, and what they mean is a document of this server.
 */
export const operationTools = (priced: (row: Operation) => Promise<Operation>): Promise<readonly Tool[]> =>
  Promise.all(operations().map(async (row) => toTool(await priced(row))))

async function toTool(row: Operation): Promise<Tool> {
  const shape = await shapeOf(row.id)
  const inputSchema = once(() => inputSchemaOf(row, shape))
  const isRead = row.method === 'GET' || (row.method === 'POST' && row.ok === 200)
  return {
    name: toolName(row.id),
    area: areaOf(row.id),
    description: describe(row),
    commands: row.flag === undefined ? [row.command] : [],
    inputSchema,
    annotations: {
      readOnlyHint: isRead && !isPriced(row) && row.starts === undefined,
      destructiveHint: row.method === 'DELETE',
      openWorldHint: true,
    },
    run: async (session, given, call) => {
      const { output, ...others } = given
      const fields = isListed(row) ? others : given
      const path =
        fields === others && output != null
          ? session.port.fileIn('output', String(output), 'write')
          : undefined
      const read = parseTexts(shape.input, fields) as Fields
      const [unknown] = findUnknown(row.id, shape, unwrap(row.id, read))
      if (unknown !== undefined) throw refuseUnknown(unknown, Object.keys(inputSchema().properties as Fields))
      const input = await session.port.resolveNames({ operation: row, shape, input: read })
      const started = startCall(session, row, shape, input, path)
      const found = await answerOf(session, row, started, call, path)
      const answer =
        found.total === 0 ? { ...found, ...(await nearMatches(session, row, input, call.signal)) } : found
      return row.id === 'credits.show' ? { ...answer, budget: session.budget() } : answer
    },
  }
}

/** The refusal of a field that a tool does not have. */
export const refuseUnknown = (name: string, known: readonly string[]): Refusal =>
  new Refusal('tools.unknown', { name, near: nearest(name, known), known })

/**
 * Returns a JSON Schema for a model to read: what a value is and means, without limits that only a program needs. The program
 * checks them, and says which one a value breaks.
 */
export function schemaOf(type: z.ZodType): JsonSchema {
  const limits = new Set(['pattern', 'format', 'minLength', 'maxLength', 'maxItems'])
  const read = (value: unknown, isItem = false): unknown => {
    if (Array.isArray(value)) return value.map((one) => read(one))
    if (!isObject(value)) return value
    const { properties, items, ...rest } = value
    const kept = Object.entries(rest).flatMap(([key, one]) =>
      (limits.has(key) && typeof one !== 'object') || (isItem && key === 'description')
        ? []
        : [[key, read(one)] as const],
    )
    return withoutUndefined({
      ...Object.fromEntries(kept),
      properties: isObject(properties)
        ? Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, read(one)]))
        : undefined,
      items:
        items === undefined ? undefined : read(items, !isObject(items) || items.properties === undefined),
    })
  }
  return read(toJsonSchema(type)) as JsonSchema
}

/** Returns the schema of a field whose ids have names: a model knows those better. */
function byName(name: string, schema: unknown): unknown {
  const named = namedFields[name]
  const { description, items } = schema as JsonSchema
  if (!named || items === undefined) return schema
  const names = named.isOpen ? '' : `: ${Object.values(named.labels).join(', ')}`
  return { type: 'array', description: `${orByName(String(description))}${names}`, items: { type: 'string' } }
}

/** What a model has to know besides of some tools. */
const contactAdvice =
  'Takes network_url, or firstname and lastname with domain or company_name. ' +
  'Not needed where a search gave a valid most_probable_email; a risky address is paid for, too. ' +
  'For several people, use run_file: the output of a search is a file for it.'
const advice: Partial<Readonly<Record<OperationId, string>>> = {
  'contacts.enrich': contactAdvice,
  'contacts.enrich_sync': contactAdvice,
  'accounts.enrich': 'Takes company_network_url, domain or name, the last best with country.',
  'credits.show': 'budget says what this server may spend: limit, spent, reserved for work under way, left.',
}

function describe(row: Operation): string {
  const { id, summary, batch, observed, starts, quota } = row
  // A file is for run_file, which reads and writes in the folder of this server.
  const own = summary.replace(/, or (?:every|at every) \S+ of a CSV file$/, '')
  return [
    `${own}.`,
    batch && batch.into === undefined ? 'For each row of a file, use run_file.' : '',
    advice[id] ?? '',
    isPriced(row) ? `Price: ${priceWords(row)}; nothing found costs nothing.` : quota ? '' : 'Free.',
    quota
      ? `${isPriced(row) ? '' : 'No credits. '}Each record counts against the quota of ${quotaWords[quota]}: give a limit.`
      : '',
    starts
      ? `Waits up to ${waitMs / 1_000} s, then answers with an id, with which run_status waits for the result.`
      : '',
    observed ? observedNote : '',
  ]
    .filter((text) => text !== '')
    .join(' ')
}

/** Returns the tool that reads the records of accepted work where run_status has no pages of them. */
function readerOf({ id, starts }: Operation): string | undefined {
  if (id === 'lists.create') return 'lists_get'
  return starts === 'waterfall' ? 'contacts_get' : undefined
}

/** Whether work finds records of which run_status has pages. */
const isListed = (row: Operation): boolean => row.starts === 'import' && readerOf(row) === undefined

const outputField = {
  type: 'string',
  description:
    'A file for all of them in the folder of this server, such as .csv; quote_file and run_file take it',
}

/** Returns the schema of the fields. The address for results is left out, since calls wait for them. */
function inputSchemaOf(row: Operation, { input }: Shape): JsonSchema {
  const { id, starts } = row
  const { properties, required, ...rest } = schemaOf(input)
  const isAsked = (name: string) => name !== 'webhook_url' || !(starts || id === 'contacts.enrich_sync')
  const fields = Object.entries(isObject(properties) ? properties : {}).filter(([name]) => isAsked(name))
  return withoutUndefined({
    ...rest,
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(fields.map(([name, schema]) => [name, byName(name, schema)])),
      ...(isListed(row) ? { output: outputField } : {}),
    },
    required: Array.isArray(required) ? required.filter(isAsked) : undefined,
  })
}

function startCall(
  session: Session,
  row: Operation,
  shape: Shape,
  given: Fields,
  output: string | undefined,
): Started {
  const missing = pathParameters(row).find((name) => String(given[name] ?? '').trim() === '')
  if (missing !== undefined) throw new Refusal('tools.no_argument', { name: missing })
  const { input, held } = isPriced(row) ? holdFor(session, row, shape, given) : { input: given, held: 0 }
  const globals = output === undefined ? {} : { output }
  return session.startPaid(held, session.port.call({ operation: row, shape, input, globals }))
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

/**
 * Waits for the result of a request. Where it starts work, it answers after a while with the id; the work goes on, and what
 * it does not spend is returned to the budget when it ends.
 */
async function answerOf(
  session: Session,
  row: Operation,
  started: Started,
  call: ToolCall,
  output: string | undefined,
): Promise<Fields> {
  if (!row.starts) {
    const ended = await started.ended
    const nothing = foundNothing(row, ended)
    if (nothing) return nothing
    started.notices.forEach(call.note)
    const body = resultOf(ended)
    return { ...(Array.isArray(body) ? { items: body } : (body as Fields)), ...costOf(row, ended) }
  }
  return acceptedWork(session, row, started, waitMs, call, output)
}

/** Returns what accepted work has found, waiting for it at most so many milliseconds. */
async function acceptedWork(
  session: Session,
  row: Operation,
  started: Started,
  ms: number,
  call: ToolCall,
  output: string | undefined,
): Promise<Fields> {
  const isEnded = await waitFor(session, started, ms, call.signal, call.onStep)
  const ended = isEnded ? await started.ended : undefined
  const id = (await started.id) ?? null
  const nothing = ended && foundNothing(row, ended)
  if (nothing) return { status: 'finished', id, ...nothing }
  started.notices.forEach(call.note)
  const body = ended && resultOf(ended)
  if (!ended) {
    if (id !== null)
      session.work.set(id, (seconds, later) =>
        acceptedWork(session, row, started, seconds * 1_000, later, output),
      )
    return { status: 'working', id, next: 'Call run_status with this id later.' }
  }
  const cost = costOf(row, ended)
  if (output !== undefined)
    return { status: 'finished', id, ...(await firstFound(session, id)), output, ...cost }
  const found = [body].flat()
  const reader = readerOf(row)
  const most = isListed(row) ? pageSize : maxRecords
  const others = reader === undefined ? nextPage(2) : `Call ${reader} with this id for the others.`
  const next = found.length > most ? others : undefined
  const records = found.slice(0, most)
  const total = found.length
  const pages = isListed(row) ? pagesOf(total) : undefined
  return withoutUndefined({ status: 'finished', id, records, total, pages, next, ...cost })
}

/** Returns what a paid call cost, in the field that every answer of one has. */
const costOf = (row: Operation, { spent }: Ended): Fields => (isPriced(row) ? { _credits: spent } : {})

/** Returns the answer of a paid lookup that found nothing, which is no failure; `undefined` for any other one. */
function foundNothing(row: Operation, ended: Ended): Fields | undefined {
  const { exit, problem } = ended
  if (!isPriced(row) || exit !== exitCodes.notFound || !problem || problem.code !== null) return undefined
  return { found: false, reason: problem.error, hint: problem.hint, ...costOf(row, ended) }
}

/** Records in the answer of a search that has written all of them to a file. */
const shownBesideFile = 3

/** Returns the first records of a search, and how many there are: none where nothing matched, so that it has no id. */
async function firstFound(session: Session, id: string | null): Promise<Fields> {
  const { records = [], total = 0 } = (id === null ? undefined : await searchOf(session, id)) ?? {}
  return { records: (records as readonly unknown[]).slice(0, shownBesideFile), total }
}

/** What a search is given besides its filters. */
const noFilters = new Set(['name', 'limit', 'streaming', 'scale', 'custom', 'live', 'revenue_currency'])

/** Most filters that are each left out to count what the others match. */
const mostLeftOut = 6

/** Returns how many records match without one of the filters of a search that found none, where that can be asked for free. */
async function nearMatches(
  session: Session,
  row: Operation,
  input: Fields,
  signal: AbortSignal,
): Promise<Fields> {
  const operation = operations().find(({ id }) => id === `${row.id}_preview`)
  if (!operation) return {}
  const shape = await shapeOf(operation.id)
  const known = Object.entries(input).filter(([name]) => Object.hasOwn(shape.input.shape, name))
  const filters = known.flatMap(([name]) => (noFilters.has(name) ? [] : [name])).slice(0, mostLeftOut)
  if (filters.length < 2) return {}
  const counts: Record<string, number> = {}
  for (const left of filters) {
    if (signal.aborted) break
    const others = Object.fromEntries(known.filter(([name]) => name !== left && name !== 'limit'))
    const { exit, result } = await session.start(session.port.call({ operation, shape, input: others })).ended
    const count = isObject(result) ? (result.total_count ?? result.total) : undefined
    if (exit === exitCodes.ok && typeof count === 'number' && count > 0) counts[left] = count
  }
  return Object.keys(counts).length > 0
    ? {
        matches_without: counts,
        next: 'Nothing matches all filters. matches_without has how many match without one of them.',
      }
    : { next: 'Nothing matches, also without any one of the filters: leave out several, or widen them.' }
}

export const isNotFound = (error: unknown) =>
  error instanceof CommandFailure && error.problem.exit_code === exitCodes.notFound

interface FoundPage {
  readonly search: Fields
  readonly pagination: Fields
  readonly leads?: readonly Fields[]
  readonly accounts?: readonly Fields[]
}

const isFoundPage = (body: unknown): body is FoundPage =>
  isObject(body) && isObject(body.search) && isObject(body.pagination)

/** Returns records of a search, of whichever session; `undefined` where there is none. */
export async function searchOf(session: Session, id: string, page = 1): Promise<Fields | undefined> {
  const asked = { id, page, per_page: pageSize }
  const body = await session.ask('searches.get', asked).catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
  if (!isFoundPage(body)) return undefined
  const { search, pagination, leads, accounts = [] } = body
  const { status, error } = search
  const total = Number(pagination.total_count)
  const pages = pagesOf(total)
  const isBeyond = page > Math.max(1, pages)
  return withoutUndefined({
    status: status === 'FINISHED' ? 'finished' : error === undefined ? 'working' : 'failed',
    id: search.id,
    error,
    records: leads ?? [accounts].flat().map(({ ordinal: _, ...company }) => company),
    total,
    pages,
    next: pagination.has_more
      ? nextPage(page + 1)
      : isBeyond
        ? `There is no page ${page}: it has ${pages === 1 ? '1 page' : `${pages} pages`}.`
        : undefined,
  })
}
