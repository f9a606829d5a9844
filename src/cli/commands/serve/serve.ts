import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Caller } from '../../../api/calls/caller.js'
import { ApiError, Refusal } from '../../../api/calls/errors.js'
import { aborted, withoutUndefined } from '../../../api/values/objects.js'
import { hintOf } from '../../../engine/request/access.js'
import { creditsOf, refuse } from '../../../http/answer.js'
import { isLoopback } from '../../../http/guard.js'
import type { Listening } from '../../../http/listen.js'
import { writeTo } from '../../../runs/output/writer.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { writePrivate } from '../../context/home.js'
import { interruptible } from '../../context/io.js'
import { notifyUnlessWritable, notSetUp, openWhenWritable } from '../../context/open-databases.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { engineOption, type OptionsOf, optionRows, repeated } from '../../options/values.js'
import { deliveringOptions, refusedSecret, secretOptions, targetsOf } from '../../options/webhooks.js'
import { asksForJson } from '../../output/output.js'
import { namesOf, targetIn } from '../../target/resolve-target.js'
import { type DashboardChoices, exposureOptions, openDashboard, refusesActions } from '../dashboard/open.js'
import { readFaults } from '../engine/faults.js'
import { type Backend, listenOptions, openEngineBackend, startListening } from './http-server.js'

const defaultPort = 4010

/** The server behind this one, which `--upstream` names. */
const ofUpstream = [
  ...(['profile', 'direct', 'insecureHttp', 'networkName', 'premiumName'] as const),
  ...(['apiKeyFile', 'apiKeyStdin', 'timeout'] as const),
]

export const serveCommand: CommandFactory = ({ command }) =>
  command('serve', 'Serve the API over HTTP under /api/v2, with /health and /openapi.json')
    .withTarget(...ofUpstream)
    .withOptions(serveOptions)
    .addOption(refusedSecret())
    .run(async (context, { options: choices }) => {
      const { streams, notify } = context
      const { allowHost = [], ...address } = choices
      let listening: Listening | undefined
      const backend = await openBackend(context, choices, () => listening?.baseUrl ?? '/api/v2')
      if (!backend) return
      const urls = { origin: () => listening?.origin ?? '', apiUrl: () => listening?.baseUrl ?? '' }
      const dashboard = choices.dashboard
        ? await openDashboardOf(backend, { ...urls, isReadOnly: refusesActions(choices) })
        : undefined
      const plain = dashboard
        ? async (request: Request) => dashboard.handle(request) ?? backend.handler(request)
        : backend.handler
      const answer = choices.logRequests || context.globals.verbose ? logRequests(context, plain) : plain
      await interruptible(streams, async (signal) => {
        const hosts = [...allowHost, ...backend.hosts]
        const setup = { handler: answer, allowHosts: hosts, defaultPort }
        const pages = dashboard && { isPage: dashboard.isPage }
        listening = await startListening(context, address, { ...setup, ...pages })
        backend.start()
        try {
          const link = dashboard && listening.origin + dashboard.makeLink()
          await writeTo(streams.stdout, `${firstLines(listening.baseUrl, link, context.globals)}\n`)
          notify(backend.text)
          await aborted(signal)
        } finally {
          dashboard?.close()
          await listening.close()
          await backend.stop()
        }
      })
    })

const serveOptions = optionRows({
  ...listenOptions(defaultPort),
  allowHost: ['<name>', 'another host name that clients use (repeatable)', repeated],
  ...deliveringOptions,
  logRequests: ['', 'log each request on stderr; as NDJSON with --json'],
  noWorker: ['', 'queue jobs, and leave them to prospect worker'],
  upstream: [
    '<url>',
    'proxy this server (an address that ends in /api/v2; several, of one database, with commas) instead of serving the local engine',
  ],
  faults: [
    '<file>',
    'let calls and deliveries fail as this file says, while the server runs (see engine faults)',
  ],
  publicUrl: ['<url>', 'the address where it reaches this machine: its webhooks come here and are forwarded'],
  dashboard: ['', 'also serve the dashboard under /dashboard, and print a one-time link to it'],
  ...exposureOptions,
  ...secretOptions,
})

type ServeOptions = OptionsOf<typeof serveOptions>

