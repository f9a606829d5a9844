import type { Caller } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { isMetered } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { parseJson } from '../api/values/json.js'
import { isObject } from '../api/values/objects.js'
import { type InputFile, toRecord } from './find-run.js'
import { answeredUpTo, sumOfAnswers } from './journal/answers.js'
import { type Budget, QuotaBudget } from './journal/budget.js'
import { type Journal, type JournalledRun, type JournalOptions, journalOf } from './journal/run-journal.js'
import { mayStillSend, type NewRun, type Run, type RunIdentity, settleLost } from './journal/runs.js'
import { budgetLeft } from './journal/spending.js'
import type { OpenOutput } from './open-output.js'
import type { Batch, BatchPorts, KnownRun, RunPorts } from './ports.js'
import { lockOfDead, markShared, type RunRecords } from './records.js'
import type { BatchRequest, RecordedRequest } from './request.js'

/** A batch with its recorded run, if there is one. */
interface ResolvedBatch {
  readonly request: BatchRequest
  readonly records: RunRecords
  readonly identity: RunIdentity
  /** The run that it resumes; `undefined` for a new one. */
  readonly known: KnownRun | undefined
  /** Real time before which no answer was given that it takes. */
  readonly notBefore: number
  /** Runs of samples of the file; `undefined` where there are none. */
  readonly samples?: ReadonlySet<number> | undefined
  readonly input: Pick<InputFile, 'id' | 'isPiped' | 'keep'>
  /** A budget that it shares with other runs. */
  readonly sharedBudget?: Budget['sharedBudget']
}

const goneAnswer = { status: 'failed', error: 'Its answer is no longer stored' } as const

/** Returns what the journal of a run takes of its earlier parts, and of other runs. */
const resumeOptions = ({ request, known, samples, notBefore }: ResolvedBatch) => ({
  retryUnknown: request.choices.retryUnknown,
  // The answer of rows that must not be sent and have none.
  others: known?.onlyUnknown ? goneAnswer : undefined,
  sentMaxAgeMs: sentMaxAgeOf(known),
  samples,
  notBefore,
})

/** Records a new run, or resumes one. A finished one is only read. */
export async function openJournal(
  ports: RunPorts,
  batch: ResolvedBatch,
  rows: number,
  { path, files }: Pick<OpenOutput, 'path' | 'files'>,
) {
  const { records, request } = batch
  const run = await begin(ports, batch, rows, path)
  await addFiles(records, run, files)
  if (run.status === 'finished') {
    const journal = await openFinishedJournal(records, run, goneAnswer)
    const target: Awaited<ReturnType<typeof targetOf>> = { caller: noCaller }
    return { run, journal, target }
  }
  const target = await targetOf(ports, batch, run)
  const { maxAgeMs, maxCredits: perRun, maxCreditsPerDay: perDay } = request.choices
  const store = maxAgeMs === undefined ? undefined : { maxAgeMs }
  if (store) await records.runs.indexOthers(run)
  const turns = store && {
    isAlive: (holder: string) => records.locks.isHeld(holder),
    // Workers know the rows of their own run only.
    takesKeys: !request.choices.distribute,
  }
  const mayRepeat = await isRepeatable(request, target.caller)
  const quota = await readQuotaBudget(batch, run)
  const options = {
    ...resumeOptions(batch),
    budget: { perRun, perDay, sharedBudget: batch.sharedBudget },
    member: await ports.target.memberEmail(),
    mayRepeat,
    store,
    turns,
    quota: quota && new QuotaBudget(quota.most, quota.used, countResults(request.operation)),
  }
  return { run, journal: await openOver(records, run, options), target }
}

/** Returns how the calls of a run are made: by this process or by workers, one by one or together. */
export async function openCalls(
  ports: RunPorts & Pick<BatchPorts, 'sleep'>,
  { operation, choices }: BatchRequest,
  { run, journal, target }: Awaited<ReturnType<typeof openJournal>>,
  signal: AbortSignal,
) {
  const isDistributed = choices.distribute && run.status !== 'finished'
  const workers = isDistributed
    ? await ports.target.distribute(run, target.callOptions?.apiKey, signal)
    : undefined
  const calls = {
    ...target,
    // An import can take long; a signal ends waiting for what it finds.
    ...(operation.starts === 'import' ? { callOptions: { ...target.callOptions, signal } } : {}),
    caller: workers?.caller ?? target.caller,
    concurrency: workers?.concurrency ?? choices.concurrency,
    bulkRequests: await ports.target.bulk(run.id),
    operation: operation.id,
    journal,
    time: {
      now: ports.clock.now.bind(ports.clock),
      sleep: (ms: number, aborted: AbortSignal) => ports.sleep(ms, aborted).catch(() => {}),
    },
    notify: ports.notify,
    explainStop: ports.sentences.explainStop,
  }
  return { calls, workers }
}

/** Returns how much of a quota a run may still use; `undefined` without a limit. */
export async function readQuotaBudget(
  { request, records }: Pick<ResolvedBatch, 'request' | 'records'>,
  run: Pick<Run, 'number'> | undefined,
): Promise<{ readonly used: number; readonly most: number } | undefined> {
  const { operation, choices } = request
  if (operation.quota === undefined || choices.maxProfiles === undefined) return undefined
  const { database } = records
  const number = run?.number ?? 0
  const before = run ? await database.read((reads) => answeredUpTo(reads, number)) : 0
  const used = await sumOfAnswers(database, number, before, countResults(operation))
  return { used, most: choices.maxProfiles }
}

