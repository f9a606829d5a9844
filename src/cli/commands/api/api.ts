import { STATUS_CODES } from 'node:http'
import { isOk, type Reply } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { type Operation, operations } from '../../../api/operations/table.js'
import { parseExact, toJson } from '../../../api/values/json.js'
import { type Fields, resultOr, withoutUndefined } from '../../../api/values/objects.js'
import { writeTo } from '../../../runs/output/writer.js'
import { notifyShorterPage } from '../../call/call.js'
import { printRefusedBody } from '../../call/print.js'
import { everyPage, type WholeReply, waitForRateLimits } from '../../call/send.js'
import { createSpendingLayer } from '../../call/spending.js'
import type { Context, GlobalOptions, StreamsContext } from '../../context/context.js'
import { reportOfAnswer } from '../../context/errors.js'
import { readInput, readText } from '../../context/io.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { repeated } from '../../options/values.js'
import { isJson, print, reportError } from '../../output/print.js'
import { createApp, createDocument } from '../serve/http-server.js'
import { requireSetUp } from '../setup/set-up.js'

export const apiCommand: CommandFactory = ({ command }) =>
  command('api', 'Call any path of the API, exactly as over HTTP')
    .argument('<method>', 'GET, POST or DELETE')
    .argument('<path>', 'path below the base address, such as /credits')
    .option('-f, --field <key=value>', 'a field of the body, or of the query of a GET (repeatable)', repeated)
    .option('--input <file>', 'the body as it is, from a file or - for stdin')
    .option('--include', 'print status and headers, and the body as it came')
    .option('--paginate', 'get every page, and print them as one')
    .option(
      '--idempotency-key <key>',
      'a repeated request with the same key gets the same answer and costs nothing',
    )
    .run(async (plain, invocation) => {
      const { options } = invocation
      const context = await requireSetUp(plain)
      const { query, createRequest, rows } = await readRequest(context, invocation)
      const caller = createSpendingLayer(context)(await context.withGlobals({ passesFields: true }).caller())
      const app = await createApp(context, caller)
      const call = (fields: Fields) =>
        waitForRateLimits(context, async () => toReply(await app(createRequest(fields))))
      const reply: RawReply & WholeReply =
        options.paginate === true ? await everyPage(call, query, '--paginate') : await call(query)
      const { status, body, text } = reply
      const isRaw = options.include === true && !choosesFormat(context.globals)
      if (options.include === true) await writeTo(context.streams.stdout, formatHead(reply))
      if (isRaw && text !== undefined) await writeTo(context.streams.stdout, `${context.redact(text)}\n`)
      else if (isOk(reply)) await print(context, body)
      else if (isJson(context)) await printRefusedBody(context, body)
      // What an empty catalogue answers is printed as it came, and is no answer.
      if (isOk(reply) || status === 404) await context.requireRecords(rows)
      const hint =
        status === 404 && rows.length === 0 ? { hint: 'Check the path. All of them: prospect openapi' } : {}
      if (!isOk(reply))
        return reportError(context, { ...reportOfAnswer(status, body, context.isLocal()), ...hint })
      const perPage = new URL(createRequest(query).url).searchParams.get('per_page')
      if (perPage !== null) notifyShorterPage(context, reply, 'per_page', Number(perPage))
      if (reply.incomplete) throw reply.incomplete
      return exitCodes.ok
    })

/** A reply with its body as it came; several pages have none. */
type RawReply = Reply & { readonly text?: string }

const choosesFormat = ({ format, json, jq, fields, output }: GlobalOptions): boolean =>
  [format, json, jq, fields, output].some((option) => option !== undefined && option !== false)

async function toReply(response: Response): Promise<RawReply> {
  const headers = Object.fromEntries(response.headers)
  const text = await response.text()
  return { status: response.status, headers, body: resultOr(text, () => parseExact(text)), credits: 0, text }
}