function openDashboardOf({ own }: Backend, choices: Omit<DashboardChoices, 'isProxy'>) {
  if (own) return openDashboard(own.context, own.caller, { ...choices, isProxy: own.isProxy })
  throw new Refusal('usage.direct_dashboard')
}

/** Opens what is served: the engine of this machine, or another server. `undefined` when a signal ends a wait. */
async function openBackend(outer: Context, options: ServeOptions, baseUrl: () => string) {
  const { allowTarget, database = outer.home.engine, host = '127.0.0.1', worker = true, upstream } = options
  const { publicUrl, secretFile, deliveryShape } = options
  const targets = targetsOf('server', allowTarget, isLoopback(host))
  if (upstream !== undefined) {
    if (options.faults !== undefined) throw new Refusal('usage.faults_upstream')
    const { openProxy } = await import('./proxy.js')
    const context = outer.withDatabase(database, { targets })
    const secrets = withoutUndefined({ secretFile })
    const proxied = { upstream, publicUrl, secrets, targets, baseUrl }
    return openWhenWritable(context, () => openProxy(context, proxied))
  }
  if (outer.globals.direct) throw new Refusal('usage.direct_upstream')
  if (publicUrl !== undefined || secretFile !== undefined) throw new Refusal('usage.upstream_options')
  // The words of a server in the profile are that server's.
  const names = namesOf(outer.globals, {})
  const faults = options.faults === undefined ? undefined : await readFaults(outer.streams, options.faults)
  const context = outer.withDatabase(database, { targets, names, deliveryShape })
  return openWhenWritable(context, () =>
    openEngineBackend(context, { words: names, worker, baseUrl }, faults),
  )
}

function firstLines(baseUrl: string, link: string | undefined, globals: GlobalOptions): string {
  if (!asksForJson(globals)) return link === undefined ? baseUrl : `${baseUrl}\n${link}`
  return JSON.stringify({ base_url: baseUrl, pid: process.pid, dashboard_url: link })
}

type Handler = (request: Request) => Promise<Response>

/** Returns a handler that writes one line to stderr for each request: NDJSON with `--json`. */
function logRequests({ streams, clock, ids, redact, globals }: Context, handler: Handler): Handler {
  const isJson = asksForJson(globals)
  return async (request) => {
    const from = performance.now()
    const response = await handler(request)
    const entry = {
      time: new Date(clock.now()).toISOString(),
      method: request.method,
      path: pathOf(request.url),
      status: response.status,
      ms: Math.round(performance.now() - from),
      credits: creditsOf(response),
      key: keyOf(request.headers.get('x-api-key')),
      request_id: request.headers.get('x-request-id')?.slice(0, maxIdLength) ?? ids.uuid(),
    }
    // A log that cannot be written must not end the server.
    streams.stderr.write(`${redact(isJson ? JSON.stringify(entry) : toLine(entry))}\n`, () => {})
    return response
  }
}

const maxIdLength = 64
const maxPathLength = 500

/** Returns the path with the names of its query. The values could be personal data or secrets. */
function pathOf(url: string): string {
  const { pathname, searchParams } = new URL(url)
  const names = [...new Set(searchParams.keys())]
  return `${pathname}${names.length > 0 ? `?${names.join('&')}` : ''}`.slice(0, maxPathLength)
}

/** Returns the beginning of a key of the engine, as its list of keys shows it; of others nothing. */
const keyOf = (key: string | null): string | null =>
  key === null ? null : key.startsWith('pk_') ? hintOf(key) : '(other)'

function toLine(entry: Readonly<Record<string, string | number | null>>): string {
  const { time, method, path, status, ms, credits, key, request_id } = entry
  const charged = `${credits} ${credits === 1 ? 'credit' : 'credits'}`
  return [time, method, path, status, `${ms} ms`, charged, key ?? '-', request_id]
    .map((part) => String(part).replace(/[\r\n\t]/g, ' '))
    .join(' ')
}

export const workerCommand: CommandFactory = ({ command }) =>
  command('worker', 'Run queued jobs and send webhooks')
    .withTarget('networkName', 'premiumName')
    .withOptions(workerOptions)
    .run(runWorker)

const workerOptions = optionRows({
  ...deliveringOptions,
})

