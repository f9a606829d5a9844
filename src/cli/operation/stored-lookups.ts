import { isPriced } from '../../api/operations/facts.js'
import { once } from '../../api/values/objects.js'
import type { StoredLookups, StoredReply } from '../../runs/stored-lookups.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { profileInUse } from '../context/home.js'
import { isThere, openStateOf } from '../context/open-databases.js'
import { durationMs } from '../options/values.js'
import { formatTime } from '../output/text.js'
import { answersFrom } from '../target/local-target.js'
import { targetIn, targetName, workspaceName } from '../target/resolve-target.js'
import type { OperationRequest } from './request.js'

type Given = Pick<OperationRequest['invocation'], 'options'>

/** Throws UsageError for `--max-age` with `--direct`, which stores nothing. */
export function usesStoredAnswers(context: Context, { options: { maxAge } }: Given): boolean {
  if (context.globals.direct && maxAge !== undefined)
    throw new UsageError('--max-age cannot be used with --direct, which stores no answers.')
  return !context.globals.direct && (ageOf(context, maxAge) ?? 0) > 0
}

/** Returns how old a stored answer may be for a single lookup, in milliseconds; `undefined` where that is not said. */
function ageOf(context: Context, given: unknown): number | undefined {
  if (typeof given === 'number') return given
  const age = profileInUse(context).max_age
  return age === undefined ? undefined : durationMs(age)
}

/**
 * Whether a single lookup without `max_age` takes a turn: at a server always, as an equal one may begin before it is answered.
 * At the engine of this machine only beside a run or what a killed one left, because it costs a tenth of a lookup there.
 */
export async function sharesLookups(
  context: Context,
  { operation, invocation: { options } }: OperationRequest,
): Promise<boolean> {
  const isSent = !isPriced(operation) || options.idempotencyKey !== undefined || options.refresh === true
  if (isSent || context.globals.direct || ageOf(context, options.maxAge) !== undefined) return false
  if (context.isLocal() && !isThere(context.home.state)) return false
  try {
    const { lookupsOver } = await import('../../runs/journal/single-lookups.js')
    const store = lookupsOver(await openStateOf(context))
    const target = await targetName(context)
    return !context.isLocal() || (await store.mayBeUnderWay({ operation: operation.id, target }))
  } catch {
    // A lookup needs no records: where they cannot be read, it is sent.
    return false
  }
}

/** Returns the stored reply that a request would get; `undefined` where it would be sent. */
export async function findStored(
  context: Context,
  { operation, input, invocation }: OperationRequest,
): Promise<StoredReply | undefined> {
  const isSent = !isPriced(operation) || invocation.options.idempotencyKey !== undefined
  if (isSent || !usesStoredAnswers(context, invocation)) return undefined
  return (await openStoredLookups(context, invocation)).find(operation.id, input)
}

/** Without `max_age`, lookups take only answers that came after the command had `begun`. */
export async function openStoredLookups(
  context: Context,
  { options }: Given,
  onStored: (answeredAt: number) => void = () => {},
  begun = context.clock.now(),
): Promise<StoredLookups> {
  const { clock, ids } = context
  const maxAgeMs = ageOf(context, options.maxAge)
  const since = () => (maxAgeMs === undefined ? begun : clock.now() - maxAgeMs)
  const target = targetIn(context)
  const { createStoredLookups } = await import('../../runs/stored-lookups.js')
  const { isKnown } = await import('../../client/kept-keys.js')
  const { holdLookups, fileLocks, stopKilledRuns } = await import('../../runs/records.js')
  return createStoredLookups({
    ...{ clock, ids, isKnown, sleep: (ms) => context.sleep(ms) },
    since: options.refresh === true ? undefined : since,
    keepsKeys: target.kind === 'remote',
    names: target.kind === 'remote' ? target.names : undefined,
    open: once(async () => {
      const { lookupsOver } = await import('../../runs/journal/single-lookups.js')
      const database = await openStateOf(context)
      const [store, locks] = [lookupsOver(database), fileLocks(context)]
      // The answers of a run that was killed serve, too.
      await stopKilledRuns({ database, locks }, undefined)
      const holdLock = once(async () => {
        const name = await holdLookups(context)
        await store.releaseTurns(name)
        return name
      })
      return {
        ...{ store, holdLock, isAlive: (holder: string) => locks.isHeld(holder) },
        ...{ target: await targetName(context), workspace: await workspaceName(context) },
        notBefore: await answersFrom(context),
      }
    }),
    onWait: () => context.notify('An equal lookup is under way in another command: waiting for its answer.'),
    onStored,
    onFault: async (error) => {
      const { reasonOf } = await import('../messages.js')
      context.notify(
        `The answer could not be stored, so the same lookup will be charged again: ${reasonOf(error)}`,
      )
    },
  })
}

export function reportStored(context: Context, answeredAt: number): void {
  const { stdout, stderr } = context.streams
  const isShown = stdout.isTTY || stderr.isTTY || context.globals.verbose
  const when = formatTime(new Date(answeredAt).toISOString(), {
    isTerminal: true,
    now: context.clock.now(),
  })
  const text = `Stored answer (${when}): 0 credits. --refresh asks the target again.`
  const shown = isShown ? context : context.withGlobals({ quiet: true })
  shown.notify(text)
}
