import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { shapeOf } from '../../api/areas/shapes.js'
import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import { operations, vendorKindsIn } from '../../api/operations/table.js'
import { pickFields } from '../../api/values/objects.js'
import { exitCodeOf } from '../../runs/output/report.js'
import type { BatchDialog, BatchPorts, KnownRun, RunPorts } from '../../runs/ports.js'
import { type ExecutedBatch, exportRun, runBatch } from '../../runs/run-batch.js'
import { isPostgres } from '../../storage/driver/connection.js'
import { checkShared, type OperationRequest, requireOptions } from '../call/build.js'
import { readRemaining } from '../call/limits.js'
import type { Context } from '../context/context.js'
import { profileInUse } from '../context/home.js'
import { exitOfSignal, interruptible } from '../context/io.js'
import { databaseOptionOf } from '../options/values.js'
import { canDraw, progressParts, startProgress } from '../output/progress.js'
import { chooseEncoding, confirmDespite } from '../output/prompt.js'
import { countRows, formatCredits, formatId, formatNumber, oneLine } from '../output/text.js'
import { notifySourceOfRun, openOwnEngine, vendorsOfRuns } from '../target/local-target.js'
import { answersFrom } from '../target/required-records.js'
import { memberEmail, profileName, targetIn, targetName, workspaceName } from '../target/resolve-target.js'
import { chooseMapping, describeMapping, mappingView, runSentences } from './map-columns.js'
import { askingAgain, choicesOf, maxAgeOf } from './options.js'
import { confirmQuote, showQuote } from './quote.js'
import { screenOf, showReport, withSummary } from './report.js'
import { type BatchCommand, rowCaller, toRequest, toRowRequest } from './request.js'
import { listPorts } from './run-home.js'

/** Imports that are awaited at the same time by default. */
const importsAtOnce = 16

/** Runs a lookup for each row of a CSV file; returns the exit code. */
async function lookUpRows(context: Context, request: OperationRequest): Promise<number> {
  const { operation, shape, input, invocation } = request
  const { options } = invocation
  checkShared(request)
  const given = choicesOf(context, invocation)
  const { max_age: age, concurrency } = profileInUse(context)
  const maxAgeMs = maxAgeOf(operation, given, age)
  const isImport = operation.starts === 'import'
  const asked = {
    ...given,
    maxAgeMs,
    reusableMs: given.refresh ? maxAgeOf(operation, { ...given, refresh: false }, age) : undefined,
    explode: given.explode || isImport,
    concurrency: given.concurrency ?? concurrency ?? (isImport ? importsAtOnce : undefined),
  }
  const { database } = options
  const location = typeof database === 'string' ? { database } : {}
  // Those of the engine that is asked.
  const sources = await context.withDatabase(location.database ?? context.home.engine).hasVendors()
  const choices = { ...asked, sources }
  return executeBatch(context, { operation, shape, constants: input, choices, ...location })
}

/** Runs a batch, or resumes it, and shows how it ends; returns the exit code. */
export async function executeBatch(commandContext: Context, given: BatchCommand): Promise<number> {
  const settings = profileInUse(commandContext)
  const budgets = {
    maxCredits: given.choices.maxCredits ?? settings.max_credits,
    maxCreditsPerDay: given.choices.maxCreditsPerDay ?? settings.max_credits_per_day,
    moreCredits: commandContext.moreCredits,
  }
  const { context: own, command: asked } = withRunDatabase(commandContext, {
    ...given,
    choices: { ...given.choices, ...budgets },
  })
  const context = askingAgain(own, given.choices.retryUnknown)
  const command = { ...asked, operation: await context.priced(asked.operation) }
  const { choices } = command
  return withSummary(context, command, async (onEnd) => {
    const ports: BatchPorts = {
      ...createRunPorts(context, command),
      ...screenOf(context, command),
      sleep: (ms, signal) => context.sleep(ms, signal),
      interruptible: (work) => interruptible(context.streams, work),
      remaining: (operation, constants) => readRemaining(context, operation, constants),
      dialog: createDialog(context, command),
    }
    const uncap = capHeap()
    const result = await runBatch(toRequest(context, command), ports).finally(uncap)
    if (result.kind === 'quote') return showQuote(context, command, result.quote, mappingView(result.mapping))
    // A reader that left early (`| head`) has what it wanted, where nothing was spent.
    if (result.isAbandoned && result.wasFinished) return exitCodes.ok
    onEnd(result)
    logReport(context, result)
    await showReport(context, result, command)
    const { run, report } = result
    if (run.total > report.rows && !report.stopped && !result.wasFinished) {
      const counted = `Looked up ${formatNumber(report.rows)} of ${formatNumber(run.total)} rows.`
      // What resumes a run by its id keeps the number that the run has.
      const how = command.run ? 'With a higher --rows, it' : 'Without --rows, the same command'
      context.notify(`${counted} ${how} continues with the others.`)
    }
    return exitOfSignal(result.signal) ?? exitCodeOf(report, choices.failOn)
  })
}

