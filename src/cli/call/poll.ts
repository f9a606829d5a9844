import { ConnectionLost, type Input, lostCall, type Reply } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import { failedSearchStatuses } from '../../api/schemas/enumerations.js'
import { aborted } from '../../api/values/objects.js'
import { type EventKind, eventOf } from '../../api/webhooks/events.js'
import { creditsOfRecord, foundIn, recordOf } from '../../client/parse-delivery.js'
import type { Time } from '../../runs/flow-control.js'
import { type Polled, pollWork } from '../../runs/poll.js'
import type { Context, Machine } from '../context/context.js'
import { reportOfReply, Stop } from '../context/errors.js'
import { numberAt, type Row, stringAt, valueAt } from '../output/records.js'
import type { OperationRequest } from './build.js'
import { type AcceptedWork, type NextSteps, resultCommand, type WorkProgress } from './result.js'
import { callOnce, readPages } from './send.js'

/** Accepted work as a command waits for it: at this machine's engine or at a server, polled or received. */
export interface Work {
  readonly accepted: AcceptedWork
  /** Follows it to its end, or until `over`. Calls `onProgress` on the way. */
  follow(over: AbortSignal, onProgress: (progress: WorkProgress) => void): Promise<WorkProgress>
  records(): AsyncIterable<Row> | Iterable<Row>
  readonly next: NextSteps
  /** Reports what is left to say when the result was printed. */
  end?(): Promise<void>
}

/** Returns the id of the search, import, list or enrichment in a reply; `undefined` where no work was started. */
export function jobIdOf(body: unknown): string | undefined {
  const id = valueAt(body, 'message.id') ?? valueAt(body, 'id') ?? valueAt(body, 'enrichment_id')
  return typeof id === 'string' ? id : undefined
}

/** Reads accepted work from a reply; `undefined` where no work was started. */
export function toAcceptedWork(
  { operation: row, input }: Pick<OperationRequest, 'operation' | 'input'>,
  body: unknown,
): AcceptedWork | undefined {
  const id = jobIdOf(body)
  if (id === undefined) return undefined
  const kind = eventOf(row.id) ?? 'lead_search'
  const contacts = valueAt(body, 'contacts')
  const isOne = kind === 'contact_enrichment' && !Array.isArray(contacts)
  const limit = numberAt(input, 'limit')
  const counted = ['total', 'total_count', 'preview_count', 'message.expected_profiles_count']
    .map((path) => numberAt(body, path))
    .find((count) => count !== undefined)
  const several = [contacts, input.companies].find(Array.isArray)?.length
  const expected = counted === undefined ? (isOne ? 1 : several) : Math.min(counted, limit ?? counted)
  return { operation: row, kind, id, single: isOne || kind === 'list_import', limit, expected }
}

export function readerOf(kind: EventKind): OperationId {
  if (kind === 'list_import') return 'lists.get'
  return kind === 'contact_enrichment' ? 'contacts.get' : 'searches.get'
}

export const pollPorts = (context: Machine): Time => ({
  now: () => context.clock.now(),
  sleep: (ms, signal) => context.sleep(ms, signal),
})

export type PolledWork = ReturnType<typeof polledWork>

/** Returns work that is polled. `work` does it in this process, as far as no other one does. */
export function polledWork(
  context: Context,
  accepted: AcceptedWork,
  work?: (over: AbortSignal) => Promise<void>,
) {
  const reader = readerOf(accepted.kind)
  const send = asker(context, accepted.id, reader)
  const ask = () => send({ per_page: 1 })
  let body: Row = {}
  /** Returns how the work has ended, by a reply; `undefined` while it goes on. */
  const read = (reply: Reply) => {
    body = reply.body as Row
    const progress = { ...progressIn(accepted, body), isSuppressed: reply.isSuppressed }
    return progress.state === 'going' ? undefined : progress
  }
  const { baseUrl, profile } = context.globals
  const target = baseUrl === undefined ? profile && ` --profile ${profile}` : ` --base-url ${baseUrl}`
  const see = resultCommand(accepted.kind, accepted.id) + (target ?? '')
  return {
    accepted,
    ask,
    read,
    follow: async (over: AbortSignal, onProgress: (progress: WorkProgress) => void) => {
      const poll = async () => {
        await work?.(over)
        return Promise.race([ask(), aborted(over).then(() => new ConnectionLost('interrupted', false))])
      }
      const readAndShow = (reply: Reply) => {
        const end = read(reply)
        onProgress(end ?? progressIn(accepted, body))
        return end
      }
      const end = await pollWork(pollPorts(context), over, work !== undefined, poll, readAndShow, refuse)
      return end ?? progressIn(accepted, body)
    },
    records: (): ReturnType<Work['records']> =>
      reader === 'searches.get'
        ? found(context, send, accepted.kind)
        : contactsIn(body).map((record) => recordOf(accepted.kind, record)),
    next: {
      see,
      afterFailure: 'See prospect credits.',
      toContinue: `The server continues the job. Get its results with: ${see}`,
    },
  }
}

