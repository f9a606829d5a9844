import { createHmac } from 'node:crypto'
import { ConnectionLost, isOk, type Reply } from '../../api/calls/caller.js'
import { failureOf, Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { WireNames } from '../../api/calls/wire-names.js'
import { isObject } from '../../api/values/objects.js'
import { isCompanyImport } from '../../api/webhooks/events.js'
import {
  type Carried,
  creditsOfRecord,
  type DeliveredRecord,
  parseDelivery,
  recordKey,
} from '../../client/parse-delivery.js'
import type { Listening } from '../../http/listen.js'
import type { Arrived, Events } from '../../storage/state/webhook-inbox.js'
import type { ClockContext, Context, GlobalOptions } from '../context/context.js'
import { reportOfReply, Stop } from '../context/errors.js'
import { exitOfSignal, interruptible, within } from '../context/io.js'
import { openEvents } from '../context/open-databases.js'
import { reportNothingFound, reportRefusal } from '../operation/call.js'
import { confirmCall } from '../operation/quote.js'
import { recordSpent } from '../operation/record-spending.js'
import type { OperationRequest } from '../operation/request.js'
import { runSync, sendRequest } from '../operation/run-sync.js'
import type { Invocation } from '../options/command-environment.js'
import { waitOf, webhookUrl } from '../options/webhooks.js'
import { reportError } from '../output/print.js'
import { startProgress } from '../output/progress.js'
import type { Row } from '../output/records.js'
import { targetIn } from '../target/resolve-target.js'
import {
  checkOutput,
  type KnownRecords,
  type NextSteps,
  printFound,
  printNothing,
  reportOfWork,
  resultCommand,
  stepText,
  successText,
} from './result.js'
import {
  type AcceptedWork,
  checkWebhook,
  followWatches,
  toAcceptedWork,
  type WaitStrategy,
  type Watch,
  type WorkProgress,
  waitStrategyOf,
  watchPolled,
} from './watch.js'

/** Sends a request that starts work to a server, and waits for the result where `isAwaited`. Returns the exit code. */
export async function runRemote(
  given: Context,
  request: OperationRequest,
  isAwaited: boolean,
  known?: KnownRecords,
): Promise<number> {
  const { operation, input, invocation } = request
  const { options } = invocation
  const strategy = isAwaited ? waitStrategyOf(operation, input, targetIn(given), options) : undefined
  if (!strategy) checkWebhook(request)
  if (options.dryRun === true)
    return runSync(given, strategy ? await withReceiver(given, request, strategy) : request)
  const context = strategy ? await checkOutput(given, operation.id) : given
  await confirmCall(context, request)
  if (!strategy) return runSync(context, request)
  const receiver = strategy.receives ? await openReceiver(context, strategy, invocation) : undefined
  try {
    return await interruptible(context.streams, (interrupted) =>
      sendAndWait(context, request, strategy, receiver, interrupted, known),
    )
  } finally {
    await receiver?.close()
  }
}

/**
 * Sends a request that starts work, waits for the result, and prints it in place of the reply. Returns the exit code.
 */
async function sendAndWait(
  context: Context,
  request: OperationRequest,
  strategy: WaitStrategy,
  receiver: Receiver | undefined,
  interrupted: AbortSignal,
  known: KnownRecords | undefined,
): Promise<number> {
  const { operation, invocation } = request
  const reply = await send(context, request, receiver)
  if (reply.unknown && receiver)
    return reportError(context, { ...reportOfReply(reply), hint: retryHint(receiver.key) })
  if (!isOk(reply)) {
    if (!receiver || !refusesAddress(reply)) return reportRefusal(context, operation, reply)
    context.notify('The server cannot send webhooks to this machine, so its results are polled.')
    return sendAndWait(context, request, strategy, undefined, interrupted, known)
  }
  const accepted = toAcceptedWork(request, strategy.kind, reply.body)
  if (!accepted) return printNothing(context, operation.id)
  context.log?.write('begun', { id: accepted.id })
  const { seconds } = waitOf(context, invocation, request.input)
  const isReplayed = reply.headers['idempotent-replayed'] === 'true'
  return watchRemote(context, { accepted, strategy, receiver, seconds, isReplayed, known }, interrupted)
}

async function send(
  context: Context,
  request: OperationRequest,
  receiver: Receiver | undefined,
): Promise<Reply> {
  if (!receiver) return sendRequest(context, request)
  const { key, url } = receiver
  const { input, invocation } = request
  const options = { ...invocation.options, idempotencyKey: key }
  try {
    return await sendRequest(context, {
      ...request,
      input: { ...input, webhook_url: url },
      invocation: { ...invocation, options },
    })
  } catch (error) {
    if (!(error instanceof ConnectionLost && error.unknown)) throw error
    const text = `${error.message}. Whether the job was started and charged is not known`
    throw new Stop(text, exitCodes.unreachable, retryHint(key), 'outcome_unknown')
  }
}

const retryHint = (key: string): string =>
  `Run the same command again with --idempotency-key ${key}: a server that supports idempotency keys starts the job once.`

/** Whether a server refuses the webhook, as those do that deliver to public addresses only. */
const refusesAddress = ({ status, body }: Reply): boolean =>
  [400, 422].includes(status) && failureOf(status, body).text.includes('webhook_url')

interface RemoteWork {
  readonly accepted: AcceptedWork
  readonly strategy: WaitStrategy
  readonly receiver: Receiver | undefined
  /** How long to wait, in seconds; until the end when absent. */
  readonly seconds: number | undefined
  readonly isReplayed: boolean
  readonly known: KnownRecords | undefined
}

/** Waits until work ends, a signal comes or the time is up, and reports the outcome. Returns the exit code. */
async function watchRemote(context: Context, work: RemoteWork, interrupted: AbortSignal): Promise<number> {
  const { accepted, strategy, receiver, isReplayed } = work
  const { kind } = accepted
  const { id } = accepted.operation
  const polled = watchPolled(context, accepted)
  const received = receiver && watchDeliveries(accepted, receiver, strategy.names)
  const display = await startProgress(context, stepText({ kind, operation: id }))
  const onProgress = ({ done, spent, expected }: WorkProgress) =>
    display.update({ rows: done, found: done, credits: spent, total: expected })
  const before =
    isReplayed && received ? (await received.follow(AbortSignal.abort(), onProgress)).state : 'going'
  const { progress, watch } = await within(context, interrupted, work.seconds, (over) =>
    followWatches(context, received, polled, over, onProgress),
  ).finally(() => display.stop())
  // The command that first waited for a result has recorded its cost.
  if (progress.state !== 'going' && before === 'going') await recordSpent(context, id, progress.spent)
  const interruption = exitOfSignal(interrupted)
  const state = { kind, operation: id, ...progress }
  const lost =
    progress.state === 'finished'
      ? await printFound(context, accepted, () => watch.records(), work.known)
      : undefined
  const report = reportOfWork(state, await nextSteps(context, work, progress), interruption)
  if (report) return reportError(context, report)
  if (lost) return reportNothingFound(context, null, lost)
  context.notify(successText(state))
  return interruption ?? exitCodes.ok
}

/** Returns what a person can do about the work after this command. Not every server lets companies be read later. */
async function nextSteps(
  context: Context,
  { accepted, receiver }: RemoteWork,
  { state, done }: WorkProgress,
): Promise<NextSteps> {
  const { kind, id } = accepted
  const isReceived = receiver !== undefined && isCompanyImport(kind)
  const see = isReceived ? `prospect events list --search ${id}` : seeText(accepted, context.globals)
  const afterFailure = done > 0 ? `What was found before is kept: ${see}` : 'See prospect credits.'
  if (!isReceived)
    return { afterFailure, toContinue: `The server continues the job. Get its results with: ${see}` }
  const isKeySupported =
    state === 'going' && ((await (await context.caller()).supportsIdempotency?.()) ?? true)
  const { key, port, token } = receiver
  const again = isKeySupported
    ? `wait again with the same command and --idempotency-key ${key}.`
    : `receive the rest with: prospect listen --port ${port} --path ${token}`
  const kept = done > 0 ? ` What has come is kept: ${see}. Or` : ''
  return { afterFailure, toContinue: `The server continues the job;${kept} ${again}` }
}

function seeText({ kind, id }: AcceptedWork, { baseUrl, profile }: GlobalOptions): string {
  const target =
    baseUrl === undefined ? (profile === undefined ? '' : ` --profile ${profile}`) : ` --base-url ${baseUrl}`
  return resultCommand(kind, id) + target
}

const atOnce = 100

/** Duplicates count once; a result can come in parts or record by record. `names` are the server's words in fields. */
function watchDeliveries(
  accepted: AcceptedWork,
  { events, token, arrived: awaitArrival }: Pick<Receiver, 'events' | 'token' | 'arrived'>,
  names: WireNames | undefined,
): Watch {
  const gathering = createGathering(accepted)
  const read = (one: Arrived): Carried => parseDelivery(accepted.kind, one, names)
  let last = 0
  const catchUp = async () => {
    for (;;) {
      const arrived = await events.arrived(token, last, atOnce)
      for (const one of arrived) gathering.take(one.seq, read(one))
      last = arrived.at(-1)?.seq ?? last
      if (arrived.length < atOnce) return gathering.progress()
    }
  }
  return {
    follow: async (over, onProgress) => {
      for (;;) {
        const progress = await catchUp()
        onProgress(progress)
        if (over.aborted || progress.state !== 'going') return progress
        await awaitArrival(over)
      }
    },
    async *records() {
      const printed = new Set<string>()
      for (const seq of gathering.order()) {
        const [arrived] = await events.arrived(token, seq - 1, 1)
        if (arrived?.seq === seq) yield* newRecords(read(arrived), printed)
      }
    },
  }
}

function* newRecords({ found }: Carried, printed: Set<string>): Generator<Row> {
  const sorted = [...found].sort((one, other) => (one.ordinal ?? 0) - (other.ordinal ?? 0))
  for (const one of sorted) {
    if (printed.has(recordKey(one))) continue
    printed.add(recordKey(one))
    if (!isEmpty(one.record)) yield one.record
  }
}

/** Whether nothing is left of a record, because it was about somebody suppressed. */
const isEmpty = (record: Row): boolean =>
  Object.values(record).every((held) => held === null || (isObject(held) && isEmpty(held as Row)))

interface DeliveryPosition {
  readonly seq: number
  readonly first: number
}

/** Combines the deliveries of one command. Only keys of records are held in memory. */
function createGathering(accepted: AcceptedWork) {
  const known = new Set<string>()
  const positions: DeliveryPosition[] = []
  const parts = new Set<number>()
  const end = { parts: Number.POSITIVE_INFINITY, total: 0, truncated: false, spent: 0, failures: 0 }
  let error: string | undefined
  let isForeign = false
  const takeRecords = (seq: number, found: readonly DeliveredRecord[]) => {
    const newRecords = found.filter((one) => !known.has(recordKey(one)))
    for (const one of newRecords) {
      known.add(recordKey(one))
      end.spent += creditsOfRecord(accepted.operation, accepted.kind, one.record)
    }
    if (newRecords.length > 0) positions.push({ seq, first: firstOf(newRecords) })
  }
  return {
    /** Adds the delivery with the number `seq`; records that came before are ignored. */
    take: (seq: number, carried: Carried) => {
      takeRecords(seq, carried.found.filter(isAnswer))
      if (carried.phase === 'failed') {
        end.failures++
        error = carried.error ?? 'The server does not say why'
      }
      if (carried.phase === 'record') isForeign ||= carried.found.some(({ ordinal }) => ordinal === undefined)
      if (carried.phase !== 'completed') return
      parts.add(carried.part)
      end.parts = carried.parts
      end.total = carried.total ?? 0
      end.truncated ||= carried.truncated
    },
    progress: (): WorkProgress => {
      const isWhole = parts.size >= end.parts && known.size >= end.total
      // Other servers may send nothing after the last record.
      const isFull = isForeign && accepted.limit !== undefined && known.size >= accepted.limit
      const { truncated, spent } = end
      const expected = accepted.expected ?? (end.total || undefined)
      const state = stateOf(accepted, known.size, end.failures, isWhole || isFull)
      // A list is one record, however many companies it has.
      const isList = accepted.kind === 'list_import' && state === 'finished'
      const done = isList ? (accepted.expected ?? known.size) : known.size
      return { state, done, expected, truncated, spent, error }
    },
    /** Returns the numbers of the deliveries with records, in the order in which the records were found. */
    order: () =>
      [...positions]
        .sort((one, other) => one.first - other.first || one.seq - other.seq)
        .map(({ seq }) => seq),
  }
}

function stateOf(
  { kind, expected = 1 }: AcceptedWork,
  done: number,
  failures: number,
  isWhole: boolean,
): WorkProgress['state'] {
  if (kind !== 'contact_enrichment') return failures > 0 ? 'failed' : isWhole ? 'finished' : 'going'
  if (done + failures < expected) return 'going'
  return failures > 0 ? 'failed' : 'finished'
}

/** Whether a record is a result: some servers also report contacts that are still pending. */
const isAnswer = ({ record }: DeliveredRecord): boolean =>
  record.status !== 'pending' || record.enrichment_id === undefined

/** Returns the lowest ordinal. Records without one come last, in the order of arrival. */
const firstOf = (found: readonly DeliveredRecord[]): number =>
  found.reduce(
    (least, { ordinal }) => Math.min(least, ordinal ?? Number.MAX_SAFE_INTEGER),
    Number.MAX_SAFE_INTEGER,
  )

interface Receiver {
  /** The idempotency key of the request. The same key leads to the same path and port again. */
  readonly key: string
  /** The unguessable part of its path, under which its deliveries are stored. */
  readonly token: string
  readonly port: number
  readonly url: string
  readonly events: Events
  /** Resolves when something has arrived since the last call, or at the signal. */
  arrived(over: AbortSignal): Promise<void>
  close(): Promise<void>
}

type Endpoint = Pick<WaitStrategy, 'address' | 'port'>

/** The port of `prospect listen`, so that a tunnel to it leads here as well. */
export const deliveriesPort = 4011

/** Listens for the deliveries of one command. Each is stored before it is acknowledged. */
async function openReceiver(
  context: Context,
  endpoint: Endpoint,
  { options }: Invocation,
): Promise<Receiver> {
  const { receiver } = await import('../../http/receiver.js')
  const key = givenKey(options) ?? context.ids.uuid()
  const events = await openEvents(context)
  const { token, port: derivedPort } = await deriveAddress(context, events, key)
  const arrivals = createWakeUp()
  const handler = receiver({
    inbox: {
      keep: async (delivery) => {
        const isNew = await events.keep(await events.clean(delivery))
        if (isNew) arrivals.notify()
        return isNew
      },
    },
    token,
    secrets: [],
    clock: context.clock,
    ...(endpoint.address ? { prefix: endpoint.address.prefix } : {}),
    report: (error) => context.notify(`An event could not be stored: ${(error as Error).message}.`),
  })
  const listening = await listenAt(handler, endpoint, derivedPort)
  const url = webhookUrl(listening, token, endpoint.address)
  if (context.globals.verbose) context.notify(`Waiting for the result at ${url}.`)
  const { port, close } = listening
  return { key, token, port, url, events, arrived: arrivals.next, close: () => close() }
}

async function withReceiver(
  context: Context,
  request: OperationRequest,
  { receives, address, port }: WaitStrategy,
): Promise<OperationRequest> {
  if (!receives) return request
  const { options } = request.invocation
  const key = givenKey(options)
  if (key === undefined)
    context.notify('The path of the webhook URL changes each time unless --idempotency-key is given.')
  const derived = await deriveAddress(context, await openEvents(context), key ?? context.ids.uuid())
  const origin = `http://127.0.0.1:${port ?? derived.port}`
  const webhook_url = webhookUrl({ origin }, derived.token, address)
  return { ...request, input: { ...request.input, webhook_url } }
}

const givenKey = ({ idempotencyKey }: Invocation['options']): string | undefined =>
  typeof idempotencyKey === 'string' ? idempotencyKey : undefined

/** Derives path and port from a key and a secret of this machine. */
async function deriveAddress(
  context: ClockContext,
  events: Events,
  key: string,
): Promise<{ readonly token: string; readonly port: number }> {
  const { newToken } = await import('../../http/receiver.js')
  const secret = await events.token(newToken(context.ids.bytes(16)))
  const digest = createHmac('sha256', secret).update(key).digest()
  // Systems choose their own ports above this range.
  return { token: newToken(digest.subarray(0, 16)), port: 20_000 + (digest.readUInt16BE(16) % 12_000) }
}

async function listenAt(
  handler: (request: Request) => Promise<Response>,
  { address, port }: Endpoint,
  derivedPort: number,
): Promise<Listening> {
  const { listen } = await import('../../http/listen.js')
  const at = (chosen: number) =>
    listen({ handler, host: '127.0.0.1', port: chosen, ...(address ? { allowHosts: [address.host] } : {}) })
  try {
    return await at(port ?? (address ? deliveriesPort : derivedPort))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (address === undefined && port === undefined) return at(0)
    throw new Refusal(error.code, { ...error.details, receives: true })
  }
}

/** Creates a notification that one reader waits for. It is remembered until the reader asks for the next one. */
function createWakeUp() {
  let isPending = false
  let wake: () => void = () => {}
  return {
    notify: () => {
      isPending = true
      wake()
    },
    next: (over: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const end = () => {
          over.removeEventListener('abort', end)
          isPending = false
          resolve()
        }
        wake = end
        over.addEventListener('abort', end)
        if (isPending || over.aborted) end()
      }),
  }
}
