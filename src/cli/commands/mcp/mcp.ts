import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { Refusal } from '../../../api/calls/errors.js'
import { withNamedIds } from '../../../api/schemas/enumerations.js'
import { aborted, pickFields } from '../../../api/values/objects.js'
import type { McpOptions } from '../../../mcp/server.js'
import type { CommandPort, Work } from '../../../mcp/session.js'
import { checkProviders } from '../../batch/options.js'
import { resolveFilterNames } from '../../call/filter-names.js'
import { type Context, type GlobalOptions, type Streams, version } from '../../context/context.js'
import { documentsFolder } from '../../context/documents.js'
import { isInside } from '../../context/home.js'
import { workInProcess } from '../../context/in-process.js'
import { interruptible } from '../../context/io.js'
import { reportOf } from '../../messages.js'
import type {
  CommandEnvironment,
  CommandFactory,
  Invocation,
  StartedCommand,
} from '../../options/command-environment.js'
import { targetNames } from '../../options/global-options.js'
import { withCountryCodes } from '../../options/schema-options.js'
import { costs, listOf, type OptionsOf, optionRows, port, whole } from '../../options/values.js'
import { notifyBug } from '../../output/print.js'
import { startListening } from '../serve/http-server.js'

const defaultPort = 4012

const mcpOptions = optionRows({
  maxCredits: ['<n>', 'the most credits that this server may spend (default: 0, so nothing is)', whole],
  maxCost: [
    '<name=n>',
    'the most to spend at a provider of yours (default: none is asked; repeatable)',
    costs,
  ],
  root: ['<folder>', 'the only folder that files are read from and written to (default: the current one)'],
  areas: [
    '<names>',
    'also the tools of these areas: accounts,contacts,files, or all (default: the usual tools)',
  ],
  tools: ['<names>', 'also these tools: leads_enrich,resume_run'],
  allowCommands: ['', 'let flows start programs, and send rows to addresses and CRMs'],
  http: ['', 'serve over HTTP on this machine, to clients with a token'],
  port: ['<n>', `with --http: the port, 0 for a free one (default: ${defaultPort})`, port],
})

type Options = OptionsOf<typeof mcpOptions>

export const mcpCommand: CommandFactory = (environment) =>
  environment
    .command('mcp', 'Give an agent these lookups as tools, within a budget')
    .withOptions(mcpOptions)
    .run((context, invocation) => serve(environment, context, invocation))

async function serve(environment: CommandEnvironment, context: Context, { options }: Invocation<Options>) {
  if (context.globals.apiKeyStdin) throw new Refusal('usage.mcp_stdin')
  if (options.port !== undefined && !options.http) throw new Refusal('usage.port_of_http')
  await checkProviders(context, options.maxCost)
  const { root: given = '.' } = options
  const path = resolve(context.streams.cwd, given)
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new Refusal('usage.no_root', { given })
  const root = realpathSync.native(path)
  const { Session } = await import('../../../mcp/session.js')
  const mcp = await import('../../../mcp/server.js')
  const commands = createPort(environment, context, root, options.maxCost)
  const session = new Session(commands, options.maxCredits ?? 0)
  const served: McpOptions = {
    version: await version(),
    session,
    tools: await chooseTools(context, options),
    documents: documentsFolder(),
    report: (error) => notifyBug(context, error),
  }
  const { takeStops } = await import('../../../runs/records.js')
  takeStops(context, (id) => session.runs.get(id)?.stop())
  await interruptible(context.streams, async (signal) => {
    try {
      if (options.http) return await serveHttp(context, options, mcp, served, signal)
      const { stdin, stdout } = context.streams
      if (stdin.isTTY)
        context.notify(
          'Waiting for a client, which starts this command itself: see docs/agents.md. Ctrl-C ends it.',
        )
      const { closed, close } = mcp.serveStreams(served, stdin as Readable, stdout as Writable)
      await Promise.race([closed, aborted(signal)])
      await close()
    } finally {
      await session.close()
    }
  })
}