async function runWorker(outer: Context, { options }: Invocation<OptionsOf<typeof workerOptions>>) {
  const { allowTarget, database, deliveryShape } = options
  // In a database that machines share, a loopback address may be meant for another machine.
  const isShared = isPostgres(database ?? outer.home.engine)
  const names = namesOf(outer.globals, {})
  const targets = targetsOf('worker', allowTarget, !isShared)
  const context = outer.withDatabase(database ?? outer.home.engine, { targets, names, deliveryShape })
  if (database !== undefined && !isShared && !existsSync(context.home.engine))
    throw new Refusal('usage.worker_database', { engine: context.home.engine })
  // That of several machines may be set up by another one, which starts later.
  if (!isShared && !(await context.isSetUp())) throw notSetUp(context.home)
  const work = await openWhenWritable(context, () => openEngineWork(context))
  if (!work) return
  await notifyUnlessWritable(context)
  await interruptible(context.streams, async (signal) => {
    context.notify('Working. Ctrl-C ends it.')
    await work(signal)
  })
}

type Work = Promise<(signal: AbortSignal) => Promise<void>>

async function openEngineWork({ worker: openWorker }: Context): Work {
  const worker = await openWorker()
  return async (signal) => {
    worker.start()
    await aborted(signal)
    await worker.stop()
  }
}

const dashboardPort = 4011

/** Whose credits and limits the dashboard shows. */
const ofDashboard = [
  ...(['profile', 'local', 'baseUrl', 'insecureHttp'] as const),
  ...(['apiKeyFile', 'apiKeyStdin', 'timeout'] as const),
]

export const dashboardCommand: CommandFactory = ({ command }) =>
  command('dashboard', 'See credits, runs, jobs, deliveries and events in the browser')
    .withTarget(...ofDashboard)
    .withOptions(dashboardOptions)
    .reads('records')
    .run(async (outer, { options }) => {
      const { allowHost = [], database = outer.home.engine, open, ...choices } = options
      const context = outer.withDatabase(database)
      let listening: Listening | undefined
      // Opened with the first call: an engine that has no workspace yet is not created to look at it.
      const caller: Caller = {
        call: async (...given) => (await context.caller()).call(...given),
        close: async () => {},
      }
      const target = targetIn(context)
      const setup = {
        isReadOnly: refusesActions(choices),
        origin: () => listening?.origin ?? '',
        // Where prospect serve listens unless told otherwise.
        apiUrl: () => (target.kind === 'remote' ? target.baseUrl : `http://127.0.0.1:${defaultPort}/api/v2`),
      }
      const dashboard = await openDashboard(context, caller, setup)
      const answer = async (request: Request) =>
        dashboard.handle(request) ?? refuse(new ApiError('not_found'))
      await interruptible(context.streams, async (signal) => {
        const { isPage } = dashboard
        const setup = { handler: answer, allowHosts: allowHost, isPage, defaultPort: dashboardPort }
        listening = await startListening(context, choices, setup)
        try {
          const url = listening.origin + dashboard.makeLink()
          const line = asksForJson(outer.globals) ? JSON.stringify({ url, pid: process.pid }) : url
          await writeTo(context.streams.stdout, `${line}\n`)
          context.notify('Serving the dashboard. Ctrl-C ends it.')
          if (open && context.streams.stdout.isTTY) await openBrowser(context, url)
          await aborted(signal)
        } finally {
          dashboard.close()
          await listening.close()
        }
      })
    })

const dashboardOptions = optionRows({
  ...listenOptions(dashboardPort),
  allowHost: ['<name>', 'another host name that browsers use (repeatable)', repeated],
  ...engineOption,
  ...exposureOptions,
  noOpen: ['', 'print the link only, and open no browser'],
})

/** Others can read the arguments of the browser's process, so that these name a private file which leads to the link. */
async function openBrowser(context: Context, url: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  context.prepareHome()
  const file = join(context.home.folder, 'dashboard.html')
  const page = `<!doctype html><meta http-equiv="refresh" content="0; url=${url}"><a href="${url}">prospect dashboard</a>\n`
  writePrivate(file, page, context.ids.uuid())
  context.onClose(() => rm(file, { force: true }))
  const [program, ...args] = browserCommand(process.platform)
  const child = spawn(program, [...args, file], { detached: true, stdio: 'ignore' })
  // Without a browser the printed link is enough.
  child.on('error', () => {})
  child.unref()
}

function browserCommand(platform: NodeJS.Platform): [program: string, ...args: string[]] {
  if (platform === 'darwin') return ['open']
  return platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
}
