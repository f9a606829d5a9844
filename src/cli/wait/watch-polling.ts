import { ConnectionLost, type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { failedSearchStatuses } from '../../api/schemas/enumerations.js'
import { creditsOfRecord, foundIn, recordOf } from '../../client/parse-delivery.js'
import type { ClockContext, Context } from '../context/context.js'
import { reportOfReply, Stop } from '../context/errors.js'
import { aborted } from '../context/interrupts.js'
import { callOnce, readPages, secondsToWait } from '../operation/call.js'
import { numberAt, type Row, valueAt } from '../output/records.js'
import { type AcceptedWork, noProgress, UnreadableStatus, type Watch, type WorkProgress } from './watch.js'

/** The pauses between two requests, in milliseconds. They become longer by the factor. */
const pause = { first: 2_000, factor: 1.5, longest: 15_000 } as const

/** How many requests in a row may fail, as they do while a server restarts. */
const mostFailures = 20

/** Returns the operation that reads accepted work of a kind. */
export function readerOf(kind: AcceptedWork['kind']): OperationId {
  if (kind === 'list_import') return 'lists.get'
  return kind === 'contact_enrichment' ? 'contacts.get' : 'searches.get'
}

/** Watches work by polling the server, at a pace that slows down. */
export function watchPolled(context: Context, accepted: AcceptedWork): Watch {
  const reader = readerOf(accepted.kind)
  const ask = asker(context, accepted.id, reader)
  let body: Row = {}
  return {
    follow: async (over, onProgress) => {
      let failures = 0
      for (let ms: number = pause.first; ; ms = Math.min(pause.longest, ms * pause.factor)) {
        const reply = await Promise.race([ask({ per_page: 1 }), aborted(over).then(() => undefined)])
        if (reply && isOk(reply)) {
          failures = 0
          body = reply.body as Row
          const progress = progressIn(accepted, body)
          onProgress(progress)
          if (over.aborted || progress.state !== 'going') return progress
        } else if (reply?.unusable !== undefined) throw new UnreadableStatus(toStop(reply))
        else if (reply && (!isTemporary(reply) || ++failures > mostFailures)) throw toStop(reply)
        if (over.aborted) return progressIn(accepted, body)
        const asked = (reply && secondsToWait(reply, context.clock.now())) ?? 0
        await context.sleep(Math.max(ms, asked * 1_000), over).catch(() => {})
      }
    },
    records: () =>
      reader === 'searches.get'
        ? found(retrying(context, ask), accepted.kind)
        : contactsIn(body).map((record) => recordOf(accepted.kind, record)),
  }
}

type Ask = (input: Input) => Promise<Reply>

/** Returns what reads the work. A lost connection is a failed reply: a read costs nothing and can be repeated. */
function asker(context: Context, id: string, reader: OperationId): Ask {
  const row = operation(reader)
  const isPaged = row.id !== 'contacts.get'
  return async (input) => {
    const caller = await context.caller()
    const fields = isPaged ? { ...input, id } : { id }
    return callOnce(context.withGlobals({ maxWait: 0 }), caller, row, fields).catch((error: unknown) => {
      if (!(error instanceof ConnectionLost)) throw error
      return { status: 503, body: { error: error.message }, headers: {}, credits: 0 }
    })
  }
}

/** Repeats a request while it fails temporarily. */
const retrying =
  (context: ClockContext, ask: Ask): Ask =>
  async (input) => {
    for (let failures = 0; ; ) {
      const reply = await ask(input)
      if (isOk(reply) || !isTemporary(reply) || ++failures > mostFailures) return reply
      const asked = (secondsToWait(reply, context.clock.now()) ?? 0) * 1_000
      await context.sleep(Math.max(pause.first, asked))
    }
  }

/** Whether a request can succeed later: the work is not known yet, a rate limit is reached, or the server fails. */
const isTemporary = ({ status }: Reply): boolean => status === 404 || status === 429 || status >= 500

function toStop(reply: Reply): Stop {
  const { error, exit_code, hint } = reportOfReply(reply)
  return new Stop(`The status of the job cannot be read: ${error}`, exit_code, hint)
}

function progressIn(accepted: AcceptedWork, body: Row): WorkProgress {
  if (accepted.kind === 'list_import') return listProgress(accepted, body)
  if (accepted.kind !== 'contact_enrichment') return searchProgress(accepted, body)
  const contacts = contactsIn(body)
  const isFinished = body.status === 'finished'
  const spent = contacts.reduce(
    (sum, contact) => sum + creditsOfRecord(accepted.operation, accepted.kind, contact),
    0,
  )
  const done = isFinished ? contacts.length : (numberAt(body, 'finished') ?? 0)
  const state = isFinished ? 'finished' : 'going'
  return { ...noProgress, state, done, spent, expected: accepted.expected }
}

function searchProgress({ expected, operation: row, kind }: AcceptedWork, body: Row): WorkProgress {
  const status = valueAt(body, 'search.status')
  const counts = ['search.leads_count', 'search.accounts_count', 'pagination.total_count']
  // Some servers send all records, and do not count them.
  const done = Math.max(...counts.map((path) => numberAt(body, path) ?? 0), foundIn(kind, body).length)
  const progress = { ...noProgress, expected, done, spent: done * creditsOfRecord(row, kind, {}) }
  if (failedSearchStatuses.includes(status))
    return { ...progress, state: 'failed', error: `The search ended with the status ${status}` }
  if (status !== 'FINISHED') return progress
  return { ...progress, state: 'finished', truncated: valueAt(body, 'search.truncated') === true }
}

function listProgress({ expected = 0 }: AcceptedWork, { status }: Row): WorkProgress {
  const progress = { ...noProgress, expected }
  if (status === 'failed')
    return { ...progress, state: 'failed', error: 'The import ended with the status failed' }
  return status === 'completed' ? { ...progress, state: 'finished', done: expected } : progress
}

/** Returns the contacts of a waterfall; a waterfall of one contact is its own result. */
const contactsIn = (body: Row): readonly Row[] =>
  Array.isArray(body.contacts) ? (body.contacts as readonly Row[]) : [body]

/** Yields all records of a search, page by page. */
async function* found(ask: Ask, kind: AcceptedWork['kind']): AsyncGenerator<Row> {
  for await (const reply of readPages(ask, {})) {
    if (!isOk(reply)) throw toStop(reply)
    for (const { record } of foundIn(kind, reply.body as Row)) yield record
  }
}
