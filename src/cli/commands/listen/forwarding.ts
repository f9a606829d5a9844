import { type Forwarder, forwarder } from '../../../http/forwarder.js'
import type { Forward, Passed } from '../../../http/inbox.js'
import { passOn } from '../../../http/pass-on.js'
import type { Events } from '../../../storage/state/webhook-inbox.js'
import type { ClockContext, GlobalOptions, StreamsContext } from '../../context/context.js'

/** Sends on what a receiver keeps, and tells on stderr what did not arrive. */
export function forwarding(
  { clock, sleep, notify }: StreamsContext & ClockContext,
  events: Events,
  target: string,
  globals: GlobalOptions,
): Forwarder {
  return forwarder({
    outbox: events.outbox(target),
    pass: (delivery, signal) => passOn(target, delivery, signal),
    clock,
    sleep,
    passed: (forward, passed, isLast) => {
      if (!passed.ok) notify(failure(forward, passed, isLast), globals)
    },
    report: (error) => notify(`Forwarding waits: ${(error as Error).message}.`, globals),
  })
}

function failure({ delivery, attempts }: Forward, { answer }: Passed, isLast: boolean): string {
  const id = delivery.headers['webhook-id'] ?? 'An event'
  const next = isLast ? 'given up; send it again with: prospect events replay' : 'it is tried again'
  return `${id} was not forwarded (attempt ${attempts + 1}: ${answer}): ${next}.`
}
