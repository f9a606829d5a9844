import type { Caller } from '../../../api/calls/caller.js'
import { isRefusal } from '../../../api/calls/errors.js'
import { renameText, type WireNames } from '../../../api/calls/wire-names.js'
import { coversAddress } from '../../../client/ssrf-guard.js'
import type { WantedFault } from '../../../engine/admin/faults.js'
import type { HandlerOptions } from '../../../http/handler.js'
import type { Listening, ListenOptions } from '../../../http/listen.js'
import { type Context, type StreamsContext, version } from '../../context/context.js'
import { checkServer, openAdmin } from '../../context/open-databases.js'
import { type OptionsOf, optionRows, port } from '../../options/values.js'
import { networks } from '../../options/webhooks.js'
import { notifyBug } from '../../output/print.js'

export async function createDocument(serverUrl?: string): Promise<object> {
  const { openapi } = await import('../../../reference/openapi.js')
  return openapi({ version: await version(), ...(serverUrl === undefined ? {} : { serverUrl }) })
}

interface AppOptions extends Pick<HandlerOptions, 'upstream' | 'ready'> {
  /** Other words for `network` and `premium` in requests, replies and the OpenAPI document. */
  readonly words?: WireNames | undefined
  readonly baseUrl?: () => string
}

/** Creates what answers HTTP requests: a caller behind the routes of the API. */
export async function createApp(
  context: StreamsContext,
  caller: Caller,
  { baseUrl, words, upstream, ready }: AppOptions = {},
): Promise<(request: Request) => Promise<Response>> {
  const { handler } = await import('../../../http/handler.js')
  return handler({
    caller,
    upstream,
    ready,
    names: words,
    version: await version(),
    document: async () => {
      const document = await createDocument(baseUrl?.())
      return words ? (JSON.parse(renameText(JSON.stringify(document), words)) as object) : document
    },
    report: (error) => notifyBug(context, error),
  })
}

export interface Backend {
  readonly handler: (request: Request) => Promise<Response>
  /** What a dashboard of it is about; absent where the keys of others are passed on. */
  readonly own?: {
    readonly context: Context
    readonly caller: Caller
    readonly isProxy: boolean
  }
  /** Host names that requests may use, besides the server's own. */
  readonly hosts: readonly string[]
  readonly text: string
  start(): void
  stop(): Promise<void>
}

export async function openEngineBackend(
  context: Context,
  options: Pick<AppOptions, 'words' | 'baseUrl'> & { readonly worker: boolean },
  faults: readonly WantedFault[] | undefined,
): Promise<Backend> {
  const { worker: isWorking, ...app } = options
  // A server that the profile names is not what is served.
  const local = context.withGlobals({ local: true })
  const admin = await openAdmin(local)
  const caller = await local.caller()
  const worker = isWorking ? await context.worker() : undefined
  await checkServer(context)
  const source = await local.source()
  const set = faults ? await admin.applyFaults(faults) : await admin.faults()
  return {
    handler: await createApp(context, caller, {
      ...app,
      ready: () => Promise.all([admin.clock(), admin.requireWritable()]),
    }),
    own: { context: local, caller, isProxy: false },
    hosts: [],
    text: `Serving the local engine${source ? `: ${source.text}` : ''}${faultNote(set.length)}. Ctrl-C ends it.`,
    start: () => worker?.start(),
    stop: async () => {
      await worker?.stop()
      if (faults) await admin.clearFaults()
    },
  }
}

const faultNote = (count: number): string =>
  count === 0
    ? ''
    : `. ${count === 1 ? 'A fault is' : `${count} faults are`} set (prospect engine faults list)`

export const listenOptions = (defaultPort: number) =>
  optionRows({
    host: ['<address>', 'address to listen on (default: 127.0.0.1)'],
    port: ['<n>', `port to listen on, 0 for a free one (default: ${defaultPort})`, port],
    public: ['', 'allow a --host that other machines can reach'],
    trustedProxy: [
      '<network>',
      'do not limit the idle connections of this proxy or network, such as 10.1.0.0/16 (repeatable)',
      networks,
    ],
  })

interface ServerSetup extends Pick<ListenOptions, 'handler' | 'allowHosts' | 'isPage'> {
  readonly defaultPort: number
}

const maxPortsTried = 50

/** Tries the next ports where the default is in use; keeps one that was typed, or that clients elsewhere were told of. */
export async function startListening(
  { notify }: Pick<Context, 'notify'>,
  options: OptionsOf<ReturnType<typeof listenOptions>> & { readonly publicUrl?: string },
  { defaultPort, ...setup }: ServerSetup,
): Promise<Listening> {
  const { listen } = await import('../../../http/listen.js')
  const { host = '127.0.0.1', port: typedPort, trustedProxy = [] } = options
  const isProxy = (address: string) => coversAddress(trustedProxy, address)
  const isKept = typedPort !== undefined || options.public === true || options.publicUrl !== undefined
  const first = typedPort ?? defaultPort
  for (let port = first; ; port++) {
    try {
      const isPublic = options.public === true
      const listening = await listen({ ...setup, host, port, public: isPublic, isProxy })
      if (port !== first)
        notify(`Port ${first} is in use: listening on port ${port}. To choose one, add --port.`)
      return listening
    } catch (error) {
      if (isKept || !isRefusal(error, 'listen.port_used') || port - first >= maxPortsTried) throw error
    }
  }
}
