import { escapeControls } from '../../../api/values/controls.js'
import type { ReceivedDelivery } from '../../../http/inbox.js'
import type { StreamsContext } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { write } from '../../context/io.js'
import { isoTime } from '../../options/values.js'
import { fileOf, formatOf } from '../../output/output.js'
import { oneLine } from '../../output/text.js'

/** What a receiver prints first. */
interface FirstLines {
  /** Where it listens. */
  readonly listening: string
  /** The address to give as `--webhook-url`. */
  readonly url: string
  /** Whether deliveries without a valid signature are refused. */
  readonly verifying: boolean
  /** The secret of this machine's workspace; null when another one is used, or none. */
  readonly secret: string | null
  /** Where the secret comes from: `workspace`, a file, a variable or stdin. */
  readonly secret_from: string | null
}

/** Prints text on a terminal and JSON elsewhere. `failed` is called when the reader of stdout has gone. */
export function openLines(context: StreamsContext, failed: () => void) {
  const { stdout } = context.streams
  const isObjects = printsJson(context)
  let last = Promise.resolve()
  const line = (text: string) => {
    last = last.then(() => write(stdout, `${escapeControls(text)}\n`))
    last.catch(failed)
  }
  return {
    open: (opening: FirstLines): Promise<void> => {
      const { url, secret } = opening
      const label = (text: string) => (stdout.isTTY ? text.padEnd(16) : '')
      line(isObjects ? JSON.stringify(opening) : label('Webhook URL') + url)
      if (!isObjects && secret !== null) line(label('Signing secret') + secret)
      return last
    },
    event: (delivery: ReceivedDelivery) =>
      line(isObjects ? formatEventJson(delivery) : formatEvent(delivery)),
    /** Resolves when all is written; rejects when the reader of stdout has gone. */
    written: () => last,
  }
}

function printsJson(context: StreamsContext): boolean {
  const format = formatOf(context)
  if (!['table', 'json', 'ndjson'].includes(format) || fileOf(context.globals) !== undefined)
    throw new UsageError(
      'listen prints one line per event, as text or as JSON.',
      'For a file of them: prospect events list -o events.csv',
    )
  return format !== 'table'
}

/** The body is valid JSON, so that tabs and line ends in it lie between its values. */
function formatEventJson({ id, receivedAt, event, search, verified, body }: ReceivedDelivery): string {
  const fields = { id, received_at: isoTime(receivedAt), event, search_id: search, verified }
  return `${JSON.stringify(fields).slice(0, -1)},"body":${body.replace(/^\ufeff/, '').replace(/[\t\r\n]+/g, ' ')}}`
}

function formatEvent({ id, receivedAt, event, search, verified }: ReceivedDelivery): string {
  const trust = verified ? 'verified' : 'not verified'
  return oneLine([isoTime(receivedAt), event, search ?? '-', trust, id].join('  '))
}