/** Ends a command that cannot read the work: a reply that makes no sense will not make any later. */
export function refuse(polled: Polled): never {
  const failure = polled instanceof ConnectionLost ? { status: 503, body: { error: polled.message } } : polled
  const { error, exit_code, hint } = reportOfReply({ headers: {}, credits: 0, ...failure })
  const isReadable = polled instanceof ConnectionLost || polled.unusable === undefined
  throw new Stop(
    `The status of the job cannot be read: ${error}`,
    exit_code,
    isReadable ? hint : 'The server continues the job, and delivers its results to a webhook if it has one.',
  )
}

/** Returns what reads the work, without waiting for rate limits. */
function asker(context: Context, id: string, reader: OperationId) {
  const fieldsOf = (input: Input) => (reader === 'contacts.get' ? { id } : { ...input, id })
  return (input: Input): Promise<Polled> =>
    callOnce(context.withGlobals({ maxWait: 0 }), reader, fieldsOf(input)).catch(lostCall)
}

function progressIn({ kind, operation: row, expected }: AcceptedWork, body: Row): WorkProgress {
  if (kind === 'contact_enrichment') {
    const contacts = contactsIn(body)
    const spent = contacts.reduce((sum, contact) => sum + creditsOfRecord(row, kind, contact), 0)
    if (body.status === 'finished') return { state: 'finished', done: contacts.length, spent, expected }
    return { state: 'going', done: numberAt(body, 'finished') ?? 0, spent, expected }
  }
  const isList = kind === 'list_import'
  const status = isList ? body.status : valueAt(body, 'search.status')
  const isFinished = status === (isList ? 'completed' : 'FINISHED')
  const found = isList ? (expected ?? 0) : numberFound(kind, body)
  const done = isList && !isFinished ? 0 : found
  const progress = { done, spent: isList ? 0 : done * creditsOfRecord(row, kind, {}), expected }
  if (isList ? status === 'failed' : failedSearchStatuses.includes(status)) {
    const failure = `The ${isList ? 'import' : 'search'} ended with the status ${status}`
    // With the server's own words where it has some.
    const said = ['search.error', 'search.message', 'error', 'message'].map((path) => stringAt(body, path))
    return { ...progress, state: 'failed', error: [failure, said.find(Boolean)].filter(Boolean).join(': ') }
  }
  const truncated = valueAt(body, 'search.truncated') === true
  return { ...progress, state: isFinished ? 'finished' : 'going', truncated }
}

function numberFound(kind: EventKind, body: Row): number {
  const counts = ['search.leads_count', 'search.accounts_count', 'pagination.total_count']
  // Some servers send all records, and do not count them.
  return Math.max(...counts.map((path) => numberAt(body, path) ?? 0), foundIn(kind, body).length)
}

/** Returns the contacts of a waterfall; a waterfall of one contact is its own result. */
const contactsIn = (body: Row): readonly Row[] =>
  Array.isArray(body.contacts) ? (body.contacts as readonly Row[]) : [body]

async function* found(context: Machine, ask: ReturnType<typeof asker>, kind: EventKind): AsyncGenerator<Row> {
  const { signal } = new AbortController()
  const same = (reply: Reply) => reply
  const askAgain = (input: Input) =>
    pollWork(pollPorts(context), signal, false, () => ask(input), same, refuse) as Promise<Reply>
  for await (const { body } of readPages(askAgain, {}))
    for (const { record } of foundIn(kind, body)) yield record
}
