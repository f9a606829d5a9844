import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { Passed } from '../../../http/inbox.js'
import { passOn } from '../../../http/pass-on.js'
import type { Events, KeptEvent } from '../../../storage/state/webhook-inbox.js'
import type { ClockContext, GlobalOptions } from '../../context/context.js'
import { Stop } from '../../context/errors.js'
import { exitOfSignal, interruptible } from '../../context/interrupts.js'
import type { CommandEnvironment } from '../../options/command-environment.js'

/** Pauses before an address that does not answer is tried again, in milliseconds. */
const pausesMs = [1_000, 5_000]

/** What became of an event that was sent on, as the result of a command shows it. */
interface Sent {
  readonly id: string
  readonly event: string
  readonly delivered: boolean
  readonly answer: string
}

/** Events, and where to send them. */
export interface Sending {
  readonly events: Events
  readonly target: string
  /** Numbers of the events, in the order in which they are sent. */
  readonly numbers: AsyncIterable<number> | Iterable<number>
}

/**
 * Sends events to an address one after the other, and prints what became of each. One that is refused is told and the
 * next is sent; an address that does not answer ends it.
 */
export async function sendAll(
  environment: CommandEnvironment,
  sending: Sending,
  globals: GlobalOptions,
): Promise<number> {
  const { context } = environment
  const sent: Sent[] = []
  const exit = await interruptible(context.streams, async (signal) => {
    await send(context, sending, sent, signal)
    return exitOfSignal(signal)
  })
  await environment.print(sent, globals, { columns: ['id', 'event', 'delivered', 'answer'] })
  if (exit !== undefined) return exit
  judge(sent, sending.target)
  return exitCodes.ok
}

async function send(
  context: ClockContext,
  sending: Sending,
  sent: Sent[],
  signal: AbortSignal,
): Promise<void> {
  const { events, target, numbers } = sending
  for await (const seq of numbers) {
    const event = await events.at(seq)
    if (!event) continue
    const passed = await attempt(context, target, event, signal)
    if (signal.aborted && !passed.ok) return
    await events.noteForward(event, target, passed, context.clock.now())
    sent.push({ id: event.id, event: event.event, delivered: passed.ok, answer: passed.answer })
    if (signal.aborted || isSilent(passed)) return
  }
}

async function attempt(
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

/** Whether an address could not answer for itself just now: every further event would meet the same. */
const isSilent = ({ ok, answer }: Passed): boolean => !ok && !/^(?!408|429)[1-4]\d\d$/.test(answer)

/** Ends the command badly where an event did not arrive. */
function judge(sent: readonly Sent[], target: string): void {
  const failed = sent.filter(({ delivered }) => !delivered)
  const last = sent.at(-1)
  if (failed.length === 0 || !last) return
  if (isSilent({ ok: last.delivered, answer: last.answer }))
    throw new Stop(
      `${new URL(target).origin} does not take events: ${last.answer}. It stopped at ${last.id}.`,
      exitCodes.unreachable,
      'Start what listens there, and send the rest again.',
      'unreachable',
    )
  throw new Stop(
    `${failed.length} of ${sent.length} events were refused.`,
    exitCodes.someFailed,
    'The output has the answers.',
    'refused',
  )
}
