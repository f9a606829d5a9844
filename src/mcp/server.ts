import { createHash, timingSafeEqual } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import {
  createMcpHandler,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Report } from '../api/calls/errors.js'
import { flagOf } from '../api/operations/table.js'
import type { WorkStep } from '../api/ports/ports.js'
import { parseExact, parseJson, toJson } from '../api/values/json.js'
import { type Fields, isObject, resultOr, withoutUndefined } from '../api/values/objects.js'
import { listRuns, showRun } from './file-tools.js'
import { CommandFailure, type Session } from './session.js'
import type { Tool } from './tools.js'

export interface McpOptions {
  readonly version: string
  readonly session: Session
  readonly tools: readonly Tool[]
  readonly documents: string
  report(error: unknown): void
}

const instructions =
  'Looks up companies and people, one at a time or for every row of a file, and writes the results to files. ' +
  'Paid tools spend credits only within the budget that the server was started with. ' +
  'Before a file is looked up, ask quote_file and say what it would cost. run_file answers with a run: follow it with run_status. ' +
  'To look up what a search finds, give the search an output, which is a file for quote_file and run_file. ' +
  'A lookup that finds nothing costs nothing. Names of functions, seniorities, industries, lists and countries stand for ids. ' +
  'Answers are JSON: a record, items of a list, or, of work that takes longer, status (finished, working), id, records, total, next. ' +
  '_credits is what a paid call cost, whatever the record says of credits; found is false, with reason, where it found nothing. ' +
  'A run has id, file, output, status (running, stopped, finished; failed where no row could be looked up), rows, done, credits ' +
  '(all that it has cost), at its end credits_now (what the last call for it cost), ' +
  'and counts, with without_result: which rows have no result, and why; or problem with error and hint. ' +
  'A refusal has error, code and hint. ' +
  'The fields of records are in the document prospect://documents/output-columns.md.'

/** A server that reads arguments which agents write as one text of JSON, or leave out as `null`. */
class ToolServer extends Server {
  protected override _wrapHandler(method: string, handler: Parameters<Server['_wrapHandler']>[1]) {
    const handle = super._wrapHandler(method, handler)
    if (method !== 'tools/call') return handle
    return (request: JSONRPCRequest, context: ServerContext) => handle(withArguments(request), context)
  }
}

/** Returns a call with its arguments as an object; what cannot be read stays, to be refused. */
function withArguments(request: JSONRPCRequest): JSONRPCRequest {
  const given = request.params?.arguments
  const read = typeof given === 'string' ? argumentsIn(given) : given === null ? {} : undefined
  return read === undefined ? request : { ...request, params: { ...request.params, arguments: read } }
}

const argumentsIn = (text: string): Fields | undefined => {
  const json = text.trim() === '' ? {} : resultOr(undefined, () => parseExact(text))
  return isObject(json) ? json : undefined
}

/** Creates what makes a server for each connection. All of them share the tools, the runs and the budget. */
const serverFactory = (options: McpOptions) => (): Server => {
  const { version, session, tools } = options
  const server = new ToolServer(
    { name: 'prospect', title: 'prospect', version },
    { capabilities: { tools: {}, resources: {} }, instructions },
  )
  server.setRequestHandler('tools/list', () => ({
    tools: tools.map(({ name, description, inputSchema, annotations }) => ({
      name,
      description,
      annotations: { ...annotations },
      inputSchema: { ...inputSchema(), type: 'object' as const },
    })),
  }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.find(({ name }) => name === params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}`)
    const notes: string[] = []
    const words = wordsOf(tool, tools)
    try {
      const note = (text: string) => void notes.push(text)
      const call = { signal: context.mcpReq.signal, onStep: progressOf(context), note }
      const answer = await tool.run(session, params.arguments ?? {}, call)
      const result = words.answer(answer)
      // The text has the exact digits of integers beyond 2^53, which the other form cannot have.
      const json = toJson(result)
      return {
        content: [json, ...distinct(notes.map(words.noteOf))].map(toText),
        structuredContent: parseJson(json) as Fields,
      }
    } catch (error) {
      return {
        content: [toText(JSON.stringify(words.problem(problemOf(options, error))))],
        isError: true,
      }
    }
  })
  server.setRequestHandler('resources/list', async () => ({
    resources: [
      ...records.map(([name, description]) => ({
        uri: `prospect://${name}`,
        name,
        description,
        mimeType: jsonType,
      })),
      ...(await documentNames(options.documents)).map((name) => ({
        uri: `prospect://documents/${name}`,
        name,
        mimeType: 'text/markdown',
      })),
    ],
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { uriTemplate: 'prospect://runs/{id}', name: 'run', description: 'One run', mimeType: jsonType },
    ],
  }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const contents = await readResource(options, uri)
    return { contents: [{ uri, ...contents }] }
  })
  return server
}

