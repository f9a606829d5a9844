import { isPriced } from '../../api/operations/facts.js'
import type { StoredLookups, StoredReply } from '../../batch/stored-lookups.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { lazily, once } from '../context/once.js'
import { openStateOf } from '../context/open-databases.js'
import { profileInUse } from '../context/settings.js'
import { durationMs } from '../options/values.js'
import { formatTime } from '../output/text.js'
import { targetIn, targetName } from '../target/resolve-target.js'
import type { OperationRequest } from './request.js'

/** The options of a command. */
type Given = Pick<OperationRequest['invocation'], 'options'>

/**
 * Whether lookups use stored answers: `max_age` or `--max-age` is given, and the target is not direct. Throws UsageError for
 * `--max-age` with `--direct`.
 */
export function usesStoredAnswers(context: Context, { options: { maxAge } }: Given): boolean {
  if (context.globals.direct && maxAge !== undefined)
    throw new UsageError('--max-age cannot be used with --direct, which stores no answers.')
  return !context.globals.direct && ageOf(context, maxAge) > 0
}

/** Returns how old a stored answer may be for a single lookup, in milliseconds; 0 where none is used. */
function ageOf(context: Context, given: unknown): number {
  if (typeof given === 'number') return given
  const age = profileInUse(context).max_age
  return age ? durationMs(age) : 0
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

/** Opens the stored answers for the single lookups of a command, or of a proxy. */
export async function openStoredLookups(
  context: Context,
  { options }: Given,
  onStored: (answeredAt: number) => void = () => {},
): Promise<StoredLookups> {
  const { clock, ids } = context
  const maxAgeMs = ageOf(context, options.maxAge)
  const target = targetIn(context)
  const { createStoredLookups } = await import('../../batch/stored-lookups.js')
  const { idempotent } = await import('../../client/kept-keys.js')
  const { takeLookupTurn, fileLocks, stopKilledRuns } = await import('../../batch/run/records.js')
  const state = once(() => openStateOf(context))
  const memory = once(async () => {
    const { serverMemory } = await import('../../storage/state/remote-servers.js')
    return serverMemory(await state(), '')
  })
  return createStoredLookups({
    ...{ clock, ids },
    maxAgeMs: options.refresh === true || maxAgeMs === 0 ? undefined : maxAgeMs,
    names: target.kind === 'remote' ? target.names : undefined,
    open: once(async () => {
      const { lookupsOver } = await import('../../storage/state/runs/single-lookups.js')
      const database = await state()
      // The answers of a run that was killed serve, too.
      await stopKilledRuns({ database, locks: fileLocks(context) }, undefined)
      return { store: lookupsOver(database), target: await targetName(context) }
    }),
    keyed: idempotent({
      ...{ clock, ids, origin: target.kind === 'remote' ? target.origin : target.kind },
      keys: lazily(memory),
    }),
    takeTurn: (hash) => takeLookupTurn(context, hash, (ms) => context.sleep(ms)),
    onStored,
    onFault: (error) => {
      const reason = error instanceof Error ? error.message : String(error)
      context.notify(`The answer could not be stored, so the same lookup will be charged again: ${reason}`)
    },
  })
}

/** Says on a terminal and in the log that an answer came from the store. */
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
