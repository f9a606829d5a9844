import { createHash } from 'node:crypto'
import type { Home } from '../../../client/retargeted-webhooks.js'
import { createSender } from '../../../client/sender.js'
import type { Attempt, Sender, Targets } from '../../../engine/ports/ports.js'
import { schedule } from '../../../engine/worker/attempt-delivery.js'
import { type Forwarder, forwarder } from '../../../http/forwarder.js'
import type { Delivery, Forward, Passed } from '../../../http/inbox.js'
import { newToken } from '../../../http/receiver.js'
import { type DeliveryRetargeting, retargetDeliveries } from '../../../http/retargeting.js'
import type { Events } from '../../../storage/state/webhook-inbox.js'
import type { ClockContext, Context, GlobalOptions, StreamsContext } from '../../context/context.js'
import { aborted } from '../../context/interrupts.js'
import { openEvents } from '../../context/open-events.js'
import { givenSecrets, type PublicAddress, type SecretChoice } from '../../options/webhooks.js'
import type { PassedSpending } from './proxied-work.js'

/** Deliveries of a server that come here first, and go from here to those they are for. */
export interface RetargetedServer {
  readonly home: Home
  readonly deliveries: DeliveryRetargeting
  readonly passingOn: PassingOn
}

/** Prepares to take deliveries at a public address; they are kept, and passed on with the signature of the workspace. */
export async function openRetargeting(
  context: Context,
  known: PublicAddress,
  targets: (members: number) => Targets,
  choice: SecretChoice,
  globals: GlobalOptions,
  delivered: PassedSpending['delivered'] = async () => {},
): Promise<RetargetedServer> {
  const { clock, ids } = context
  const admin = await context.admin(globals)
  const events = await openEvents(context)
  const sender = createSender({ clock })
  context.onClose(() => sender.close())
  const permitted = async () => targets((await admin.members()).length)
  const secret = () => admin.webhookSecret(false)
  const passing = passingOn(context, events, { sender, secret, targets: permitted }, globals)
  const receiving = retargetDeliveries({
    secret: await events.token(newToken(ids.bytes(16))),
    random: () => ids.bytes(16),
    prefix: known.prefix,
    secrets: await givenSecrets(context.streams, choice),
    clock,
    // Counted first, which is done once however often it comes: what is kept is not sent to us again.
    keep: async (delivery, { target, operation }) => {
      await delivered(operation, delivery)
      return passing.keep(delivery, target)
    },
    received: passing.wake,
    report: (error) => context.notify(`A delivery could not be kept: ${(error as Error).message}.`, globals),
  })
  const home: Home = {
    check: async (url) => sender.check(url, await permitted()),
    addressFor: (url, operation, key) => known.origin + known.prefix + receiving.pathFor(url, operation, key),
  }
  return { home, deliveries: receiving, passingOn: passing }
}

/** What is passed on waits under the address with this before it: other forwarders do not sign. */
const mark = 'signed '

/** Passes deliveries on to the addresses they are for, signed by us. */
export interface PassingOn {
  /** Keeps a delivery, to be passed on; answers whether it was new. */
  keep(delivery: Delivery, url: string): Promise<boolean>
  wake(url: string): void
  /** Works until the signal: what waits from before first. */
  run(over: AbortSignal): Promise<void>
}

/** What signs, and where it may go. */
export interface Signing {
  readonly sender: Sender
  /** Of the workspace. */
  readonly secret: () => Promise<string>
  readonly targets: () => Promise<Pick<Attempt, 'allow' | 'loopback'>>
}

/** Makes what passes deliveries on, on the schedule of our own; each address has its own turn. */
export function passingOn(
  context: StreamsContext & ClockContext,
  events: Events,
  signing: Signing,
  globals: GlobalOptions,
): PassingOn {
  const { clock, sleep, notify } = context
  const forwarders = new Map<string, Forwarder>()
  const underWay: Promise<void>[] = []
  let over: AbortSignal | undefined
  const start = (target: string): Forwarder => {
    const one = forwarder({
      outbox: events.outbox(target),
      pass: (delivery) => pass(delivery, target.slice(mark.length), context, signing),
      clock,
      sleep,
      pausesMs: schedule.slice(1),
      passed: (forward, passed, isLast) => {
        if (!passed.ok && isLast) notify(failure(forward, passed), globals)
      },
      report: (error) => notify(`Passing on waits: ${(error as Error).message}.`, globals),
    })
    forwarders.set(target, one)
    if (over) underWay.push(one.run(over))
    return one
  }
  return {
    keep: (delivery, url) => events.keep(delivery, mark + url),
    wake: (url) => {
      if (over && !over.aborted) (forwarders.get(mark + url) ?? start(mark + url)).wake()
    },
    run: async (signal) => {
      over = signal
      for (const target of await events.waitingTargets(mark)) start(target)
      await aborted(signal)
      await Promise.all(underWay)
    },
  }
}

async function pass(
  { headers, body }: Forward['delivery'],
  url: string,
  { clock }: ClockContext,
  { sender, secret, targets }: Signing,
): Promise<Passed> {
  const id = headers['webhook-id'] ?? `msg_${createHash('sha256').update(body).digest('hex').slice(0, 32)}`
  const secrets = [await secret()]
  const sent = await sender.send({ ...(await targets()), url, id, timestamp: clock.now(), body, secrets })
  const answer = sent.status === null ? (sent.error ?? 'not sent') : String(sent.status)
  return { ok: sent.error === null, answer, ...(sent.status === 410 ? { isFinal: true } : {}) }
}

function failure({ delivery }: Forward, { answer }: Passed): string {
  const id = delivery.headers['webhook-id'] ?? 'A delivery'
  return `${id} was not passed on (${answer}): given up. See: prospect events list`
}
