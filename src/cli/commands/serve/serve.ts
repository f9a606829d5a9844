import type { DeliveryShape } from '../../../api/webhooks/events.js'
import { isLoopback } from '../../../http/hosts.js'
import type { Listening } from '../../../http/listen.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { aborted, interruptible } from '../../context/interrupts.js'
import { write } from '../../context/io.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { repeated } from '../../options/values.js'
import { deliveringOptions, secretOptions, targetsOf } from '../../options/webhooks.js'
import { namesOf } from '../../target/resolve-target.js'
import {
  type DashboardChoices,
  type ExposureOptions,
  exposureOptions,
  openDashboard,
  readExposure,
} from '../dashboard/open.js'
import {
  type AddressOptions,
  type Backend,
  listenOptions,
  openLocalBackend,
  startListening,
} from './http-server.js'
import { logRequests } from './log-requests.js'

const defaultPort = 4010

/** `prospect serve`: the API over HTTP and what it accepts, until a signal ends it. */
export const serveCommand: CommandFactory = ({ command }) =>
  command('serve', 'Serve the API over HTTP under /api/v2, with /health and /openapi.json')
    .addOptions(listenOptions(defaultPort))
    .option('--allow-host <name>', 'another name clients may call it by; repeat it for more', repeated)
    .addOptions(deliveringOptions())
    .option('--observed-limits', 'count limits that were observed: 50 synchronous waterfalls a second')
    .option('--log-requests', 'log each request on stderr; as NDJSON with --json')
    .option('--no-worker', 'accept work, and leave it to prospect worker')
    .option('--upstream <url>', 'serve this server, which ends in /api/v2, in place of the local engine')
    .option(
      '--public-url <url>',
      'where it reaches this machine: its deliveries come here, and go on from here',
    )
    .option('--dashboard', 'also serve the dashboard under /dashboard; its link works once')
    .addOptions(exposureOptions())
    .addOptions(secretOptions())
    .run(serve)

/** The options of `serve`. */
interface ServeCommandOptions extends AddressOptions, ExposureOptions {
  readonly dashboard?: boolean
  readonly allowHost?: readonly string[]
  readonly allowTarget?: readonly string[]
  readonly database?: string
  readonly observedLimits?: boolean
  readonly deliveryShape?: DeliveryShape
  readonly worker: boolean
  readonly upstream?: string
  readonly logRequests?: boolean
  readonly publicUrl?: string
  readonly secretFile?: string
  readonly secretStdin?: boolean
}

async function serve(context: Context, { options }: Invocation): Promise<number> {
  const { streams, notify } = context
  const choices = options as unknown as ServeCommandOptions
  const { allowHost = [], ...address } = choices
  let listening: Listening | undefined
  const isReadOnly = choices.dashboard ? readExposure(choices) : true
  const backend = await openBackend(context, choices, () => listening?.baseUrl ?? '/api/v2')
  const dashboard = choices.dashboard
    ? await openDashboardOf(backend, {
        isReadOnly,
        origin: () => listening?.origin ?? '',
        apiUrl: () => listening?.baseUrl ?? '',
      })
    : undefined
  const plain = async (request: Request) => dashboard?.handle(request) ?? backend.handler(request)
  const answer =
    choices.logRequests || context.globals.verbose ? logRequests(context, plain, context.globals) : plain
  await interruptible(streams, async (signal) => {
    const hosts = [...allowHost, ...backend.hosts]
    listening = await startListening(answer, address, defaultPort, hosts, dashboard?.isPage)
    backend.start()
    try {
      const link = dashboard && listening.origin + dashboard.makeLink()
      await write(streams.stdout, `${firstLines(listening.baseUrl, link, context.globals)}\n`)
      notify(backend.text)
      await aborted(signal)
    } finally {
      dashboard?.close()
      await listening.close()
      await backend.stop()
    }
  })
  return 0
}

function openDashboardOf({ own }: Backend, choices: DashboardChoices) {
  if (own) return openDashboard(own.context, { ...choices, caller: own.caller })
  throw new UsageError('With --direct, credits and keys are those of the server.', 'Leave out --dashboard.')
}

/** Opens what is served: the engine of this machine, or another server. */
async function openBackend(
  outer: Context,
  options: ServeCommandOptions,
  baseUrl: () => string,
): Promise<Backend> {
  const { allowTarget, database = outer.home.engine, host = '127.0.0.1', worker, upstream } = options
  const { publicUrl, secretFile, secretStdin, observedLimits, deliveryShape } = options
  const targets = targetsOf(allowTarget, isLoopback(host))
  if (upstream !== undefined) {
    const { openProxy } = await import('./proxy.js')
    const context = outer.withDatabase(database, { targets })
    const secrets = { ...(secretFile ? { secretFile } : {}), ...(secretStdin ? { secretStdin } : {}) }
    return openProxy(context, { upstream, publicUrl, secrets, targets, worker, baseUrl })
  }
  if (outer.globals.direct)
    throw new UsageError('--direct needs a server behind this one.', 'Add --upstream URL.')
  if (publicUrl !== undefined || secretFile !== undefined || secretStdin)
    throw new UsageError(
      '--public-url, --secret-file and --secret-stdin need a server behind this one.',
      'Add --upstream URL.',
    )
  // The words of a server in the profile are that server's.
  const names = namesOf(outer.globals, {})
  return openLocalBackend(outer.withDatabase(database, { targets, names, observedLimits, deliveryShape }), {
    names,
    worker,
    baseUrl,
  })
}

function firstLines(baseUrl: string, link: string | undefined, { json, format }: GlobalOptions): string {
  if (!json && format !== 'json') return link === undefined ? baseUrl : `${baseUrl}\n${link}`
  return JSON.stringify({ base_url: baseUrl, pid: process.pid, dashboard_url: link })
}
