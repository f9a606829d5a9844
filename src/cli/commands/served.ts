import type { Caller } from '../../api/caller.js'
import type { HandlerOptions } from '../../http/handler.js'
import type { Context, GlobalOptions } from '../context.js'
import { version } from '../version.js'
import { document } from './document.js'

/** How a target is served. */
export interface Serving extends Pick<HandlerOptions, 'names' | 'behind'> {
  /** Where it is served, once that is known. */
  readonly baseUrl?: () => string
}

/** What answers HTTP requests: the chosen target behind the routes of the API. */
export async function served(
  context: Context,
  caller: Caller,
  globals: GlobalOptions,
  { baseUrl, names, behind }: Serving = {},
): Promise<(request: Request) => Promise<Response>> {
  const { handler } = await import('../../http/handler.js')
  return handler({
    ...{ caller, names, behind },
    version: await version(),
    document: () => document(baseUrl?.()),
    report: (error) => {
      const text = error instanceof Error ? error.message : String(error)
      context.notify(`This is a bug in prospect: ${text}`, globals)
      if (globals.verbose && error instanceof Error) context.notify(error.stack ?? '', globals)
    },
  })
}
