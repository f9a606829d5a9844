import type { Caller } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { isMetered, isPriced, leastKeyLifeMs } from '../api/operations/facts.js'
import { type Budgets, budgetOver, scopesOf } from '../lookups/budgets.js'
import { type LookupOptions, type Lookups, type LookupsOfRun, openLookups } from '../lookups/store.js'
import { readNumber } from '../storage/driver/connection.js'
import { type InputFile, toRecord } from './find-run.js'
import {
  mayStillSend,
  type NewRun,
  type Run,
  type RunIdentity,
  settleLost,
  type WrittenFile,
} from './journal/runs.js'
import type { OpenOutput } from './open-output.js'
import { statingIn } from './plan/lookup.js'
import type { Batch, BatchPorts, KnownRun, RunPorts } from './ports.js'
import { lockOfDead, markShared, type RunRecords } from './records.js'
import { type BatchRequest, countResults, defaultMaxAgeMs } from './request.js'
import { isEngineName } from './target-name.js'

/** A batch with its recorded run, if there is one. */
interface ResolvedBatch {
  readonly request: BatchRequest
  readonly records: RunRecords
  readonly identity: RunIdentity
  /** What runs like it share. */
  readonly like: string
  /** The run that it resumes; `undefined` for a new one. */
  readonly known: KnownRun | undefined
  /** The data vendors whose budgets leave room again for rows that they had left out. */
  readonly askAgain?: ReadonlySet<string> | undefined
  /** Real time before which no answer was given that it takes. */
  readonly notBefore: number
  /** Runs of samples of the file; `undefined` where there are none. */
  readonly samples?: ReadonlySet<number> | undefined
  readonly input: Pick<InputFile, 'id' | 'isPiped' | 'keep'>
  /** A budget that it shares with other runs. */
  readonly sharedBudget?: Budgets['sharedBudget']
}

const goneAnswer = { status: 'failed', error: 'Its answer is no longer stored' } as const

/** Returns what a run takes of its earlier executions, and of other runs. */
const resumeOptions = ({ request, known, samples, notBefore, askAgain }: ResolvedBatch) => ({
  askAgain,
  // A finished run is opened again for these rows only.
  retryUnknown: request.choices.retryUnknown || known?.onlyUnknown === true,
  // The answer of rows that must not be sent and have none.
  others: known?.onlyUnknown || known?.onlyLeftOut ? goneAnswer : undefined,
  samples,
  notBefore,
  stating: statingIn(request.operation),
})

/** Records a new run, or resumes one. A finished one is only read. */
export async function openRun(
  ports: RunPorts,
  batch: ResolvedBatch,
  rows: number,
  { path, files }: Pick<OpenOutput, 'path' | 'files'>,
) {
  const { records, request } = batch
  const run = await begin(ports, batch, rows, path)
  await addFiles(records, run, files)
  if (run.status === 'finished') {
    const lookups = await openFinished(records, run, goneAnswer)
    const target: Awaited<ReturnType<typeof targetOf>> = { caller: noCaller }
    return { run, lookups, target }
  }
  const target = await targetOf(ports, batch, run)
  const { maxAgeMs, maxCredits: perRun, maxCreditsPerDay: perDay, maxProfiles } = request.choices
  const count = countResults(request.operation)
  const quota = isQuota(request) ? { most: maxProfiles ?? 0, count } : undefined
  const lookups = await openOver(records, run, {
    ...resumeOptions(batch),
    budgets: { perRun, perDay, sharedBudget: batch.sharedBudget, quota },
    member: await ports.target.memberEmail(),
    mayRepeat: await isRepeatable(request, target.caller),
    keyLifeMs: keyLifeOf(request, run),
    maxAgeMs,
    isAlive:
      maxAgeMs === undefined ? undefined : (holder, connection) => records.locks.isHeld(holder, connection),
    isTogether: (await ports.target.bulk(run.id)) !== undefined,
  })
  return { run, lookups, target }
}

