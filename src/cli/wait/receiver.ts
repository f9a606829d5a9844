import { createHmac } from 'node:crypto'
import { Refusal } from '../../api/calls/errors.js'
import type { Listening } from '../../http/listen.js'
import type { Events } from '../../storage/state/webhook-inbox.js'
import type { ClockContext, Context } from '../context/context.js'
import { openEvents } from '../context/open-databases.js'
import type { OperationRequest } from '../operation/request.js'
import type { Invocation } from '../options/command-environment.js'
import { webhookUrl } from '../options/webhooks.js'
import type { WaitStrategy } from './strategy.js'

/** A receiver of the deliveries for one command. */
export interface Receiver {
  /** The idempotency key of the request. The same key leads to the same path and port again. */
  readonly key: string
  /** The unguessable part of its path, under which its deliveries are stored. */
  readonly token: string
  readonly port: number
  /** The address to give to the server. */
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
export async function openReceiver(
  context: Context,
  endpoint: Endpoint,
  { options }: Invocation,
): Promise<Receiver> {
  const { receiver } = await import('../../http/receiver.js')
  const { createBodyThreads } = await import('../../http/body-threads.js')
  const key = givenKey(options) ?? context.ids.uuid()
  const events = await openEvents(context)
  const { token, port: derivedPort } = await deriveAddress(context, events, key)
  const arrivals = createWakeUp()
  const handler = receiver({
    inbox: events,
    parse: createBodyThreads().parse,
    token,
    secrets: [],
    clock: context.clock,
    ...(endpoint.address ? { prefix: endpoint.address.prefix } : {}),
    received: arrivals.notify,
    report: (error) => context.notify(`An event could not be stored: ${(error as Error).message}.`),
  })
  const listening = await listenAt(handler, endpoint, derivedPort)
  const url = webhookUrl(listening, token, endpoint.address)
  if (context.globals.verbose) context.notify(`Waiting for the result at ${url}.`)
  const { port, close } = listening
  return { key, token, port, url, events, arrived: arrivals.next, close: () => close() }
}

/** Returns a request as `--wait` sends it to a server: with the address of the receiver. */
export async function withReceiver(
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