/**
 * Returns a sentence in the words of the tools: options of a command become fields of the one that was called, and commands the
 * tools that do the same. Undefined where a sentence is about options that it does not have, or refers to a list that none
 * shows. Any other command is for a person, and the sentence says so.
 */
function inToolWords(sentence: string, fields: ReadonlyMap<string, string>, tools: readonly Tool[]) {
  if (/^A person /.test(sentence)) return sentence
  // A run goes on where it is asked for again.
  if (sentence.includes('prospect runs resume'))
    return /--max-credits(?!-)/.test(sentence)
      ? 'Call run_file again, without fresh, with a higher max_credits to go on.'
      : 'Call run_file again, without fresh, to go on.'
  const own = sentence.replace(command, (words) => {
    const found = tools.find(({ commands }) =>
      commands?.some((one) => `${words} `.startsWith(`prospect ${one} `)),
    )
    const known = found?.commands?.find((one) => words.startsWith(`prospect ${one}`)) ?? ''
    return found ? found.name + words.slice(`prospect ${known}`.length) : words
  })
  const named = own.replace(option, (_, flag: string) => fields.get(flag) ?? flag.replaceAll('-', '_'))
  const flags = [...own.matchAll(option)].map(([, flag = '']) => flag)
  if (own === sentence && own.includes('prospect ')) {
    if (/^see:? /i.test(own)) return undefined
    return atShell + own
  }
  return flags.every((flag) => fields.has(flag)) ? named : undefined
}

/** Returns what is said to the caller of a tool in its words. */
function wordsOf({ inputSchema }: Tool, tools: readonly Tool[]) {
  const { properties = {} } = inputSchema()
  const own = new Map(Object.keys(properties as Fields).map((name) => [flagOf(name), name]))
  const fields = new Map([
    ...own,
    ...[['csv', 'file'] as const].filter(([, name]) => [...own.values()].includes(name)),
  ])
  const isOfPairs = (name: string) =>
    (properties as Readonly<Record<string, Fields>>)[name]?.type === 'object'
  /** Writes an option with its value, such as `--map domain="Website"`, as the field of the tool. */
  const withFields = (text: string) =>
    text.replace(pair, (whole, flag: string, key: string, quoted?: string, plain = '') => {
      const name = fields.get(flag)
      if (name === undefined) return whole
      const value = quoted ?? plain
      return `${name}: ${JSON.stringify(isOfPairs(name) ? { [key]: value } : `${key}=${value}`).replace('":', '": ')}`
    })
  const sentencesOf = (text: string) => withFields(spelled(text)).split(/(?<=[.?!]) /)
  const translated = (text: string) =>
    sentencesOf(text).flatMap((sentence) => inToolWords(sentence, fields, tools) ?? [])
  /** Returns a text without what only a person at a shell can do. */
  const noteOf = (text: string) =>
    translated(text)
      .filter((sentence) => !sentence.startsWith(atShell))
      .join(' ')
  const named = (text: string) =>
    text.replace(option, (_, flag: string) => fields.get(flag) ?? flag.replaceAll('-', '_'))
  const isAbsent = (sentence: string) =>
    [...sentence.matchAll(option)].some(([, flag = '']) => !fields.has(flag))
  // What is wrong comes first; after it, options that it does not have are no help.
  const errorOf = (text: string) =>
    sentencesOf(text)
      .flatMap((sentence, at) => (at > 0 && isAbsent(sentence) ? [] : [named(sentence)]))
      .join(' ')
  const problemIn = (report: Report): Report => ({
    ...report,
    error: errorOf(report.error),
    hint: translated(report.hint).join(' '),
  })
  /** Returns an answer of the tool; what its texts say stands in its words. */
  const answer = (given: Fields): Fields => {
    const { problem, hint, mapping } = given as Partial<Texts>
    return {
      ...given,
      ...(problem && { problem: problemIn(problem) }),
      ...(given.found === false && hint !== undefined && { hint: noteOf(hint) }),
      ...(mapping?.notes && { mapping: { ...mapping, notes: distinct(mapping.notes.map(noteOf)) } }),
    }
  }
  return { noteOf, problem: problemIn, answer }
}

