import { parseBody } from '../../../api/values/json.js'
import type { Delivery } from '../../../http/inbox.js'
import type { GlobalOptions, StreamsContext } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { write } from '../../context/io.js'
import { isoTime } from '../../options/values.js'
import { fileOf, formatOf } from '../../output/output.js'
import { neutral, oneLine } from '../../output/text.js'

/** What a receiver says first. */
export interface Opening {
  /** Where it listens. */
  readonly listening: string
  /** The address to give as `--webhook-url`. */
  readonly url: string
  /** Whether what is not signed as it should be is refused. */
  readonly verifying: boolean
  /** What signs the deliveries of this machine's workspace; null where another secret counts, or none. */
  readonly secret: string | null
  /** Where the secret that counts comes from: `workspace`, a file, a variable or stdin. */
  readonly secret_from: string | null
}

/** What a receiver prints on stdout, one line each, in the order in which it is told. */
export interface Lines {
  open(opening: Opening): Promise<void>
  event(delivery: Delivery): void
  /** Resolves when all is written; rejects when nobody reads any more. */
  written(): Promise<void>
}

/** Lines for a person on a terminal, objects elsewhere; `failed` is told when nobody reads them any more. */
export function openLines(context: StreamsContext, globals: GlobalOptions, failed: () => void): Lines {
  const { stdout } = context.streams
  const isObjects = speaksObjects(context, globals)
  let last = Promise.resolve()
  const line = (text: string) => {
    last = last.then(() => write(stdout, `${neutral(text)}\n`))
    last.catch(failed)
  }
  return {
    open: (opening) => {
      line(isObjects ? JSON.stringify(opening) : opening.url)
      if (!isObjects && opening.secret !== null) line(opening.secret)
      return last
    },
    event: (delivery) => line(isObjects ? JSON.stringify(eventObject(delivery)) : eventText(delivery)),
    written: () => last,
  }
}

function speaksObjects(context: StreamsContext, globals: GlobalOptions): boolean {
  const format = formatOf(globals, context.streams)
  if (!['table', 'json', 'ndjson'].includes(format) || fileOf(globals) !== undefined)
    throw new UsageError(
      'listen prints one line per event, as text or as JSON.',
      'For a file of them: prospect events list -o events.csv',
    )
  return format !== 'table'
}

const eventObject = ({ id, receivedAt, event, search, verified, body }: Delivery) => ({
  id,
  received_at: isoTime(receivedAt),
  event,
  search_id: search,
  verified,
  body: parseBody(body),
})

function eventText({ id, receivedAt, event, search, verified }: Delivery): string {
  const trust = verified ? 'verified' : 'not verified'
  return oneLine([isoTime(receivedAt), event, search ?? '-', trust, id].join('  '))
}
