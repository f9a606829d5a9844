import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { Passed } from '../../../http/inbox.js'
import { passOn } from '../../../http/pass-on.js'
import type { Events, KeptEvent } from '../../../storage/state/webhook-inbox.js'
import type { ClockContext, Context } from '../../context/context.js'
import { Stop } from '../../context/errors.js'
import { exitOfSignal, interruptible } from '../../context/interrupts.js'
import { print } from '../../output/print.js'

/** Pauses before each retry of an address that does not answer, in milliseconds. */
const pausesMs = [1_000, 5_000]

/** The result of sending an event, as commands print it. */
export interface SentEvent {
  readonly id: string
  readonly event: string
  readonly delivered: boolean
  readonly answer: string
}

/** Which events to send, and where. */
export interface SendRequest {
  readonly events: Events
  readonly target: string
  /** Numbers of the events, in the order in which they are sent. */
  readonly numbers: AsyncIterable<number> | Iterable<number>
}

/**
 * Sends events to an address in sequence, and prints the result of each. A refused event does not stop the others; an
 * address that does not answer does. Returns the exit code.
 */
export async function sendAll(context: Context, sending: SendRequest): Promise<number> {
  const sent: SentEvent[] = []
  const exit = await interruptible(context.streams, async (signal) => {
    await sendEvents(context, sending, sent, signal)
    return exitOfSignal(signal)
  })
  await print(context, sent, { columns: ['id', 'event', 'delivered', 'answer'] })
  if (exit !== undefined) return exit
  checkSent(sent, sending.target)
  return exitCodes.ok
}

/** Sends events to an address in sequence, and adds the result of each to `sent`. */
export async function sendEvents(
  context: ClockContext,
  sending: SendRequest,
  sent: SentEvent[],
  signal: AbortSignal,
): Promise<void> {
  const { events, target, numbers } = sending
  for await (const seq of numbers) {
    const event = await events.at(seq)
    if (!event) continue
    const passed = await sendWithRetries(context, target, event, signal)
    if (signal.aborted && !passed.ok) return
    await events.noteForward(event, target, passed, context.clock.now())
    sent.push({ id: event.id, event: event.event, delivered: passed.ok, answer: passed.answer })
    if (signal.aborted || isSilent(passed)) return
  }
}

async function sendWithRetries(
  context: ClockContext,
  target: string,
  event: KeptEvent,
  signal: AbortSignal,
): Promise<Passed> {
  for (const pause of pausesMs) {
    const passed = await passOn(target, event, signal)
    if (!isSilent(passed) || signal.aborted) return passed
    await context.sleep(pause, signal).catch(() => {})
  }
  return passOn(target, event, signal)
}

/** Returns whether an address is unavailable, so that further events would fail, too. */
const isSilent = ({ ok, answer }: Passed): boolean => !ok && !/^(?!408|429)[1-4]\d\d$/.test(answer)

/** Throws a `Stop` when an event was not delivered. */
export function checkSent(sent: readonly SentEvent[], target: string): void {
  const failed = sent.filter(({ delivered }) => !delivered)
  const last = sent.at(-1)
  if (failed.length === 0 || !last) return
  if (isSilent({ ok: last.delivered, answer: last.answer }))
    throw new Stop(
      `${new URL(target).origin} does not accept events: ${last.answer}. Sending stopped at ${last.id}.`,
      exitCodes.unreachable,
      'Start the receiver, then send the remaining events again.',
      'unreachable',
    )
  throw new Stop(
    `${failed.length} of ${sent.length} events were refused.`,
    exitCodes.someFailed,
    'The output shows each answer.',
    'refused',
  )
}
