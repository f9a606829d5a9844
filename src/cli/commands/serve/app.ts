import type { Caller } from '../../../api/calls/caller.js'
import { renameText, type WireNames } from '../../../api/calls/wire-names.js'
import type { HandlerOptions } from '../../../http/handler.js'
import type { GlobalOptions, StreamsContext } from '../../context/context.js'
import { version } from '../../context/version.js'
import { document } from '../openapi/openapi.js'
import type { ListenAddress } from './listening.js'

/** How a target is createApp. */
export interface Serving extends Pick<HandlerOptions, 'behind' | 'ready'> {
  /** Words for `network` and `premium` in the document, where they are others. */
  readonly words?: WireNames | undefined
  /** Where it is createApp, once that is known. */
  readonly baseUrl?: () => string
}

/** What answers HTTP requests: the chosen target behind the routes of the API. */
export async function createApp(
  context: StreamsContext,
  caller: Caller,
  globals: GlobalOptions,
  { baseUrl, words, behind, ready }: Serving = {},
): Promise<(request: Request) => Promise<Response>> {
  const { handler } = await import('../../../http/handler.js')
  return handler({
    ...{ caller, behind, ready },
    version: await version(),
    document: () => describedIn(words, baseUrl?.()),
    report: (error) => {
      const text = error instanceof Error ? error.message : String(error)
      context.notify(`This is a bug in prospect: ${text}`, globals)
      if (globals.verbose && error instanceof Error) context.notify(error.stack ?? '', globals)
    },
  })
}

/** The document of what is createApp, in the words of the wire. */
async function describedIn(names: WireNames | undefined, baseUrl: string | undefined): Promise<object> {
  const made = await document(baseUrl)
  return names ? (JSON.parse(renameText(JSON.stringify(made), names)) as object) : made
}

/** What stands behind a server's socket. */
export interface Behind {
  readonly handler: (request: Request) => Promise<Response>
  /** Names beyond its own by which it is called. */
  readonly hosts: readonly string[]
  /** One sentence for whoever started it. */
  readonly text: string
  /** Begins what goes on beside requests. */
  start(): void
  stop(): Promise<void>
}

/** What `serve` is told. */
export interface ServeChoices extends ListenAddress {
  readonly allowHost?: readonly string[]
  readonly allowTarget?: readonly string[]
  readonly database?: string
  readonly worker: boolean
  readonly upstream?: string
  readonly publicUrl?: string
  readonly secretFile?: string
  readonly secretStdin?: boolean
}