function logReport({ log }: Context, { run, report }: Pick<ExecutedBatch, 'run' | 'report'>): void {
  const rows = ['rows', 'found', 'not_found', 'invalid', 'failed', 'skipped', 'known', 'suppressed'] as const
  const others = ['without_result', 'credits', 'not_asked', 'suspect', 'output', 'partial'] as const
  log?.write('result', { run: run.id, ...pickFields(report, [...rows, ...others]) })
  log?.spend(report.credits - report.credits_before)
}

/** Writes the answers of a run so far, in the order of its rows; returns the exit code. */
export async function exportAnswers(context: Context, command: BatchCommand): Promise<number> {
  const ports = { ...createRunPorts(context, command), ...screenOf(context, command) }
  const request = toRequest(context, command)
  if (request.run) notifySourceOfRun(context, request.run)
  const { run, report, isAbandoned, selection } = await interruptible(context.streams, (signal) =>
    exportRun(request, ports, signal),
  )
  if (isAbandoned) return exitCodes.ok
  logReport(context, { run, report })
  await showReport(context, { run, report, selection }, command)
  return report.stopped?.exit_code ?? exitCodes.ok
}

/** The size at which the young generation of the heap stops growing, in bytes. */
const youngGenerationBytes = 32 * 2 ** 20

/**
 * Keeps V8's heap near what is in use. The young generation stays at 32 MiB: on a large machine Node 24 lets it grow so far that
 * a batch takes a third more memory, and is no faster; with 16 MiB a batch takes 12 MB less and a tenth more time. A maximum
 * can only be set before the heap exists, but V8 reads the growth factor whenever it grows. The old generation grows by
 * `percent` of what is in use before it is collected: with 200, a batch takes 20 MB less than without a number, and hardly more
 * time; with 50, 60 MB less and an eighth more. Returns what ends this.
 */
export function capHeap(percent = 200): () => void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
    if (!young || young.space_size < youngGenerationBytes) return
    setFlagsFromString('--semi-space-growth-factor=1')
    clearInterval(timer)
  }, 20)
  timer.unref()
  return () => {
    clearInterval(timer)
    setFlagsFromString('--heap-growing-percent=0')
  }
}

function createDialog(context: Context, { operation, choices, constants, shape }: BatchCommand): BatchDialog {
  const notify = (text: string) => context.notify(text)
  let balance: number | null | undefined
  /** Returns the balance that the quote has, or asks for it, which is free. */
  const readBalance = async () => {
    if (balance !== undefined) return balance
    const found = await readRemaining(context, operation, constants).catch(() => undefined)
    return found && 'spendable' in found ? found.spendable.balance : undefined
  }
  return {
    chooseEncoding: (refusal) => chooseEncoding(context, refusal),
    chooseMapping: (request) => chooseMapping(context, choices, request, shape.input),
    completeConstants: ({ columns }) => {
      const mapped = columns.map(({ field }) => field)
      return requireOptions(context, shape, constants, mapped)
    },
    showMapping: (mapping) => {
      for (const line of describeMapping(mapping, context.streams.stderr.columns)) notify(oneLine(line))
    },
    showKnownRun: (run) => {
      notify(describeKnownRun({ ...run, id: formatId(run.id, context.streams) }, choices.dryRun))
      if (run.status === 'finished' && !choices.dryRun) notifySourceOfRun(context, run)
    },
    confirmMember: async (run, starter, member) => {
      const id = formatId(run.id, context.streams)
      const isKnown = starter.includes('@')
      const refusal = new Refusal('usage.other_starter', { run: id, starter, ...(isKnown ? { member } : {}) })
      // --yes is about the price.
      const asked = context.withGlobals({ yes: undefined })
      await confirmDespite(asked, refusal, `Pay for the rest ${isKnown ? `as ${member}` : 'with your key'}?`)
    },
    showRagged: (rows, firstLine) =>
      notify(
        rows === 1
          ? `The row on line ${firstLine} has more cells than the header.`
          : `${formatNumber(rows)} rows have more cells than the header; the first is on line ${firstLine}.`,
      ),
    confirm: (makeQuote) => {
      const remember = async () => {
        const quote = await makeQuote()
        if (!('reply' in quote)) balance = quote.balance
        return quote
      }
      return confirmQuote(context, { operation, constants, choices }, remember)
    },
    showCounting: () => startProgress(context, ({ rows }) => `${formatNumber(rows)} rows counted`),
    showProgress: async (run) => {
      context.log?.write('begun', { id: run.id })
      const isPaid = isPriced(operation)
      const isShown = isPaid && canDraw(context.streams) && !context.globals.quiet
      const money = {
        balance: isShown ? await readBalance() : undefined,
        budget: isPaid ? choices.maxCredits : undefined,
      }
      return startProgress(context, (step, elapsedMs, now) => progressParts(step, elapsedMs, now, money))
    },
  }
}

