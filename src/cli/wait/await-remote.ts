import type { Shape } from '../../api/areas/shapes.js'
import { ConnectionLost, type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { failureOf } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { type Operation, operation } from '../../api/operations/table.js'
import { resolvesNothing } from '../../api/operations/units.js'
import type { ClockContext, HomeContext, StreamsContext, TargetContext } from '../context/context.js'
import { reportOfReply, Stop } from '../context/errors.js'
import { exitOfSignal, interruptible, within } from '../context/interrupts.js'
import { openEvents } from '../context/open-databases.js'
import { recordSpent } from '../operation/record-spending.js'
import { asked, refuse, sayNothingFound } from '../operation/run-sync.js'
import type { CommandEnvironment, Invocation } from '../options/command-environment.js'
import { printRecords } from '../output/print-records.js'
import { startProgress } from '../output/progress.js'
import { type Row, valueAt } from '../output/records.js'
import { reportError } from '../output/report-error.js'
import { wantsWebhook } from '../target/own-webhook.js'
import { targetOf } from '../target/resolve-target.js'
import { checkOutput, jobIdOf } from './accepted.js'
import { confirmAll } from './confirm.js'
import { stepText, successText } from './job-outcome.js'
import { columnsOfKind, printNothing } from './job-result.js'
import { waitOf } from './options.js'
import { badEnd, counts, openOutcome, printReceivingAddress, type Trail } from './outcome.js'
import type { Seen, Started, Watch } from './progress.js'
import { openReceiving, type Receiving } from './receiver.js'
import { type Way, waitStrategyOf } from './strategy.js'
import { watchReceived } from './watch-deliveries.js'
import { readerOf, watchPolled } from './watch-polling.js'

/**
 * Sends a request that starts work on a server, waits for its result, and prints that in place of the reply. The result
 * is received by this command, or asked for; where neither can be, nothing is sent. Answers the exit code.
 */
export async function runAwaiting(
  environment: CommandEnvironment,
  row: Operation,
  shape: Shape,
  input: Input,
  invocation: Invocation,
): Promise<number> {
  const { context } = environment
  const { globals, options } = invocation
  const target = targetOf(globals, context.streams.env, context.settings())
  const way = waitStrategyOf(row, input, target, options)
  await checkOutput(context, row, globals)
  if (!(await confirmAll(context, row, input, globals))) return exitCodes.ok
  const work: Work = { environment, row, shape, invocation, way }
  const receives = way.receives ? await receiving(work) : undefined
  try {
    return await interruptible(context.streams, (interrupted) => run(work, input, receives, interrupted))
  } finally {
    await receives?.receiving.close()
  }
}

/** What was asked for, and how its result comes. */
interface Work {
  readonly environment: CommandEnvironment
  readonly row: Operation
  readonly shape: Shape
  readonly invocation: Invocation
  readonly way: Way
}

/** The receiver of a command, with the key that its address follows from. */
interface Receives {
  readonly receiving: Receiving
  readonly events: Awaited<ReturnType<typeof openEvents>>
  readonly key: string
}

async function receiving({ environment: { context }, way, invocation }: Work): Promise<Receives> {
  const { globals, options } = invocation
  const key = typeof options.idempotencyKey === 'string' ? options.idempotencyKey : context.ids.uuid()
  const events = await openEvents(context)
  const { known, port } = way
  const receiving = await openReceiving(context, events, { known, port, key }, globals)
  printReceivingAddress(context, receiving, globals)
  return { receiving, events, key }
}

async function run(
  work: Work,
  input: Input,
  receives: Receives | undefined,
  interrupted: AbortSignal,
): Promise<number> {
  const { environment, row, shape, invocation, way } = work
  const reply = await sent(work, input, receives)
  if (reply.unknown && receives)
    return reportError(
      environment.context,
      { ...reportOfReply(reply), hint: openOutcome(receives.key) },
      invocation.globals,
    )
  if (!isOk(reply)) {
    const isAddress = receives && way.asks && !wantsWebhook(shape) && objectsToAddress(reply)
    if (!isAddress) return refuse(environment, row, reply, invocation)
    environment.context.notify(
      'The server delivers nothing to this machine: it is asked instead.',
      invocation.globals,
    )
    return run(work, input, undefined, interrupted)
  }
  const id = jobIdOf(reply.body)
  if (id === undefined) return printNothing(environment, invocation.globals)
  return see(work, startedBy(work, input, reply, id), reply, receives, interrupted)
}

/** Asks under a key of this command's own where it receives, since its address follows from the key. */
async function sent(
  { environment: { context }, row, invocation }: Work,
  input: Input,
  receives: Receives | undefined,
): Promise<Reply> {
  if (!receives) return asked(context, row, input, invocation)
  const { key, receiving } = receives
  const options = { ...invocation.options, idempotencyKey: key }
  try {
    return await asked(context, row, { ...input, webhook_url: receiving.url }, { ...invocation, options })
  } catch (error) {
    if (!(error instanceof ConnectionLost && error.unknown)) throw error
    const text = `${error.message}. Whether the work was begun and charged is not known`
    throw new Stop(text, exitCodes.unreachable, openOutcome(key), 'outcome_unknown')
  }
}

/** Some servers deliver to public addresses only. */
const objectsToAddress = ({ status, body }: Reply): boolean =>
  [400, 422].includes(status) && failureOf(status, body).text.includes('webhook_url')

function startedBy({ row, way }: Work, input: Input, { body }: Reply, id: string): Started {
  const contacts = valueAt(body, 'contacts')
  const isOne = way.kind === 'contact_enrichment' && !Array.isArray(contacts)
  const limit = typeof input.limit === 'number' ? input.limit : undefined
  const counted = ['total', 'total_count', 'preview_count', 'message.expected_profiles_count']
    .map((path) => valueAt(body, path))
    .find((value): value is number => typeof value === 'number')
  const several = [contacts, input.companies].find(Array.isArray)?.length
  const expected = counted === undefined ? (isOne ? 1 : several) : Math.min(counted, limit ?? counted)
  return { operation: row, kind: way.kind, id, single: isOne || way.kind === 'list_import', limit, expected }
}

/** Waits for the work to end, until a signal, or until the time is up; then prints and tells how it stands. */
async function see(
  work: Work,
  started: Started,
  reply: Reply,
  receives: Receives | undefined,
  interrupted: AbortSignal,
): Promise<number> {
  const { environment, row, invocation, way } = work
  const { context } = environment
  const { globals, options } = invocation
  const reader = way.asks ? readerOf(way.kind) : undefined
  const polled = reader && watchPolled(context, started, reader, globals)
  const { names } = targetNames(context, globals)
  const received = receives && watchReceived(started, { ...receives, names })
  const progress = await startProgress(context, globals, stepText({ kind: way.kind, operation: row.id }))
  const onSeen = ({ done, spent, expected }: Seen) =>
    progress.update({ rows: done, found: done, credits: spent, total: expected })
  const before =
    isAgain(reply) && received ? (await received.follow(AbortSignal.abort(), onSeen)).state : 'going'
  const { seen, watch } = await within(context, interrupted, waitOf(options).seconds, (over) =>
    followed(context, received, polled, over, onSeen),
  ).finally(() => progress.stop())
  // What was there before this command came was put on record by the one that waited for it first.
  if (seen.state !== 'going' && before === 'going') await recordSpent(context, row, seen.spent, globals)
  const isLeft = seen.state === 'going' && receives !== undefined
  const key = isLeft && (await honours(context, work)) ? receives.key : undefined
  const trail = { started, receiving: receives?.receiving, key, globals }
  return end(environment, trail, seen, watch, exitOfSignal(interrupted))
}

const isAgain = ({ headers }: Reply): boolean => headers['idempotent-replayed'] === 'true'

function targetNames(context: StreamsContext & HomeContext, globals: Invocation['globals']) {
  const target = targetOf(globals, context.streams.env, context.settings())
  return { names: target.kind === 'remote' ? target.names : undefined }
}

async function honours(context: TargetContext, { invocation }: Work): Promise<boolean> {
  const caller = await context.caller(invocation.globals)
  return (await caller.supportsIdempotency?.()) ?? true
}

async function end(
  environment: CommandEnvironment,
  trail: Trail,
  seen: Seen,
  watch: Watch,
  interruption: number | undefined,
): Promise<number> {
  const { context } = environment
  const { started, globals } = trail
  const found = seen.state === 'finished' ? await printed(environment, started, watch, globals) : true
  const bad = badEnd(trail, seen, interruption)
  if (bad) return reportError(context, bad, globals)
  if (!found) return sayNothingFound(context, globals)
  const { kind, operation: row } = started
  context.notify(successText({ kind, operation: row.id, spent: seen.spent, ...counts(seen) }), globals)
  return interruption ?? exitCodes.ok
}

/** Prints what was found; answers whether that was anything. */
async function printed(
  environment: CommandEnvironment,
  { kind, single }: Started,
  watch: Watch,
  globals: Invocation['globals'],
): Promise<boolean> {
  const columns = columnsOfKind(kind)
  if (kind !== 'contact_enrichment' && !single) {
    await printRecords(environment.context, () => watch.records(), globals, columns)
    return true
  }
  const records: Row[] = []
  for await (const record of watch.records()) records.push(record)
  await environment.print(single ? records[0] : records, globals, kind === 'list_import' ? {} : { columns })
  const sync = operation('contacts.enrich_sync')
  return kind === 'list_import' || !records.every((contact) => resolvesNothing(sync, contact))
}

/** How long nothing arrives before the server is asked: it may not be able to reach this machine. */
const quietMs = 30_000

/** How work was left, and who knows its records. */
export interface Ended {
  readonly seen: Seen
  readonly watch: Watch
}

/** Follows work by what arrives, and where that can be done and is not enough, by asking too; one of them there is. */
export async function followed(
  context: ClockContext,
  received: Watch | undefined,
  polled: Watch | undefined,
  over: AbortSignal,
  onSeen: (seen: Seen) => void,
): Promise<Ended> {
  const by = async (watch: Watch, until: AbortSignal): Promise<Ended> => ({
    seen: await watch.follow(until, onSeen),
    watch,
  })
  if (!received) return by(polled as Watch, over)
  if (!polled) return by(received, over)
  const done = new AbortController()
  const end = () => done.abort()
  over.addEventListener('abort', end)
  if (over.aborted) end()
  const asking = context
    .sleep(quietMs, done.signal)
    .then(() => by(polled, done.signal))
    // Who asks has nothing to say before the end: what arrives still counts.
    .then(
      (ended) => (ended.seen.state === 'going' ? undefined : ended),
      () => undefined,
    )
  const arriving = by(received, done.signal)
  const first = await Promise.race([arriving, asking])
  const ended = first ?? (await arriving)
  done.abort()
  over.removeEventListener('abort', end)
  return ended
}
