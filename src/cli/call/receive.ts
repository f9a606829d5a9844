import { createHmac } from 'node:crypto'
import { ConnectionLost, isOk, type Reply } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isHiddenIn } from '../../api/operations/table.js'
import { ownWebhook } from '../../api/validation/own-webhook.js'
import { isObject } from '../../api/values/objects.js'
import { isOwnMachine } from '../../api/values/url.js'
import { eventOf, isCompanyImport } from '../../api/webhooks/events.js'
import {
  type Carried,
  creditsOfRecord,
  type DeliveredRecord,
  parseDelivery,
  recordKey,
} from '../../client/parse-delivery.js'
import { pollWork } from '../../runs/poll.js'
import type { Events } from '../../storage/state/webhook-inbox.js'
import type { Context } from '../context/context.js'
import { reportOfReply, Stop } from '../context/errors.js'
import { openEvents } from '../context/open-databases.js'
import { type PublicAddress, publicAddress, webhookUrl } from '../options/webhooks.js'
import type { Row } from '../output/records.js'
import { type Target, targetIn } from '../target/resolve-target.js'
import type { OperationRequest } from './build.js'
import { type PolledWork, pollPorts, refuse, type Work } from './poll.js'
import type { AcceptedWork, WorkProgress } from './result.js'
import { sendRequest } from './send.js'

/** The port of `prospect listen`, so that a tunnel to it leads here as well. */
export const deliveriesPort = 4011

/**
 * Returns where a server reaches this machine while a command waits: the address given, or for companies the tunnel of the
 * profile, because that they can be polled is observed and not specified. A tunnel leads to one port, which one command at a
 * time can use. `undefined` where the work is polled, or a webhook of the user's own is given.
 */
export function receivingAddress(
  target: Target,
  { operation, input, invocation: { options } }: Pick<OperationRequest, 'operation' | 'input' | 'invocation'>,
): PublicAddress | undefined {
  if (input.webhook_url !== undefined && input.webhook_url !== ownWebhook) return undefined
  const kind = eventOf(operation.id)
  const hasTunnel =
    target.kind === 'remote' &&
    kind !== undefined &&
    isCompanyImport(kind) &&
    !isOwnMachine(new URL(target.baseUrl))
  return publicAddress(
    (options.publicUrl as string | undefined) ?? (hasTunnel ? target.publicUrl : undefined),
  )
}

/** Prepares a request whose result this command receives. The same idempotency key leads to the same path again. */
export async function prepareToReceive(context: Context, request: OperationRequest, address: PublicAddress) {
  const { newToken, receiver } = await import('../../http/receiver.js')
  const { input, invocation } = request
  const { idempotencyKey, receivePort, dryRun } = invocation.options
  const key = typeof idempotencyKey === 'string' ? idempotencyKey : context.ids.uuid()
  const port = (receivePort as number | undefined) ?? deliveriesPort
  const events = await openEvents(context)
  const secret = await events.token(newToken(context.ids.bytes(16)))
  const token = newToken(createHmac('sha256', secret).update(key).digest().subarray(0, 16))
  const webhook_url = webhookUrl('', token, address)
  if (dryRun === true && key !== idempotencyKey)
    context.notify('The path of the webhook URL changes each time unless --idempotency-key is given.')
  const asked: OperationRequest = {
    ...request,
    input: { ...input, webhook_url },
    invocation: { ...invocation, options: { ...invocation.options, idempotencyKey: key } },
  }
  const handler = receiver({
    inbox: { keep: async (delivery) => events.keep(await events.clean(delivery)) },
    token,
    secrets: [],
    clock: context.clock,
    prefix: address.prefix,
    report: (error) => context.notify(`An event could not be stored: ${(error as Error).message}.`),
  })
  const again = `Run the same command again with --idempotency-key ${key}: a server that supports idempotency keys starts the job once.`
  const listenCommand = `prospect listen --public-url ${address.origin}${address.prefix} --port ${port} --path ${token}`
  return {
    request: asked,
    /** Listens for the deliveries of this command. Each is stored before it is acknowledged. */
    listen: async () => {
      const { listen } = await import('../../http/listen.js')
      const place = { host: '127.0.0.1', port, allowHosts: [address.host] }
      const listening = await listen({ handler, ...place }).catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error
        throw new Refusal(error.code, { ...error.details, receives: true })
      })
      if (context.globals.verbose) context.notify(`Waiting for the result at ${webhook_url}.`)
      return listening
    },
    send: async (shown: Context): Promise<Reply> => {
      const refuseOpen = (text: string): never => {
        throw new Stop(text, exitCodes.unreachable, again, 'outcome_unknown')
      }
      const reply = await sendRequest(shown, asked).catch((error: unknown) => {
        if (!(error instanceof ConnectionLost && error.unknown)) throw error
        return refuseOpen(`${error.message}. Whether the job was started and charged is not known`)
      })
      return reply.unknown ? refuseOpen(reportOfReply(reply).error) : reply
    },
    work: (polled: PolledWork): Work => receivedWork(context, polled, events, token, listenCommand),
  }
}

/** How long nothing may arrive before the server is polled too, in milliseconds: it may not reach this machine. */
const quietMs = 30_000

