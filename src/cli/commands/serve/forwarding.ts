import { createHash } from 'node:crypto'
import type { Attempt, Sender } from '../../../engine/ports/ports.js'
import { schedule } from '../../../engine/worker/attempt-delivery.js'
import { type Forwarder, forwarder } from '../../../http/forwarder.js'
import type { Delivery, Forward, Passed } from '../../../http/inbox.js'
import type { Events } from '../../../storage/state/webhook-inbox.js'
import type { ClockContext, GlobalOptions, StreamsContext } from '../../context/context.js'
import { aborted } from '../../context/interrupts.js'

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
