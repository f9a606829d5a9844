import { createHash } from 'node:crypto'
import type { Home } from '../../../client/retargeted-webhooks.js'
import { createSender } from '../../../client/sender.js'
import type { Sender, Targets } from '../../../engine/ports/ports.js'
import { schedule } from '../../../engine/worker/attempt-delivery.js'
import { type Forwarder, forwarder } from '../../../http/forwarder.js'
import type { Forward, Passed, ReceivedDelivery } from '../../../http/inbox.js'
import type { ReceiverOptions } from '../../../http/receiver.js'
import { newToken } from '../../../http/receiver.js'
import { retargetDeliveries } from '../../../http/retargeting.js'
import type { Events } from '../../../storage/state/webhook-inbox.js'
import type { Context } from '../../context/context.js'
import { aborted } from '../../context/interrupts.js'
import { openEvents } from '../../context/open-databases.js'
import { givenSecrets, type PublicAddress, type SecretChoice } from '../../options/webhooks.js'

/** How the deliveries of a server are taken and forwarded. */
export interface DeliveryRetargeting extends Pick<ReceiverOptions, 'parse'> {
  /** The address at which the server reaches this machine. */
  readonly address: PublicAddress
  /** Returns where a workspace of that many members may deliver to. */
  readonly targets: (members: number) => Targets
  /** Secrets that the server signs with. */
  readonly secrets: SecretChoice
  /** Called with each delivery, and the operation that it is a result of, before it is kept. */
  readonly onDelivery:
    | ((operation: string | undefined, delivery: ReceivedDelivery) => Promise<void>)
    | undefined
}

/** Opens what takes deliveries at a public address, keeps them and forwards them, signed by this machine's workspace. */
export async function openRetargeting(context: Context, options: DeliveryRetargeting) {
  const { clock, ids } = context
  const { address, onDelivery, parse } = options
  const admin = await context.admin()
  const events = await openEvents(context)
  const sender = createSender({ clock })
  context.onClose(() => sender.close())
  const targets = async () => options.targets((await admin.members()).length)
  const send = async (url: string, { headers, body }: Forward['delivery']): Promise<Passed> => {
    const id = headers['webhook-id'] ?? `msg_${createHash('sha256').update(body).digest('hex').slice(0, 32)}`
    const secrets = [await admin.webhookSecret(false)]
    return toPassed(
      await sender.send({ ...(await targets()), url, id, timestamp: clock.now(), body, secrets }),
    )
  }
  const forwarding = createForwarding(context, events, send)
  const deliveries = retargetDeliveries({
    secret: await events.token(newToken(ids.bytes(16))),
    random: () => ids.bytes(16),
    prefix: address.prefix,
    ...(parse ? { parse } : {}),
    secrets: await givenSecrets(context.streams, options.secrets),
    clock,
    // Counted first, which happens once however often it comes: once kept, it is not sent to us again.
    keep: async (delivery, { target, operation }) => {
      await onDelivery?.(operation, delivery)
      return forwarding.keep(delivery, target)
    },
    received: forwarding.wake,
    report: (error) => context.notify(`A delivery could not be stored: ${(error as Error).message}.`),
  })
  const home: Home = {
    check: async (url) => sender.check(url, await targets()),
    addressFor: (url, operation, key) =>
      address.origin + address.prefix + deliveries.pathFor(url, operation, key),
  }
  return { home, deliveries, forwarding }
}

const toPassed = ({ status, error }: Awaited<ReturnType<Sender['send']>>): Passed => ({
  ok: error === null,
  answer: status === null ? (error ?? 'not sent') : String(status),
  ...(status === 410 ? { isFinal: true } : {}),
})

/** Before the addresses of what waits here, because the forwarders of `listen` do not sign. */
const mark = 'signed '

/** Creates what forwards on our own schedule, each address independently. */
function createForwarding(
  { clock, sleep, notify }: Context,
  events: Events,
  send: (url: string, delivery: Forward['delivery']) => Promise<Passed>,
) {
  const forwarders = new Map<string, Forwarder>()
  const running: Promise<void>[] = []
  let over: AbortSignal | undefined
  const start = (target: string): Forwarder => {
    const one = forwarder({
      outbox: events.outbox(target),
      pass: (delivery) => send(target.slice(mark.length), delivery),
      clock,
      sleep,
      pausesMs: schedule.slice(1),
      passed: ({ delivery }, { ok, answer }, isLast) => {
        const id = delivery.headers['webhook-id'] ?? 'A delivery'
        if (!ok && isLast)
          notify(`${id} was not forwarded (${answer}) and is given up. See: prospect events list`)
      },
      report: (error) => notify(`Forwarding is paused: ${(error as Error).message}.`),
    })
    forwarders.set(target, one)
    if (over) running.push(one.run(over))
    return one
  }
  return {
    /** Keeps a delivery to forward. Returns whether it was new. */
    keep: (delivery: ReceivedDelivery, url: string) => events.keep(delivery, mark + url),
    /** Looks for deliveries to an address. */
    wake: (url: string): void => {
      if (over && !over.aborted) (forwarders.get(mark + url) ?? start(mark + url)).wake()
    },
    /** Forwards until the signal, beginning with what was kept earlier. */
    run: async (signal: AbortSignal): Promise<void> => {
      over = signal
      for (const target of await events.waitingTargets(mark)) start(target)
      await aborted(signal)
      await Promise.all(running)
    },
  }
}
