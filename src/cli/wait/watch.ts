import { ConnectionLost, type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { passes } from '../../api/calls/retry.js'
import type { WireNames } from '../../api/calls/wire-names.js'
import { type Operation, type OperationId, operation } from '../../api/operations/table.js'
import { failedSearchStatuses } from '../../api/schemas/enumerations.js'
import { ownWebhook, wantsWebhook } from '../../api/validation/own-webhook.js'
import { isOwnMachine } from '../../api/values/url.js'
import { type EventKind, eventOf, isCompanyImport } from '../../api/webhooks/events.js'
import { creditsOfRecord, foundIn, recordOf } from '../../client/parse-delivery.js'
import type { ClockContext, Context } from '../context/context.js'
import { reportOfReply, Stop, UsageError } from '../context/errors.js'
import { aborted } from '../context/io.js'
import { callOnce, readPages, secondsToWait } from '../operation/call.js'
import type { OperationRequest } from '../operation/request.js'
import { type PublicAddress, publicAddress } from '../options/webhooks.js'
import { numberAt, type Row, valueAt } from '../output/records.js'
import type { Target } from '../target/resolve-target.js'
import { jobIdOf } from './result.js'

/** How work on a server stands, as far as this command knows. */
export interface WorkProgress {
  readonly state: 'going' | 'finished' | 'failed'
  readonly done: number
  /** Records that will come, where that is known. */
  readonly expected: number | undefined
  readonly truncated: boolean
  /** What went wrong, in the server's words. */
  readonly error: string | undefined
  readonly spent: number
}

export interface AcceptedWork {
  readonly operation: Operation
  readonly kind: EventKind
  readonly id: string
  /** Whether the result is a single record: a list, or the only contact. */
  readonly single: boolean
  readonly limit: number | undefined
  /** The records that the reply announced; for a waterfall, its contacts. */
  readonly expected: number | undefined
}

export interface Watch {
  /** Follows the work to its end, or until `over`. Calls `onProgress` on the way. */
  follow(over: AbortSignal, onProgress: (progress: WorkProgress) => void): Promise<WorkProgress>
  /** Yields all records in the order found. */
  records(): AsyncIterable<Row> | Iterable<Row>
}

/** Reads accepted work from the reply of a server; `undefined` where no work was started. */
export function toAcceptedWork(
  { operation: row, input }: Pick<OperationRequest, 'operation' | 'input'>,
  kind: EventKind,
  body: unknown,
): AcceptedWork | undefined {
  const id = jobIdOf(body)
  if (id === undefined) return undefined
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

/** A reply to a poll that makes no sense: later ones will not, either. */
class UnreadableStatus extends Stop {
  constructor({ message, exit }: Stop) {
    super(message, exit, 'The server continues the job, and delivers its results to a webhook if it has one.')
  }
}

/** How long nothing may arrive before the server is polled too, in milliseconds: it may not reach this machine. */
const quietMs = 30_000

/**
 * Follows work by deliveries where it has any, and by polling, with deliveries only after a while. Returns how the work stood
 * at the end, and the watch that has its records.
 */
export async function followWatches(
  context: ClockContext,
  received: Watch | undefined,
  polled: Watch,
  over: AbortSignal,
  onProgress: (progress: WorkProgress) => void,
) {
  const by = async (watch: Watch, until: AbortSignal, report = onProgress) => ({
    progress: await watch.follow(until, report),
    watch,
  })
  if (!received) return by(polled, over)
  const done = new AbortController()
  let hasArrived = false
  const until = AbortSignal.any([over, done.signal])
  const polling = context
    .sleep(quietMs, until)
    .then(() => by(polled, until))
    // Polling ends the wait only with the end of the work: what arrives still counts.
    .then(
      (ended) => (ended.progress.state === 'going' ? undefined : ended),
      (error: unknown) => {
        // A server that has delivered nothing by then may never do so, and the wait would have no end.
        if (error instanceof UnreadableStatus && !hasArrived) throw error
        return undefined
      },
    )
  const arriving = by(received, until, (progress) => {
    hasArrived ||= progress.done > 0
    onProgress(progress)
  })
  try {
    return (await Promise.race([arriving, polling])) ?? (await arriving)
  } finally {
    done.abort()
  }
}

/** The progress of work that has not begun. */
const noProgress: WorkProgress = {
  state: 'going',
  done: 0,
  expected: undefined,
  truncated: false,
  error: undefined,
  spent: 0,
}

/** The pauses between two requests, in milliseconds. They become longer by the factor. */
const pause = { first: 2_000, factor: 1.5, longest: 15_000 } as const

/** How many requests in a row may fail, as they do while a server restarts. */
const maxFailures = 20

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
        else if (reply && (!isTemporary(reply) || ++failures > maxFailures)) throw toStop(reply)
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

const retrying =
  (context: ClockContext, ask: Ask): Ask =>
  async (input) => {
    for (let failures = 0; ; ) {
      const reply = await ask(input)
      if (isOk(reply) || !isTemporary(reply) || ++failures > maxFailures) return reply
      const asked = (secondsToWait(reply, context.clock.now()) ?? 0) * 1_000
      await context.sleep(Math.max(pause.first, asked))
    }
  }

/** Whether a request can succeed later; work that is not known yet may be. */
const isTemporary = (reply: Reply): boolean => reply.status === 404 || passes(reply)

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

export interface WaitStrategy {
  readonly kind: EventKind
  readonly receives: boolean
  /** Where the server reaches the receiver, if not where it listens. */
  readonly address: PublicAddress | undefined
  readonly port: number | undefined
  /** The server's words in the names of fields. */
  readonly names: WireNames | undefined
}

/** Chooses how to get the result of an operation from a target: the command receives it, or polls for it. */
export function waitStrategyOf(
  row: Operation,
  input: Input,
  target: Target,
  options: Readonly<Record<string, unknown>>,
): WaitStrategy {
  const kind = eventOf(row.id) ?? 'lead_search'
  const server = target.kind === 'remote' ? target : undefined
  const origin = server && new URL(server.baseUrl)
  const isOwn = origin !== undefined && isOwnMachine(origin)
  // A tunnel leads to one port, which one command at a time can use: by default only one does that polls for what is
  // observed and not specified.
  const tunnel = isOwn || !isCompanyImport(kind) ? undefined : server?.publicUrl
  const address = publicAddress((options.publicUrl as string | undefined) ?? tunnel)
  const port = options.receivePort as number | undefined
  const strategy = { kind, address, port, names: server?.names }
  const isGiven = input.webhook_url !== undefined && input.webhook_url !== ownWebhook
  return { ...strategy, receives: !isGiven && (address !== undefined || isOwn) }
}

/** Throws UsageError where an operation requires a webhook and none is given, so that its result would be lost. */
export function checkWebhook({ operation, shape, input }: OperationRequest): void {
  if (!wantsWebhook(shape) || input.webhook_url !== undefined) return
  throw new UsageError(
    `${operation.command} delivers its result by webhook, so it needs --webhook-url.`,
    'Give one, such as that of prospect listen; or add --wait or -o FILE, and this command waits for the result itself.',
  )
}