/** Returns how the calls of a run are made: one by one or together. */
export async function openCalls(
  ports: RunPorts & Pick<BatchPorts, 'sleep'>,
  { operation, choices }: BatchRequest,
  { run, lookups, target }: Awaited<ReturnType<typeof openRun>>,
  signal: AbortSignal,
) {
  return {
    ...target,
    // An import can take long; a signal ends waiting for what it finds.
    ...(operation.starts === 'import' ? { callOptions: { ...target.callOptions, signal } } : {}),
    concurrency: choices.concurrency,
    bulkRequests: await ports.target.bulk(run.id),
    operation: operation.id,
    lookups,
    time: {
      now: ports.clock.now.bind(ports.clock),
      sleep: (ms: number, aborted: AbortSignal) => ports.sleep(ms, aborted).catch(() => {}),
    },
    notify: ports.notify,
    explainStop: ports.sentences.explainStop,
  }
}

const isQuota = ({ operation, choices }: Pick<BatchRequest, 'operation' | 'choices'>): boolean =>
  operation.quota !== undefined && choices.maxProfiles !== undefined

/** Returns how much of a quota a run may still use; `undefined` without a limit. */
export async function readQuotaBudget(
  { request, records }: Pick<ResolvedBatch, 'request' | 'records'>,
  run: Pick<Run, 'number'> | undefined,
): Promise<{ readonly used: number; readonly most: number } | undefined> {
  if (!isQuota(request)) return undefined
  const sql = 'SELECT coalesce(sum(spent), 0) AS used FROM budgets WHERE scope = ?'
  const { profiles } = scopesOf(run?.number ?? 0, '')
  const used = await records.database.read((reads) => readNumber(reads, sql, profiles))
  return { used, most: request.choices.maxProfiles ?? 0 }
}

/** Opens the lookups of a run whose rows are not sent; rows without an answer get `missing`. */
export const openFinished = (
  records: RunRecords,
  run: Run,
  missing: NonNullable<LookupOptions['missing']>,
): Promise<Lookups> => openOver(records, run, { budgets: {}, mayRepeat: true, retryUnknown: false, missing })

const openOver = (
  { database, locks, now }: RunRecords,
  run: LookupsOfRun,
  options: Omit<LookupOptions, 'now' | 'fence'>,
): Promise<Lookups> => openLookups(database, run, { ...options, now, fence: locks.fenceOf(run.identityKey) })

async function begin(
  ports: RunPorts,
  { request, records, identity, known, input, like }: ResolvedBatch,
  total: number,
  output: string | null,
): Promise<Run> {
  // The copy of this command's pipe is deleted at its end. The run has its own copy, or another file of that content.
  const file = known && input.isPiped ? known.file : identity.file
  const going = {
    file,
    output,
    request: toRecord(request, file, {
      member: await ports.target.member(),
      source: await ports.target.source(),
      like,
    }),
  } as const
  const begun = await beginRun(ports, records, identity, known, going, { id: input.id, total })
  if (known) return begun
  input.keep()
  if (records.address !== undefined && input.isPiped) await markShared(ports, begun.id)
  return begun
}

/** Records a new run, or that one goes on. A finished one stays as it is. */
export async function beginRun(
  { target }: Pick<RunPorts, 'target'>,
  { runs, now }: RunRecords,
  identity: RunIdentity,
  known: Run | undefined,
  going: Parameters<RunRecords['runs']['begin']>[1],
  made: Pick<NewRun, 'id' | 'total'>,
): Promise<Run> {
  if (!known) return runs.add({ ...identity, ...going, ...made, profile: target.profile, startedAt: now() })
  if (known.status === 'finished') return known
  const { lostAt } = await runs.begin(known, going, now())
  return { ...known, request: going.request, lostAt }
}

/**
 * Records the files that a run is about to write. The record survives a power cut, and so does a new run: the keys of its
 * rows derive from its id.
 */
export async function addFiles(
  { runs, database }: RunRecords,
  run: Run,
  files: readonly WrittenFile[],
): Promise<void> {
  await runs.addFiles(run, files)
  await database.flush()
}

const isRepeatable = async ({ operation }: BatchRequest, { supportsIdempotency }: Caller): Promise<boolean> =>
  !isMetered(operation) || !supportsIdempotency || supportsIdempotency()

