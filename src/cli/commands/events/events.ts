import { Argument } from 'commander'
import { Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { parseBody, toPrintableJson } from '../../../api/values/json.js'
import { resultOr, withoutUndefined } from '../../../api/values/objects.js'
import { eventNames, type Passed } from '../../../api/webhooks/events.js'
import { sign } from '../../../api/webhooks/signature.js'
import { passOn } from '../../../http/forwarder.js'
import {
  type EventFilter,
  type Events,
  type KeptEvent,
  unusableReply,
} from '../../../storage/state/webhook-inbox.js'
import { deliveriesPort } from '../../call/receive.js'
import type { Context, Machine } from '../../context/context.js'
import { exitOfSignal, interruptible } from '../../context/io.js'
import { openAdmin, openEvents } from '../../context/open-databases.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { resolveIds, type StoredKind } from '../../options/command-environment.js'
import { type OptionsOf, optionRows, positiveWhole, readTimes, timeOptions } from '../../options/values.js'
import { targetUrl, webhookUrl } from '../../options/webhooks.js'
import { print, printRecords, type View } from '../../output/print.js'
import { flatten, type Row, toView } from '../../output/records.js'
import { record } from '../../output/table.js'
import type { Look } from '../../output/text.js'

export const eventsCommand: CommandFactory = ({ command, group }) =>
  group('events', 'Received events: list, show, send again; sample events', [
    command('list', 'List the received events, newest first')
      .withOptions(filterOptions)
      .reads('records')
      .run(async (context, { options }) => {
        const events = await openEvents(context)
        const which = readFilter(options, context.clock.now())
        const records = async function* (): AsyncGenerator<Row> {
          for await (const { search: search_id, ...event } of readEvents(events, which, 'newest'))
            yield {
              ...toView(event, ['id', 'receivedAt', 'event']),
              search_id,
              ...toView(event, ['verified', 'forwarded', 'bytes']),
            }
        }
        await printRecords(context, records, view)
      }),
    command('show', 'Show a received event: its body, its headers, and where it was forwarded')
      .addStoredId(stored)
      .reads('records')
      .printResult(
        async (context, invocation) => {
          const [event] = await findEvents(await openEvents(context), invocation)
          return event && toEventView(event)
        },
        { layout: formatEvent },
      ),
    command('replay', 'Send received events to an address, with the headers and body they came with')
      .addStoredId(stored, true)
      .requiredOption('--to <url>', 'where to send them')
      .run(async (context, invocation) => {
        const target = targetUrl((invocation.options as { to: string }).to, '--to')
        const events = await openEvents(context)
        const numbers = (await findEvents(events, invocation)).map(({ seq }) => seq)
        return sendAll(context, { events, target, numbers })
      }),
    command('forward', 'Send all received events, or some of them, to an address, oldest first')
      .requiredOption('--to <url>', 'where to send them')
      .withOptions(filterOptions)
      .run(async (context, { options }) => {
        const target = targetUrl((options as { to: string }).to, '--to')
        const events = await openEvents(context)
        const which = readFilter(options, context.clock.now())
        return sendAll(context, { events, target, numbers: readNumbers(events, which) })
      }),
    command(
      'trigger',
      'Send a sample of an event, signed like a delivery, to an address or to prospect listen',
    )
      .addArgument(new Argument('<event>', 'the event').choices(eventNames()))
      .withOptions({ to: ['<url>', 'where to send it (default: prospect listen on this machine)'] })
      .run(async (context, { args: [name = ''], options: { to } }) => {
        const target = to === undefined ? await listeningUrl(context) : targetUrl(to, '--to')
        const { default: samples } = await import('../../../reference/examples.json', {
          with: { type: 'json' },
        })
        const id = `msg_${context.ids.uuid()}`
        const now = context.clock.now()
        const sample = (samples.events as Readonly<Record<string, object>>)[name]
        const body = JSON.stringify({ ...sample, created_at: new Date(now).toISOString() })
        const secret = await (await openAdmin(context, 'records')).webhookSecret(false)
        const { ok, answer } = await passOn(target, { headers: sign(id, now, body, [secret]), body })
        const sent = [{ id, event: name, delivered: ok, answer }]
        await print(context, sent, sentView)
        checkSent(sent, target)
      }),
  ])

const stored: StoredKind = { noun: 'event', list: 'events list' }

const view: View = {
  columns: ['id', 'event', 'received_at', 'verified', 'forwarded', 'search_id'],
  optional: ['forwarded', 'search_id'],
  ids: ['id'],
  empty: 'No events found.',
}

function formatEvent(event: unknown, look: Look, raw: unknown): string {
  const { body: _, ...facts } = event as ReturnType<typeof toEventView>
  const { body } = raw as ReturnType<typeof toEventView>
  return `${record(flatten(facts), look)}\n${look.bold('Body')}\n${toPrintableJson(body, 2)}\n`
}

const toEventView = ({ search: search_id, body, forwards, ...event }: KeptEvent) => ({
  ...toView(event, ['id', 'receivedAt', 'event']),
  search_id,
  ...toView(event, ['verified', 'headers']),
  forwards: forwards.map(({ at: changedAt, ...forward }) => ({
    ...toView(forward, ['target', 'state', 'attempts', 'answer']),
    ...toView({ changedAt, nextAt: forward.nextAt }, ['changedAt', 'nextAt']),
  })),
  // A reply that could not be used may be no JSON.
  body: resultOr(body as unknown, () => parseBody(body)),
})

/** Returns where `prospect listen` receives on this machine, unless it was given another port or path. */
async function listeningUrl(context: Context): Promise<string> {
  const { newToken } = await import('../../../http/receiver.js')
  const token = await (await openEvents(context)).token(newToken(context.ids.bytes(16)))
  return webhookUrl(`http://127.0.0.1:${deliveriesPort}`, token)
}

/** Returns the numbers of selected events, the oldest first; without unusable replies unless these are asked for. */
export async function* readNumbers(events: Events, which: EventSelection): AsyncGenerator<number> {
  for await (const { seq, event } of readEvents(events, which, 'oldest'))
    if (event !== unusableReply || which.filter.event !== undefined) yield seq
}

const filterOptions = optionRows({
  event: ['<name>', 'only this event, such as lead_search.completed, lead_search or completed'],
  ...timeOptions,
  limit: ['-L <n>', 'at most this many', positiveWhole],
})

interface EventSelection {
  readonly filter: EventFilter
  readonly limit: number
}

/** Returns the selection that the options describe. Throws a Refusal when it is empty. */
function readFilter(
  { event, limit = Number.POSITIVE_INFINITY, ...times }: OptionsOf<typeof filterOptions>,
  now: number,
): EventSelection {
  return { filter: withoutUndefined({ event, ...readTimes(times, now) }), limit }
}

const pageRows = 500

async function* readEvents(events: Events, { filter, limit }: EventSelection, order: 'newest' | 'oldest') {
  let after: number | undefined
  for (let left = limit; left > 0; ) {
    const page = await events.list(filter, order, Math.min(pageRows, left), after)
    yield* page
    after = page.at(-1)?.seq
    if (page.length < pageRows) return
    left -= page.length
  }
}

/** Returns the events that arguments and `--last` name; the newest where several addresses got one with the same id. */
async function findEvents(events: Events, invocation: Invocation): Promise<readonly KeptEvent[]> {
  const ids = await resolveIds(invocation, stored, events.idsStartingWith)
  const found = await Promise.all(ids.map((id) => events.find(id)))
  return found.flatMap((event) => event ?? [])
}

const sentView: View = { columns: ['id', 'event', 'delivered', 'answer'] }

export type SentEvent = Readonly<{ id: string; event: string; delivered: boolean; answer: string }>

export interface SendRequest {
  readonly events: Events
  readonly target: string
  /** Numbers of the events, in the order in which they are sent. */
  readonly numbers: AsyncIterable<number> | Iterable<number>
}

/** A refused event does not stop the others; an address that does not answer does. Returns the exit code. */
async function sendAll(context: Context, sending: SendRequest): Promise<number> {
  const { sent, exit } = await interruptible(context.streams, async (signal) => ({
    sent: await sendEvents(context, sending, signal),
    exit: exitOfSignal(signal),
  }))
  await print(context, sent, sentView)
  if (exit !== undefined) return exit
  checkSent(sent, sending.target)
  return exitCodes.ok
}

/** Sends events to an address in sequence, until one shows that it is unavailable, or the signal. */
export async function sendEvents({ clock }: Machine, sending: SendRequest, signal: AbortSignal) {
  const { events, target, numbers } = sending
  const sent: SentEvent[] = []
  for await (const seq of numbers) {
    const event = await events.at(seq)
    if (!event) continue
    const passed = await passOn(target, event, signal)
    if (signal.aborted && !passed.ok) break
    await events.noteForward(event, target, passed, clock.now())
    sent.push({ id: event.id, event: event.event, delivered: passed.ok, answer: passed.answer })
    if (signal.aborted || isSilent(passed)) break
  }
  return sent
}

/** Returns whether an address is unavailable, so that further events would fail, too. */
const isSilent = ({ ok, answer }: Passed): boolean => !ok && !/^(?!408|429)[1-4]\d\d$/.test(answer)

export function checkSent(sent: readonly SentEvent[], target: string): void {
  const failed = sent.filter(({ delivered }) => !delivered)
  const last = sent.at(-1)
  if (failed.length === 0 || !last) return
  if (isSilent({ ok: last.delivered, answer: last.answer }))
    throw new Refusal('usage.events_unsent', { ...last, origin: new URL(target).origin })
  throw new Refusal('usage.events_refused', { failed: failed.length, sent: sent.length })
}