/** The server is then polled once for so many looks at what has arrived. */
const looksPerPoll = 15

const nothingNew: Reply = { status: 200, body: {}, headers: {}, credits: 0 }

const atOnce = 100

/**
 * Returns work whose deliveries this command receives. Duplicates count once; a result can come in parts or record by record.
 * As long as nothing has arrived, it is polled after a while.
 */
function receivedWork(
  context: Context,
  polled: PolledWork,
  events: Events,
  token: string,
  listenCommand: string,
): Work {
  const { accepted, next } = polled
  const target = targetIn(context)
  const names = target.kind === 'remote' ? target.names : undefined
  const gathering = createGathering(accepted)
  let last = 0
  let isPolled = false
  async function* deliveriesAfter(seq: number) {
    for (let after = seq; ; ) {
      const arrived = await events.arrived(token, after, atOnce)
      for (const one of arrived) yield { seq: one.seq, carried: parseDelivery(accepted.kind, one, names) }
      if (arrived.length < atOnce) return
      after = arrived.at(-1)?.seq ?? after
    }
  }
  const catchUp = async () => {
    for await (const { seq, carried } of deliveriesAfter(last)) {
      gathering.take(carried)
      last = seq
    }
    return gathering.progress()
  }
  /** Reads them again, because somebody may be suppressed since they arrived. */
  async function* received() {
    const again = createGathering(accepted)
    for await (const { carried } of deliveriesAfter(0)) again.take(carried)
    yield* again.records()
  }
  const follow: Work['follow'] = async (over, onProgress) => {
    const done = new AbortController()
    const quiet = { isOver: false, looks: 0 }
    const wait = context.sleep(quietMs, AbortSignal.any([over, done.signal]))
    wait.then(() => Object.assign(quiet, { isOver: true })).catch(() => {})
    let progress = gathering.progress()
    const ask = async () => {
      progress = await catchUp()
      onProgress(progress)
      if (
        progress.state !== 'going' ||
        progress.done > 0 ||
        !quiet.isOver ||
        quiet.looks++ % looksPerPoll > 0
      )
        return nothingNew
      const reply = await polled.ask()
      if (reply instanceof ConnectionLost) return nothingNew
      if (reply.unusable !== undefined) refuse(reply)
      // It may not let companies be read, and deliver them all the same.
      return isOk(reply) ? reply : nothingNew
    }
    const readEnd = (reply: Reply) => {
      if (progress.state !== 'going') return progress
      const end = reply === nothingNew ? undefined : polled.read(reply)
      isPolled = end !== undefined
      return end
    }
    const end = pollWork(pollPorts(context), over, true, ask, readEnd, refuse)
    return (await end.finally(() => done.abort())) ?? progress
  }
  return {
    accepted,
    follow,
    records: () => (isPolled ? polled.records() : received()),
    next: isCompanyImport(accepted.kind)
      ? {
          ...next,
          see: `prospect events list --event ${accepted.kind}`,
          toContinue: `The server continues the job; receive the rest with: ${listenCommand}`,
        }
      : next,
  }
}

/** Whether nothing is left of a record, because it was about somebody suppressed. */
const isEmpty = (record: Row): boolean =>
  Object.values(record).every((held) => held === null || (isObject(held) && isEmpty(held as Row)))

/** Where a record without an ordinal stands: after all others. */
const lastPlace = Number.MAX_SAFE_INTEGER

function createGathering(accepted: AcceptedWork) {
  const known = new Map<string, DeliveredRecord>()
  const parts = new Set<number>()
  const end = { parts: Number.POSITIVE_INFINITY, total: 0, truncated: false, spent: 0, failures: 0 }
  let error: string | undefined
  let isForeign = false
  return {
    /** Adds a delivery; records that came before are ignored. */
    take: (carried: Carried) => {
      for (const one of carried.found.filter(isAnswer)) {
        if (known.has(recordKey(one))) continue
        known.set(recordKey(one), one)
        end.spent += creditsOfRecord(accepted.operation, accepted.kind, one.record)
      }
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
      const isSuppressed = done > 0 && [...known.values()].every(({ record }) => isHiddenIn(record))
      return { state, done, expected, truncated, spent, error, ...(isSuppressed && { isSuppressed }) }
    },
    /** Returns the records in the order in which they were found; those without an ordinal come last, as they arrived. */
    records: () =>
      [...known.values()]
        .sort((one, other) => (one.ordinal ?? lastPlace) - (other.ordinal ?? lastPlace))
        .map(({ record }) => record)
        .filter((record) => !isEmpty(record)),
  }
}

function stateOf({ kind, expected = 1 }: AcceptedWork, done: number, failures: number, isWhole: boolean) {
  if (kind !== 'contact_enrichment') return failures > 0 ? 'failed' : isWhole ? 'finished' : 'going'
  if (done + failures < expected) return 'going'
  return failures > 0 ? 'failed' : 'finished'
}

/** Whether a record is a result: some servers also report contacts that are still pending. */
const isAnswer = ({ record }: DeliveredRecord): boolean =>
  record.status !== 'pending' || record.enrichment_id === undefined