/** Reads a request that can be made more than once, with another query each time. */
async function readRequest(
  context: Context,
  { args: [methodText = '', pathText = ''], options }: Invocation,
) {
  const method = methodText.toUpperCase()
  if (!/^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)$/.test(method))
    throw new Refusal('usage.method', { methodText })
  const fields = parseFields((options.field as string[] | undefined) ?? [])
  const input = typeof options.input === 'string' ? options.input : undefined
  if (method === 'GET' && input !== undefined) throw new Refusal('usage.get_body')
  const isPaged = options.paginate === true
  if (isPaged && method !== 'GET') throw new Refusal('usage.paginate')
  const { searchParams } = toUrl(pathText, {})
  // Each page replaces what the path itself says about pages.
  const path = isPaged ? pathText.replace(/\?.*$/s, '') : pathText
  const query = isPaged ? { ...Object.fromEntries(searchParams), ...fields } : fields
  const isSent = method === 'POST' || method === 'PUT'
  const body = isSent ? await readBody(context, input, fields) : undefined
  const headers = withoutUndefined({
    'x-api-key': await context.apiKey(),
    'content-type': body === undefined ? undefined : 'application/json',
    'idempotency-key': options.idempotencyKey as string | undefined,
  })
  const init = withoutUndefined({ method, headers, body })
  return {
    query,
    createRequest: (given: Fields) => new Request(toUrl(path, isSent ? {} : given), init),
    rows: operations().filter((row) => row.method === method && isPathOf(row, toUrl(path, {}).pathname)),
  }
}

/** Whether a path is that of an operation, below the base address. */
const isPathOf = ({ path }: Operation, pathname: string): boolean =>
  new RegExp(`^/api/v2${path.replace(/\/$/, '').replace(/\{\w+\}/g, '[^/]+')}/?$`).test(pathname)

/** JSON numbers, true, false, null, lists and objects are read as such; a repeated key, or `key[]`, becomes a list. */
export function parseFields(pairs: readonly string[]): Record<string, unknown> {
  const fields = new Map<string, unknown>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) throw new Refusal('usage.field_pair', { pair: at < 0 ? pair : pair.slice(0, at + 1) })
    const isList = pair.slice(0, at).endsWith('[]')
    const name = isList ? pair.slice(0, at - 2) : pair.slice(0, at)
    const value = parseValue(name, pair.slice(at + 1))
    const before = fields.get(name)
    if (before !== undefined) fields.set(name, [before, value].flat())
    else fields.set(name, isList ? [value] : value)
  }
  return Object.fromEntries(fields)
}

const number = /^-?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function parseValue(name: string, text: string): unknown {
  if (number.test(text) || ['true', 'false', 'null'].includes(text)) return parseExact(text)
  if (!/^[[{]/.test(text)) return text
  try {
    return parseExact(text)
  } catch {
    throw new Refusal('usage.field_json', { name })
  }
}

const origin = 'http://127.0.0.1'

function toUrl(path: string, query: Fields): URL {
  if (/^\w+:\/\//.test(path)) throw new Refusal('usage.path_not_url')
  const rooted = path.startsWith('/') ? path : `/${path}`
  const isWhole = /^\/(?:api\/|(?:health|openapi\.json)$)/.test(rooted)
  const url = new URL(origin + (isWhole ? rooted : `/api/v2${rooted}`))
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value])
      url.searchParams.append(name, typeof each === 'object' ? toJson(each) : String(each))
  return url
}

async function readBody(context: StreamsContext, input: string | undefined, fields: Fields): Promise<string> {
  if (input === undefined) return toJson(fields)
  if (Object.keys(fields).length === 0) return readText(context.streams, input, '--input')
  return toJson({ ...(await readInput(context.streams, input)), ...fields })
}

function formatHead({ status, headers }: Reply): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `${[`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trim(), ...lines].join('\n')}\n\n`
}

export const openapiCommand: CommandFactory = ({ command }) =>
  command('openapi', 'Print the OpenAPI 3.1 document of the API, as JSON').run(async (context) => {
    if (context.globals.format && context.globals.format !== 'json')
      throw new Refusal('usage.document_format', { format: context.globals.format })
    await print(context.withGlobals({ format: 'json' }), await createDocument())
  })
