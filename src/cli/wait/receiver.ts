import { createHmac } from 'node:crypto'
import type { Listening } from '../../http/listen.js'
import type { Events } from '../../storage/state/webhook-inbox.js'
import type { ClockContext, GlobalOptions, StreamsContext } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { type PublicAddress, webhookUrl } from '../options/webhooks.js'

/** Where a command receives. */
export interface ReceivingPlace {
  /** Where the server reaches it, when that is not where it listens. */
  readonly known: PublicAddress | undefined
  /** The port that this address leads to; one that follows from the key where it is not given. */
  readonly port: number | undefined
  /** The idempotency key of the request: the same one has the same address again. */
  readonly key: string
}

/** A receiver of the deliveries for one command. */
export interface Receiving {
  /** The unguessable part of its path, under which they are kept. */
  readonly token: string
  readonly port: number
  /** The address to give to the server. */
  readonly url: string
  /** Resolves when something new has arrived since it was asked last, or at the signal. */
  heard(over: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Where `prospect listen` is by itself, so that a tunnel to it leads here as well. */
export const usualPort = 4011

/** Listens for the deliveries of one command; each is kept before it is answered. */
export async function openReceiving(
  context: StreamsContext & ClockContext,
  events: Events,
  place: ReceivingPlace,
  globals: GlobalOptions,
): Promise<Receiving> {
  const { receiver } = await import('../../http/receiver.js')
  const { token, port: usual } = await addressOf(context, events, place.key)
  const bell = createWakeUp()
  const handler = receiver({
    inbox: events,
    token,
    secrets: [],
    clock: context.clock,
    ...(place.known ? { prefix: place.known.prefix } : {}),
    received: bell.ring,
    report: (error) => context.notify(`An event could not be kept: ${(error as Error).message}.`, globals),
  })
  const listening = await listenAt(handler, place, usual)
  const { port, close } = listening
  return {
    token,
    port,
    url: webhookUrl(listening, token, place.known),
    heard: bell.heard,
    close: () => close(),
  }
}

/** Where a command with a key receives, as far as that is known before it listens: the port may be in use. */
export async function expectedUrl(
  context: ClockContext,
  events: Events,
  place: ReceivingPlace,
): Promise<string> {
  const { token, port } = await addressOf(context, events, place.key)
  return webhookUrl({ origin: `http://127.0.0.1:${place.port ?? port}` }, token, place.known)
}

/** The path and the port that follow from a key on this machine. */
async function addressOf(
  context: ClockContext,
  events: Events,
  key: string,
): Promise<{ readonly token: string; readonly port: number }> {
  const { newToken } = await import('../../http/receiver.js')
  const own = await events.token(newToken(context.ids.bytes(16)))
  const digest = createHmac('sha256', own).update(key).digest()
  return { token: newToken(digest.subarray(0, 16)), port: portOf(digest.readUInt16BE(16)) }
}

/** Ports for which no system chooses by itself. */
const portOf = (number: number): number => 20_000 + (number % 12_000)

async function listenAt(
  handler: (request: Request) => Promise<Response>,
  { known, port }: ReceivingPlace,
  usual: number,
): Promise<Listening> {
  const { listen, ListenError } = await import('../../http/listen.js')
  const at = (chosen: number) =>
    listen({ handler, host: '127.0.0.1', port: chosen, ...(known ? { allowHosts: [known.host] } : {}) })
  const isFree = known === undefined && port === undefined
  try {
    return await at(port ?? (known ? usualPort : usual))
  } catch (error) {
    if (!(error instanceof ListenError)) throw error
    if (isFree) return at(0)
    const text = error.message.replace('--port, or 0 for a free one', '--receive-port')
    throw new UsageError(`${text}.`, 'It is the port of this machine that --public-url leads to.')
  }
}

/** Lets one wait for a ring; one that nobody waits for is heard by the next who does. */
function createWakeUp() {
  let rung = false
  let wake: () => void = () => {}
  return {
    ring: () => {
      rung = true
      wake()
    },
    heard: (over: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const end = () => {
          over.removeEventListener('abort', end)
          rung = false
          resolve()
        }
        wake = end
        over.addEventListener('abort', end)
        if (rung || over.aborted) end()
      }),
  }
}