async function serveHttp(
  context: Context,
  { port }: Options,
  { createHttpHandler }: typeof import('../../../mcp/server.js'),
  served: McpOptions,
  signal: AbortSignal,
): Promise<void> {
  const given = context.streams.env.PROSPECT_MCP_TOKEN?.trim()
  if (given !== undefined && given.length < 16) throw new Refusal('usage.mcp_token')
  const token = given ?? Buffer.from(context.ids.bytes(32)).toString('base64url')
  const { handle, close } = createHttpHandler(served, token)
  const place = port === undefined ? {} : { port }
  const listening = await startListening(context, place, { handler: handle, defaultPort })
  try {
    context.notify(`Serving agents at ${listening.origin}/mcp. Ctrl-C ends it.`)
    // A log must not have it, and a line of a narrow terminal must not break it.
    if (given === undefined) context.streams.stderr.write(`Authorization: Bearer ${token}\n`)
    else context.notify('The token is that of PROSPECT_MCP_TOKEN.')
    await aborted(signal)
  } finally {
    await close()
    await listening.close()
  }
}

/** Returns the usual tools, then those that are added. Throws a Refusal for a name that no tool or no area has. */
async function chooseTools(context: Context, { tools, areas, allowCommands }: Options) {
  const { operationTools, usualTools } = await import('../../../mcp/tools.js')
  const { fileTools } = await import('../../../mcp/file-tools.js')
  const own = await operationTools((row) => context.priced(row))
  const all = [...own, ...fileTools(allowCommands === true)]
  const wanted = (flag: string, names: string | undefined, known: readonly string[]): readonly string[] => {
    try {
      return names === undefined ? [] : listOf([...new Set(known)])(names, [])
    } catch (error) {
      throw new Refusal('usage.not_taken', { flag, names, reason: (error as Error).message })
    }
  }
  const named = wanted(
    '--tools',
    tools,
    all.map(({ name }) => name),
  )
  const kept = wanted('--areas', areas, ['all', ...all.map(({ area }) => area)])
  const isAdded = ({ name, area }: (typeof all)[number]) =>
    !usualTools.includes(name) && (named.includes(name) || kept.includes(area) || kept.includes('all'))
  // A client that takes only so many takes the first ones.
  return [...usualTools.flatMap((name) => all.filter((tool) => tool.name === name)), ...all.filter(isAdded)]
}

/** The options of this command that its tools' commands get as well. */
const passedOn = [...targetNames, 'apiKeyFile', 'timeout', 'maxWait'] as readonly (keyof GlobalOptions)[]

/** Returns what does the work behind the tools: in this process, with streams of its own. */
function createPort(
  { start }: CommandEnvironment,
  context: Context,
  root: string,
  most: Options['maxCost'],
): CommandPort {
  const { streams, globals, sleep, ids } = context
  const vendors = { run: ids.uuid(), most, others: 0 }
  const own: GlobalOptions = { ...pickFields(globals, passedOn), input: false }
  const workOf = (begin: (own: Streams, given: StartedCommand) => Promise<number>): Work =>
    workInProcess(streams, '', (inner, taking) => begin(inner, { ...taking, root, vendors }))
  return {
    sleep,
    explain: reportOf,
    resolveNames: async ({ operation, shape, input }) => {
      // The API says which values a field takes.
      const coded = await withCountryCodes(shape.input, withNamedIds(input), (_, text) => text)
      return operation.filters ? resolveFilterNames(context, coded, (field) => field) : coded
    },
    fileIn: (name, path, use) => {
      const file = resolve(root, path)
      const names = use === 'write' ? [file, `${file}.partial`] : [file]
      if (names.every((one) => isInside(root, one))) return file
      throw new Refusal('usage.mcp_outside', { name, path, root })
    },
    run: (asked, more = {}) =>
      workOf((inner, given) =>
        start.command(asked, { ...own, ...asked.globals }, inner, { ...given, ...more }),
      ),
    call: (request, more = {}) =>
      workOf((inner, given) =>
        start.operation(request, { ...own, ...request.globals }, inner, { ...given, ...more }),
      ),
  }
}
