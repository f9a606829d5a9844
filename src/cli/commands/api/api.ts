import { STATUS_CODES } from 'node:http'
import type { Command } from 'commander'
import { isOk, type Reply } from '../../../api/calls/caller.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { parseExact, toJson } from '../../../api/values/json.js'
import type { ClockContext, GlobalOptions, StreamsContext, TargetContext } from '../../context/context.js'
import { reportOfAnswer, UsageError } from '../../context/errors.js'
import { readInput, readText, write } from '../../context/io.js'
import { printRefusal, secondsToWait } from '../../operation/call.js'
import { everyPage } from '../../operation/pagination.js'
import { accounted } from '../../operation/record-spending.js'
import type { CommandEnvironment, Invocation } from '../../options/command-environment.js'
import { guide } from '../../options/command-environment.js'
import { repeated } from '../../options/values.js'
import { isJson, reportError } from '../../output/report-error.js'
import { neutral } from '../../output/text.js'
import { createApp } from '../serve/app.js'
import { parseFields } from './raw-fields.js'

/** `prospect api`: any request, answered as the server would answer it. */
export function apiCommand(environment: CommandEnvironment): Command {
  const command = environment
    .command('api', 'Call any path of the API, exactly as over HTTP')
    .argument('<method>', 'GET, POST or DELETE')
    .argument('<path>', 'path below the base address, such as /credits')
    .option(
      '-f, --field <key=value>',
      'a field of the body, or of the query of a GET; repeat it for more',
      repeated,
    )
    .option('--input <file>', 'the body as it is, from a file or - for stdin')
    .option('--include', 'print status and headers before the body')
    .option('--paginate', 'ask for every page of a GET, and print them as one')
    .option('--idempotency-key <key>', 'the same key again answers the same and costs nothing')
  guide(
    command,
    [
      'api GET /credits',
      'api POST /accounts/single_enrich -f domain=example.com --include',
      'api GET /accounts/technologies -f query=react -f limit=5',
      'api GET /personas --paginate --format csv',
      'api POST /lists --input list.json',
    ],
    'Numbers, true, false, null, [lists] and {objects} are read as JSON; a key given twice, or written key[], is a list.\n' +
      'The exit code is that of the same refusal in any other command (402 is 4, 429 is 8, …).',
  )
  return environment.action(command, (invocation) => callRaw(environment, invocation))
}

async function callRaw(environment: CommandEnvironment, invocation: Invocation): Promise<number> {
  const { context } = environment
  const { globals, options } = invocation
  const { fields, make } = await requestOf(context, invocation)
  const caller = accounted(context, globals)(await context.caller(globals))
  const serve = await createApp(context, caller, globals)
  const ask = (query: Fields) => answered(context, serve, () => make(query), globals)
  const reply = options.paginate === true ? await everyPage(ask, fields, '--paginate') : await ask(fields)
  const { status, body } = reply
  if (options.include === true) await write(context.streams.stdout, head(reply))
  if (isOk(reply)) await environment.print(body, globals)
  else if (isJson(context, globals)) await printRefusal(environment, body, globals)
  return isOk(reply) ? exitCodes.ok : reportError(context, reportOfAnswer(status, body), globals)
}

type Fields = Readonly<Record<string, unknown>>

/** A request that can be made more than once; its query, where it has one, is given each time. */
interface Repeatable {
  readonly fields: Fields
  make(query: Fields): Request
}

const usualWait = 10

/** Answers a request; a rate limit is waited for as in other commands. */
async function answered(
  context: StreamsContext & ClockContext,
  serve: (request: Request) => Promise<Response>,
  make: () => Request,
  globals: GlobalOptions,
): Promise<Reply> {
  for (let waited = 0; ; ) {
    const response = await serve(make())
    const { status } = response
    const headers = Object.fromEntries(response.headers)
    const seconds = status === 429 ? secondsToWait({ headers }, context.clock.now()) : undefined
    if (seconds === undefined || waited + seconds > (globals.maxWait ?? usualWait))
      return { status, headers, body: parsed(await response.text()), credits: 0 }
    context.notify(`Rate limited: waiting ${seconds} s.`, globals)
    await context.sleep(seconds * 1_000)
    waited += seconds
  }
}

async function requestOf(
  context: StreamsContext & TargetContext,
  { args, options, globals }: Invocation,
): Promise<Repeatable> {
  const method = methodOf(args[0] ?? '')
  const fields = parseFields((options.field as string[] | undefined) ?? [])
  const input = typeof options.input === 'string' ? options.input : undefined
  if (method === 'GET' && input !== undefined)
    throw new UsageError('A GET request has no body.', 'Give its query with -f key=value.')
  if (options.paginate === true && method !== 'GET')
    throw new UsageError('--paginate is about the pages of a GET.', 'Leave it out.')
  const whole = args[1] ?? ''
  const { searchParams } = urlOf(whole, {})
  // Page after page replaces what the path itself says of pages.
  const isPaged = options.paginate === true
  const path = isPaged ? whole.replace(/\?.*$/s, '') : whole
  const asked = isPaged ? { ...Object.fromEntries(searchParams), ...fields } : fields
  const body = method === 'POST' ? await bodyOf(context, input, fields) : undefined
  const key = await context.apiKey(globals)
  const headers = {
    ...(key === undefined ? {} : { 'x-api-key': key }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(typeof options.idempotencyKey === 'string' ? { 'idempotency-key': options.idempotencyKey } : {}),
  }
  const make = (query: Fields) =>
    new Request(urlOf(path, method === 'POST' ? {} : query), {
      ...{ method, headers },
      ...(body === undefined ? {} : { body }),
    })
  return { fields: asked, make }
}

function methodOf(text: string): string {
  const method = text.toUpperCase()
  if (/^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)$/.test(method)) return method
  throw new UsageError(`"${text}" is not a method.`, 'Use GET, POST or DELETE, then the path.')
}

const origin = 'http://127.0.0.1'

function urlOf(path: string, query: Readonly<Record<string, unknown>>): URL {
  if (/^\w+:\/\//.test(path))
    throw new UsageError('The path must not be a whole address.', 'Write it as /credits.')
  const rooted = path.startsWith('/') ? path : `/${path}`
  const isWhole = /^\/(?:api\/|(?:health|openapi\.json)$)/.test(rooted)
  const url = new URL(origin + (isWhole ? rooted : `/api/v2${rooted}`))
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, queryText(each))
  return url
}

const queryText = (value: unknown): string => (typeof value === 'object' ? toJson(value) : String(value))

async function bodyOf(
  context: StreamsContext,
  input: string | undefined,
  fields: Readonly<Record<string, unknown>>,
): Promise<string> {
  if (input === undefined) return toJson(fields)
  if (Object.keys(fields).length === 0) return readText(context.streams, input, '--input')
  return toJson({ ...(await readInput(context.streams, input)), ...fields })
}

function parsed(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return text
  }
}

function head({ status, headers }: Reply): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return neutral(`${[`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trim(), ...lines].join('\n')}\n\n`)
}