const countResults =
  ({ batch }: Operation) =>
  (body: unknown): number => {
    const records = isObject(body) ? body[batch?.found ?? ''] : undefined
    return Array.isArray(records) ? records.length : 0
  }

/** Opens the journal of a run whose rows are not sent; rows without an answer get `missing`. */
export const openFinishedJournal = (
  records: RunRecords,
  run: Run,
  missing: NonNullable<JournalOptions['missing']>,
): Promise<Journal> => openOver(records, run, { budget: {}, mayRepeat: true, retryUnknown: false, missing })

async function openOver(
  { database, runs, locks, now }: RunRecords,
  run: JournalledRun & Pick<Run, 'identityKey' | 'indexed'>,
  options: Omit<JournalOptions, 'now' | 'answeredUpTo' | 'fence'>,
): Promise<Journal> {
  const answered = await database.read((reads) => answeredUpTo(reads, run.number))
  if (run.indexed === 0 && answered > 0) await runs.index(run)
  const fence = locks.fenceOf(run.identityKey)
  return journalOf(database, run, { ...options, now, fence, answeredUpTo: answered })
}

async function begin(
  ports: RunPorts,
  { request, records, identity, known, input }: ResolvedBatch,
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
      sentMaxAgeMs: sentMaxAgeOf(known),
    }),
    spread: request.choices.distribute ? 1 : 0,
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
  files: readonly string[],
): Promise<void> {
  await runs.addFiles(run, files)
  await database.flush()
}

/** Returns the lowest `maxAgeMs` of the parts that sent rows without an answer; `undefined` where there are none. */
function sentMaxAgeOf(known: Run | undefined): number | undefined {
  if (!known || known.sentTo <= known.sentFrom) return undefined
  const { choices, sentMaxAgeMs } = parseJson(known.request) as Partial<RecordedRequest>
  // An erasure may have redacted the request.
  return choices && Math.min(choices.maxAgeMs ?? 0, sentMaxAgeMs ?? Number.POSITIVE_INFINITY)
}

const isRepeatable = async ({ operation }: BatchRequest, { supportsIdempotency }: Caller): Promise<boolean> =>
  !isMetered(operation) || !supportsIdempotency || supportsIdempotency()

async function targetOf(
  { target }: RunPorts,
  { request, records }: ResolvedBatch,
  run: Run,
): Promise<Pick<Batch, 'caller' | 'callOptions' | 'onSafe'>> {
  const caller = await target.caller()
  const callOptions = { apiKey: await target.apiKey() }
  const { discardReplies } = caller
  if (!discardReplies || !isMetered(request.operation)) return { caller, callOptions }
  const drop = (id: string) => discardReplies(id, Number.MAX_SAFE_INTEGER, callOptions)
  if (records.address !== undefined) await settleOthers(records, run, drop)
  if (mayStillSend(run, records.now())) return { caller, callOptions }
  // At the end, replies to requests for several rows are discarded too.
  const upTo = (before: number) => (run.total > 0 && before >= run.total ? Number.MAX_SAFE_INTEGER : before)
  return { caller, callOptions, onSafe: (before) => discardReplies(run.id, upTo(before), callOptions) }
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

/** What is recorded of a run that has not begun: no answers, nothing sent. */
const notBegun = {
  id: '',
  number: 0,
  done: 0,
  sentFrom: 0,
  sentTo: 0,
  loweredRow: null,
  loweredLimit: null,
  indexed: 2,
} as const

/** The age of stored answers that a quote counts where no other is given: 90 days. */
const suggestedAgeMs = 90 * 86_400_000

/** Opens what a quote reads of a run's journal. It records nothing. */
export async function openQuoteJournal(
  { target }: RunPorts,
  batch: ResolvedBatch,
): Promise<Pick<Journal, 'resume' | 'recall'>> {
  const { request, records, identity, known } = batch
  if (known?.status === 'finished')
    return openFinishedJournal(records, known, { status: 'failed', error: null })
  const run = known ?? { ...identity, ...notBegun, profile: target.profile }
  const store = { maxAgeMs: request.choices.maxAgeMs ?? suggestedAgeMs }
  await records.runs.indexOthers(run)
  const mayRepeat = run.sentTo > run.sentFrom ? await isRepeatable(request, await target.caller()) : true
  return openOver(records, run, { ...resumeOptions(batch), budget: {}, mayRepeat, store })
}

/** Returns the credits that the budgets leave for the run; `undefined` without a budget. */
export async function readBudget(
  { target }: RunPorts,
  { request, records, known }: ResolvedBatch,
): Promise<number | undefined> {
  const { maxCredits: perRun, maxCreditsPerDay: perDay } = request.choices
  if (perRun === undefined && perDay === undefined) return undefined
  const run = known ?? { ...notBegun, profile: target.profile }
  const left = await records.database.read((connection) =>
    budgetLeft(connection, run, { perRun, perDay }, records.now()),
  )
  // Credits set aside for rows under way can still be spent by them.
  return Math.max(0, left.credits + left.reserved)
}