/** What answers say in sentences. */
interface Texts {
  readonly problem: Report
  readonly hint: string
  readonly mapping: { readonly notes?: readonly string[] }
}

/** Returns texts without those that are empty, or that another one says and more. */
const distinct = (texts: readonly string[]): readonly string[] =>
  [...new Set(texts)].filter(
    (text, _, all) => text !== '' && !all.some((other) => other !== text && other.startsWith(text)),
  )

const command = /prospect [a-z-]+(?: [a-z-]+)*/g
/** Begins what is said to a caller that only a person can do. */
const atShell = 'For a person at a shell: '

const pair = /(?<![\w-])--([a-z][a-z-]*) ([\w.]+)=(?:"(.*?)"(?=[\s.,;)]|$)|([\w-]*))/g
const option = /(?<![\w-])--([a-z][a-z-]*)/g
const spelled = (text: string) => text.replace(/(?<![\w-])-o(?![\w-])/g, '--output')

const toText = (text: string) => ({ type: 'text' as const, text })

function problemOf({ session, report }: McpOptions, error: unknown): Report {
  const problem = error instanceof CommandFailure ? error.problem : session.port.explain(error)
  if (problem) return problem
  report(error)
  const text = error instanceof Error ? error.message : String(error)
  return { error: `This is a bug in prospect: ${text}`, code: 'bug', status: null, exit_code: 1, hint: '' }
}

/** The shortest time between two reports of progress, in milliseconds. */
const progressEveryMs = 100

/** Returns what reports the progress of a call to a client that wants it. */
function progressOf({ mcpReq: { _meta, notify, signal } }: ServerContext): (step: WorkStep) => void {
  const token = _meta?.progressToken
  let [last, at] = [0, 0]
  if (token === undefined) return () => {}
  return ({ rows, found, credits, total }) => {
    // It has to grow with each report.
    const isDue = rows === total || Date.now() - at >= progressEveryMs
    if (rows <= last || !isDue || signal.aborted) return
    ;[last, at] = [rows, Date.now()]
    const message = `${rows}${total === undefined ? '' : ` of ${total}`} rows, ${found} found, ${credits} credits`
    const params = withoutUndefined({ progressToken: token, progress: rows, message, total })
    notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}

const jsonType = 'application/json'

/** Resources of records: their names, what they are, and what reads them. */
const records = [
  ['credits', 'Credit balance and remaining quotas', (session: Session) => session.ask('credits.show')],
  ['runs', 'The runs of this machine, newest first', listRuns],
] as const

const documentNames = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => /^[a-z-]+\.md$/.test(name)).sort()

async function readResource({ session, documents }: McpOptions, uri: string) {
  const run = /^prospect:\/\/runs\/([0-9a-f][0-9a-f-]*)$/.exec(uri)?.[1]
  const [, , listing] = records.find(([name]) => uri === `prospect://${name}`) ?? []
  const reading = run === undefined ? listing?.(session) : showRun(session, run)
  if (reading) {
    const body = await reading.catch((error: unknown) => {
      throw run !== undefined && error instanceof CommandFailure && error.problem.code === 'not_found'
        ? new ResourceNotFoundError(uri)
        : error
    })
    return { mimeType: jsonType, text: toJson(body) }
  }
  const name = /^prospect:\/\/documents\/([a-z-]+\.md)$/.exec(uri)?.[1]
  if (name === undefined || !(await documentNames(documents)).includes(name))
    throw new ResourceNotFoundError(uri)
  return { mimeType: 'text/markdown', text: await readFile(join(documents, name), 'utf8') }
}

/** Serves one client over stdin and stdout. `closed` resolves when the client has left. */
export function serveStreams(options: McpOptions, stdin: Readable, stdout: Writable) {
  const handle = serveStdio(serverFactory(options), { transport: new StdioServerTransport(stdin, stdout) })
  const closed = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) stdin.once(event, () => resolve())
    stdout.once('error', () => resolve())
  })
  return { closed, close: () => handle.close() }
}

export function createHttpHandler(options: McpOptions, token: string) {
  const { fetch, close } = createMcpHandler(serverFactory(options))
  return {
    handle: async (request: Request): Promise<Response> => {
      if (new URL(request.url).pathname !== '/mcp') return refuse(404, 'There is nothing at this path.')
      const [, given = ''] = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
      if (!timingSafeEqual(digest(given), digest(token)))
        return refuse(401, 'The token is missing or wrong.', { 'www-authenticate': 'Bearer' })
      return fetch(request)
    },
    close,
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const refuse = (status: number, error: string, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ error }, { status, headers })