/** Returns how long the target has the keys of rows; `undefined` where it is for ever, or repeating is free. */
const keyLifeOf = ({ operation }: BatchRequest, { target }: Pick<Run, 'target'>): number | undefined =>
  isEngineName(target) || !isMetered(operation) ? undefined : leastKeyLifeMs

async function targetOf(
  { target }: RunPorts,
  { request, records, known }: ResolvedBatch,
  run: Run,
): Promise<Pick<Batch, 'caller' | 'callOptions' | 'onSafe'>> {
  const caller = await target.caller()
  const callOptions = { apiKey: await target.apiKey(), maxAgeMs: maxAgeAt(request) }
  const { discardReplies, reopenRows } = caller
  // What was settled while it was killed is sent again.
  if (known) await reopenRows?.(run.id, callOptions)
  if (!discardReplies || !isMetered(request.operation)) return { caller, callOptions }
  const drop = (id: string) => discardReplies(id, Number.MAX_SAFE_INTEGER, callOptions)
  if (records.address !== undefined) await settleOthers(records, run, drop)
  if (mayStillSend(run, records.now())) return { caller, callOptions }
  // At the end, replies to requests for several rows are discarded too.
  const upTo = (before: number) => (run.total > 0 && before >= run.total ? Number.MAX_SAFE_INTEGER : before)
  return { caller, callOptions, onSafe: (before) => discardReplies(run.id, upTo(before), callOptions) }
}

/** How old an answer of a proxy may be; `undefined` where it decides, which is as old as by default here. */
function maxAgeAt({ operation, choices: { maxAgeMs = 0 } }: BatchRequest): number | undefined {
  return !isPriced(operation) || maxAgeMs === defaultMaxAgeMs ? undefined : maxAgeMs
}

/** Discards the replies to ended runs that were taken over long ago. */
async function settleOthers(
  { database, locks, now }: RunRecords,
  run: Run,
  settle: (id: string) => Promise<void>,
): Promise<void> {
  // This command holds the lock of its run, and of all runs with the same identity.
  const hold = ({ identityKey }: Pick<Run, 'identityKey'>) =>
    identityKey === run.identityKey ? { release: () => {} } : lockOfDead(locks, identityKey)
  try {
    await settleLost(database, run, { now: now(), hold, settle })
  } catch (error) {
    // No run fails because of another one: the next batch tries again.
    if (!(error instanceof ApiError)) throw error
  }
}

/** The caller of a run whose rows are not sent. */
export const noCaller: Caller = {
  call: async () => {
    throw new Error('a finished run makes no calls')
  },
  close: async () => {},
}

/** A run that has not begun: it has no lookups. */
const notBegun = { id: '', number: 0 } as const

/** The age of stored answers that a quote counts where none would be taken: 90 days. */
const suggestedAgeMs = 90 * 86_400_000

/** Opens what a quote reads of a run's lookups. It records nothing. */
export async function openQuoted({ target }: RunPorts, batch: ResolvedBatch): Promise<Pick<Lookups, 'peek'>> {
  const { request, records, identity, known } = batch
  if (known?.status === 'finished') return openFinished(records, known, { status: 'failed', error: null })
  const run = known ?? { ...identity, ...notBegun, profile: target.profile }
  const maxAgeMs = request.choices.maxAgeMs ?? request.choices.reusableMs ?? suggestedAgeMs
  const mayRepeat = known ? await isRepeatable(request, await target.caller()) : true
  const keyLifeMs = keyLifeOf(request, run)
  return openOver(records, run, { ...resumeOptions(batch), budgets: {}, mayRepeat, keyLifeMs, maxAgeMs })
}

/** Returns the credits that the budgets leave for the run; `undefined` without a budget. */
export async function readBudget(
  { target }: RunPorts,
  { request, records, known }: ResolvedBatch,
): Promise<number | undefined> {
  const { maxCredits: perRun, maxCreditsPerDay: perDay } = request.choices
  if (perRun === undefined && perDay === undefined) return undefined
  const run = known ?? { ...notBegun, profile: target.profile }
  const { left, held } = await records.database.read((connection) =>
    budgetOver(connection, scopesOf(run.number, run.profile), { perRun, perDay }, records.now()),
  )
  // Credits held for rows under way can still be spent by them.
  return Math.max(0, left + held)
}
