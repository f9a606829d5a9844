import { ConnectionLost, type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { creditsOfRecord } from '../../client/parse-delivery.js'
import type { ClockContext, Context, GlobalOptions } from '../context/context.js'
import { reportOfReply, Stop } from '../context/errors.js'
import { aborted } from '../context/interrupts.js'
import { callOnce, secondsToWait } from '../operation/call.js'
import { type Row, valueAt } from '../output/records.js'
import { nothingSeen, type Seen, type Started, type Watch } from './progress.js'

/** The pauses between two questions, in milliseconds: each is half as long again as the one before. */
const pause = { first: 2_000, factor: 1.5, longest: 15_000 } as const

/** A server that is being restarted answers again after that many questions, or is given up. */
const mostFailures = 20

const rowsPerPage = 500

/** Where the API tells of accepted work, by the kind of it; some kinds it tells nobody of. */
export const readBy = {
  lead_search: 'searches.get',
  list_import: 'lists.get',
  contact_enrichment: 'contacts.get',
} as const satisfies Record<string, OperationId>

/** The operation that tells of work; nothing where the API has none. */
export const readerOf = (kind: Started['kind']): OperationId | undefined =>
  (readBy as Partial<Record<Started['kind'], OperationId>>)[kind]

/** Work that is watched by asking the server how it stands, at a pace that slows down. */
export function watchPolled(
  context: Context,
  started: Started,
  reader: OperationId,
  globals: GlobalOptions,
): Watch {
  const ask = asker(context, started.id, reader, globals)
  let body: Row = {}
  return {
    follow: async (over, onSeen) => {
      let failures = 0
      for (let ms: number = pause.first; ; ms = Math.min(pause.longest, ms * pause.factor)) {
        const reply = await Promise.race([ask({ per_page: 1 }), aborted(over).then(() => undefined)])
        if (reply && isOk(reply)) {
          failures = 0
          body = reply.body as Row
          const seen = progressIn(started, body)
          onSeen(seen)
          if (over.aborted || seen.state !== 'going') return seen
        } else if (reply && (!passes(reply) || ++failures > mostFailures)) throw unreadable(reply)
        if (over.aborted) return progressIn(started, body)
        const asked = (reply && secondsToWait(reply, context.clock.now())) ?? 0
        await context.sleep(Math.max(ms, asked * 1_000), over).catch(() => {})
      }
    },
    records: () => (started.kind === 'lead_search' ? leads(patient(context, ask)) : contentOf(body)),
  }
}

type Ask = (input: Input) => Promise<Reply>

/** Reads cost nothing, so that one that was not answered is a failure like any other. */
function asker(context: Context, id: string, reader: OperationId, globals: GlobalOptions): Ask {
  const row = operation(reader)
  const isPaged = row.id === 'searches.get'
  return async (input) => {
    const caller = await context.caller(globals)
    const fields = isPaged ? { ...input, id } : { id }
    return callOnce(context, caller, row, fields, { ...globals, maxWait: 0 }).catch((error: unknown) => {
      if (!(error instanceof ConnectionLost)) throw error
      return { status: 503, body: { error: error.message }, headers: {}, credits: 0 }
    })
  }
}

/** Asks again where an answer can still come. */
const patient =
  (context: ClockContext, ask: Ask): Ask =>
  async (input) => {
    for (let failures = 0; ; ) {
      const reply = await ask(input)
      if (isOk(reply) || !passes(reply) || ++failures > mostFailures) return reply
      const asked = (secondsToWait(reply, context.clock.now()) ?? 0) * 1_000
      await context.sleep(Math.max(pause.first, asked))
    }
  }

/** Whether it can be answered later: it is too early, too often, or the server is not well. */
const passes = ({ status }: Reply): boolean => status === 404 || status === 429 || status >= 500

function unreadable(reply: Reply): Stop {
  const { error, exit_code, hint } = reportOfReply(reply)
  return new Stop(`How the work stands cannot be read: ${error}`, exit_code, hint)
}

function progressIn(started: Started, body: Row): Seen {
  if (started.kind === 'lead_search') return searchProgress(started, body)
  if (started.kind === 'list_import') return listProgress(started, body)
  const contacts = contactsIn(body)
  const isFinished = body.status === 'finished'
  const spent = contacts.reduce(
    (sum, contact) => sum + creditsOfRecord(started.operation, started.kind, contact),
    0,
  )
  const done = isFinished ? contacts.length : countAt(body, 'finished')
  const state = isFinished ? 'finished' : 'going'
  return { ...nothingSeen, state, done, spent, expected: started.expected }
}

/** What a search cannot go on from; `RATE_LIMITED` is waited for. */
const dead: readonly unknown[] = ['ERROR', 'UNAUTHORIZED', 'FORBIDDEN']

function searchProgress({ expected }: Started, body: Row): Seen {
  const status = valueAt(body, 'search.status')
  const seen = { ...nothingSeen, expected, done: countAt(body, 'search.leads_count') }
  if (dead.includes(status))
    return { ...seen, state: 'failed', error: `The search ended with the status ${status}` }
  if (status !== 'FINISHED') return seen
  return { ...seen, state: 'finished', truncated: valueAt(body, 'search.truncated') === true }
}

function listProgress({ expected = 0 }: Started, { status }: Row): Seen {
  const seen = { ...nothingSeen, expected }
  if (status === 'failed')
    return { ...seen, state: 'failed', error: 'The import ended with the status failed' }
  return status === 'completed' ? { ...seen, state: 'finished', done: expected } : seen
}

function countAt(body: Row, path: string): number {
  const value = valueAt(body, path)
  return typeof value === 'number' ? value : 0
}

/** The contacts of several; of one, its own result. */
const contactsIn = (body: Row): readonly Row[] =>
  Array.isArray(body.contacts) ? (body.contacts as readonly Row[]) : [body]

async function* contentOf(body: Row): AsyncGenerator<Row> {
  yield* contactsIn(body)
}

/** All leads, page by page. */
async function* leads(ask: Ask): AsyncGenerator<Row> {
  const seen = new Set<unknown>()
  for (let cursor: unknown; ; ) {
    seen.add(cursor)
    const reply = await ask({ per_page: rowsPerPage, ...(cursor === undefined ? {} : { cursor }) })
    if (!isOk(reply)) throw unreadable(reply)
    const body = reply.body as Row
    yield* (Array.isArray(body.leads) ? body.leads : []) as readonly Row[]
    cursor = valueAt(body, 'pagination.next_cursor')
    if (valueAt(body, 'pagination.has_more') !== true || cursor === undefined || seen.has(cursor)) return
  }
}
