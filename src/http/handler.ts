import { setTimeout as pause } from 'node:timers/promises'
import { type Caller, type CallOptions, ConnectionLost, type Input, type Reply } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { renameOut, renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { bodyLimits, hasBody, topUpPath } from '../api/operations/facts.js'
import { type Operation, operations } from '../api/operations/table.js'
import { hazardIn, toJson } from '../api/values/json.js'
import { once, resultOr } from '../api/values/objects.js'
import { answer, asApiError, refuse, respond, safeHeaders } from './answer.js'
import { declaresMore, readFields, refused } from './body.js'

export const basePath = '/api/v2'

/** The path of the operations that a server also answers at its synchronous base address. */
const syncBasePath = '/v2'

export interface HandlerOptions {
  readonly caller: Caller
  /** Version of the program, for `/health`. */
  readonly version: string
  /** The server behind this one, for `/health`. */
  readonly upstream?: object | undefined
  /** Rejects while requests cannot be answered, for `/ready`. Without it the server is always ready. */
  readonly ready?: (() => Promise<unknown>) | undefined
  /** Creates the document at `/openapi.json`; called once. */
  readonly document: () => Promise<object>
  /** The words for `network` and `premium` in field names, when they differ. */
  readonly names?: WireNames | undefined
  /** Called with the cause of a 500 that is a bug. */
  readonly report?: (error: unknown) => void
}

/** Serves every operation over a caller, as a fetch-shaped function. */
export function handler(options: HandlerOptions): (request: Request) => Promise<Response> {
  const find = router([...operations().flatMap((row) => routesOf(row, options)), ...ownRoutes(options)])
  return async (request) => {
    const place = find(pathOf(request.url))
    if (!place) return refuse(new ApiError('not_found'))
    const respond = place.answers.get(request.method)
    if (respond) return respond(request, place.params)
    return refuse(new ApiError('method_not_allowed', {}, { allow: [...place.answers.keys()].join(', ') }))
  }
}

function routesOf(operation: Operation, options: HandlerOptions): Route[] {
  const route = { method: operation.method, answer: operationAnswer(operation, options) }
  const path = basePath + operation.path
  const spellings = path.endsWith('/') ? [path, path.slice(0, -1)] : [path]
  if (operation.syncPath !== undefined)
    spellings.push(syncBasePath + operation.syncPath, syncBasePath + operation.path)
  return spellings.map((spelling) => ({ ...route, path: spelling }))
}

function operationAnswer(operation: Operation, serving: HandlerOptions): RouteHandler {
  const { caller, names, report } = serving
  const limit = bodyLimits.bytes
  const isInBody = hasBody(operation)
  const inputOf = (request: Request, params: Params): ReadInput =>
    isInBody ? () => readFields(request, params, names) : queryInput(request, params, names)
  return async (request, params) => {
    if (declaresMore(request.headers, limit)) return refuse(new ApiError('body_too_large', { limit }))
    try {
      const { id } = operation
      const read = inputOf(request, params)
      const options = callOptions(request)
      const reply = caller.answerRequest
        ? await caller.answerRequest(id, read, options)
        : await caller.call(id, await read(), options)
      return respond(names && !reply.wire ? renamed(reply, names) : reply)
    } catch (thrown) {
      if (!(thrown instanceof ApiError || thrown instanceof ConnectionLost)) report?.(thrown)
      return refuse(asApiError(thrown), operation)
    }
  }
}

const renamed = ({ text: _, ...reply }: Reply, names: WireNames): Reply => ({
  ...reply,
  body: renameOut(reply.body, names),
})

/** The signal is created only for a caller that reads it. */
function callOptions(request: Request): CallOptions {
  const { url, headers } = request
  return {
    apiKey: headers.get('x-api-key') ?? undefined,
    idempotencyKey: headers.get('idempotency-key') ?? undefined,
    maxAgeMs: maxAgeIn(headers.get('cache-control')),
    origin: url.slice(0, url.indexOf('/', 8)),
    get signal() {
      return request.signal
    },
  }
}

/** Returns how old a stored answer may be by `Cache-Control`, in milliseconds; `undefined` where that is not said. */
function maxAgeIn(header: string | null): number | undefined {
  if (header === null) return undefined
  const directives = header.toLowerCase().split(',')
  if (directives.some((one) => /^\s*no-(?:cache|store)\s*$/.test(one))) return 0
  const seconds = directives.flatMap((one) => /^\s*max-age\s*=\s*"?(\d+)"?\s*$/.exec(one)?.[1] ?? [])
  return seconds.length === 0 ? undefined : Math.min(...seconds.map(Number)) * 1_000
}

type ReadInput = () => Promise<Input>

const queryInput =
  (request: Request, params: Params, names: WireNames | undefined): ReadInput =>
  async () => {
    const from = request.url.indexOf('?')
    if (from < 0) return params
    const input = { ...queryFields(request.url.slice(from + 1)), ...params }
    const hazard = hazardIn(input)
    if (hazard !== undefined) throw refused(hazard)
    return names ? (renameRequest(input, names) as Input) : input
  }

/** Query values are texts, and arrays of texts for repeated names. */
function queryFields(query: string): Record<string, unknown> {
  const fields = new Map<string, string | string[]>()
  for (const [name, value] of new URLSearchParams(query)) {
    const known = fields.get(name)
    fields.set(name, known === undefined ? value : [known, value].flat())
  }
  return Object.fromEntries(fields)
}

function ownRoutes({ caller, version, upstream, ready, document, report }: HandlerOptions): Route[] {
  // Keys that the server behind does not support are not supported here.
  const health = async () => {
    const honours = (await caller.supportsIdempotency?.()) ?? true
    return { status: 'ok', version, ...(honours ? { idempotency: 'Idempotency-Key' } : {}), ...upstream }
  }
  // Written once, because anybody may ask for it without a key.
  const written = once(async () => new TextEncoder().encode(toJson(await document())))
  const openapi = async () => {
    try {
      return answer(200, undefined, {}, await written())
    } catch (thrown) {
      report?.(thrown)
      return refuse(new ApiError('internal'))
    }
  }
  return [
    { method: 'GET', path: '/health', answer: async () => answer(200, await health()) },
    { method: 'GET', path: '/ready', answer: () => readyAnswer(ready) },
    { method: 'GET', path: '/openapi.json', answer: openapi },
    // A server behind this one names a page of its own.
    ...(upstream ? [] : [{ method: 'GET', path: topUpPath, answer: async () => topUpPage() }]),
  ]
}

/** The page that the engine's `top_up_url` names: nothing is sold here, and a browser is told who gives credits. */
function topUpPage(): Response {
  const headers = { ...safeHeaders, 'content-type': 'text/html; charset=utf-8' }
  return new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Credits</title>
<h1>Credits are used up</h1>
<p>This server does not sell credits. Its operator can add them to the workspace, for example 500:</p>
<pre>prospect engine credits add 500</pre>
<p>Then send the request again, with the same idempotency key.</p>
</html>
`,
    { headers },
  )
}

/** Timeout of the readiness check, shorter than those of load balancers. */
const readyMs = 2_000

/** Answers `/ready`: with the reason, where the error table has one. */
async function readyAnswer(ready: HandlerOptions['ready']): Promise<Response> {
  const late = pause(readyMs, {}, { ref: false })
  const asked = (async () => ready?.())().then(
    () => undefined,
    (error: unknown) => (error instanceof ApiError ? { reason: error.message } : {}),
  )
  const failure = await Promise.race([asked, late])
  return failure ? answer(503, { status: 'not_ready', ...failure }) : answer(200, { status: 'ready' })
}

function pathOf(url: string): string {
  const from = url.indexOf('/', 8)
  if (from < 0) return '/'
  for (let at = from; at < url.length; at++) {
    const char = url.charCodeAt(at)
    if (char === 0x3f || char === 0x23) return url.slice(from, at)
  }
  return url.slice(from)
}

type Params = Readonly<Record<string, string>>

type RouteHandler = (request: Request, params: Params) => Promise<Response>

/** One method of a path, with `{name}` for its parameters. */
interface Route {
  readonly method: string
  readonly path: string
  readonly answer: RouteHandler
}

interface RequestPlace {
  readonly answers: ReadonlyMap<string, RouteHandler>
  readonly params: Params
}

/** Creates the function that finds a path. One without parameters wins over one with them. */
function router(routes: readonly Route[]): (path: string) => RequestPlace | undefined {
  const plain = new Map<string, RequestPlace>()
  const patterns: { readonly pattern: RegExp; readonly answers: RequestPlace['answers'] }[] = []
  for (const [path, methods] of Map.groupBy(routes, (route) => route.path)) {
    const answers = new Map(methods.map((route) => [route.method, route.answer]))
    const pattern = new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
    if (path.includes('{')) patterns.push({ pattern, answers })
    else plain.set(path, { answers, params: {} })
  }
  return (path) => {
    const known = plain.get(path)
    if (known) return known
    for (const { pattern, answers } of patterns) {
      const { groups } = pattern.exec(path) ?? {}
      if (groups) return { answers, params: decoded(groups) }
    }
    return undefined
  }
}

const decoded = (groups: Params): Params =>
  Object.fromEntries(
    Object.entries(groups).map(([name, raw]) => [name, resultOr(raw, () => decodeURIComponent(raw))]),
  )