/** Returns what an earlier execution of a run did, as a sentence. */
function describeKnownRun(
  { id, done, total, status, credits, onlyUnknown, onlyLeftOut }: KnownRun,
  isDryRun: boolean,
) {
  const finished = `Run ${id} is finished${isDryRun ? '. Without --dry-run,' : ':'}`
  if (onlyLeftOut)
    return `${finished} only its rows about which a data vendor could not be asked are looked up again.`
  if (onlyUnknown) return `${finished} only its rows with an unknown outcome are sent again.`
  return status === 'finished'
    ? `${finished} its output is written again, and nothing is spent. --fresh starts a new run.`
    : `Resuming run ${id}: ${formatNumber(done)} of ${countRows(total)} are answered, ${formatCredits(credits)} paid.`
}

type TargetCommand = Pick<BatchCommand, 'operation'>

export function withRunDatabase<Command extends Pick<BatchCommand, 'database' | 'databaseOption'>>(
  context: Context,
  command: Command,
): { readonly context: Context; readonly command: Command } {
  const { database } = command
  const isShared = database !== undefined && isPostgres(database)
  return {
    context: context.withDatabase(database ?? context.home.engine),
    command: isShared ? { ...command, databaseOption: databaseOptionOf(context, { database }) } : command,
  }
}

export function createRunPorts(context: Context, command: TargetCommand): RunPorts {
  return {
    ...listPorts(context),
    sentences: runSentences(() => context.isLocal()),
    target: {
      profile: profileName(context),
      name: () => targetName(context),
      workspace: () => workspaceName(context),
      answersFrom: () => answersFrom(context),
      caller: () => rowCaller(context, command.operation, (run) => finishHere(context, run)),
      apiKey: () => context.apiKey(),
      member: () => memberOf(context),
      memberEmail: () => memberEmail(context),
      source: () => context.source(),
      requireRecords: () => context.requireRecords([command.operation]),
      suppressor: () => context.suppressor(),
      engine: () => openOwnEngine(context),
      bulk: (run) => bulkOptions(context, command, run),
      columns: (operation, shared) => context.vendorColumns(vendorKindsIn(operation, shared)),
      ...vendorsOfRuns(context),
    },
  }
}

/** Returns the member whose key a command has. The members of other servers are not known here. */
async function memberOf(context: Context): Promise<string | undefined> {
  if (context.isLocal()) return memberEmail(context)
  const key = (await context.apiKey()) ?? ''
  const { hashKey } = await import('../../engine/request/access.js')
  return `key ${hashKey(key).slice(0, 8)}`
}

async function bulkOptions(context: Context, { operation }: TargetCommand, run: string) {
  const { bulkRequests } = operation.batch ?? {}
  const row = operations().find(
    ({ command, flag }) => command === operation.command && flag === bulkRequests?.flag,
  )
  if (!bulkRequests || !row) return undefined
  // A proxy answers rows that are sent one by one from what its team has paid for.
  if (!context.isLocal() && (await mayBeGovernedProxy(context))) return undefined
  const { into, reader, least, most } = bulkRequests
  const fields = Object.keys((await shapeOf(row.id)).input.shape)
  const shared = fields.filter((name) => name !== into)
  const work = context.isLocal() ? { work: finishHere(context, run) } : {}
  return { operation: row.id, reader, into, shared, least, most, ...work }
}

const mayBeGovernedProxy = async (context: Context): Promise<boolean> =>
  targetIn(context).kind === 'remote' && (await context.server()).remote.mayBeGovernedProxy()

/** Finishes work that this machine's engine accepts, unless a server or worker is already doing it. */
export function finishHere(
  context: Context,
  run: string,
): (id: string, signal: AbortSignal) => Promise<void> {
  return async (id, signal) => {
    const worker = await context.worker()
    const stop = () => void worker.stop()
    signal.addEventListener('abort', stop)
    try {
      if (!signal.aborted) await worker.finish(id, undefined, run)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

/** `input` holds the fields that all rows of the file share. Returns the exit code. */
export async function fromCsv(context: Context, request: OperationRequest): Promise<number> {
  const { operation } = request
  if (operation.batch?.into !== undefined) {
    const { sendTogether } = await import('./one-request.js')
    return sendTogether(context, request, operation.batch.into)
  }
  return lookUpRows(context, await toRowRequest(context, request))
}
