import type { Shape } from '../../api/areas/shapes.js'
import { isOk } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import { lostIn, type OperationId, operation, resolvesNothing } from '../../api/operations/table.js'
import { contactResult, leadAndCompany, listRecord } from '../../api/schemas/records.js'
import { companyOf, type EventKind, eventOf } from '../../api/webhooks/events.js'
import { recordOf } from '../../client/parse-delivery.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { AsyncJob } from '../../engine/tables/jobs.js'
import type { Context } from '../context/context.js'
import { type Report, reportOfAnswer, Stop } from '../context/errors.js'
import { callOnce, explainMissing } from '../operation/call.js'
import { withFields } from '../operation/run-sync.js'
import { fileOf, isDevice, openSink } from '../output/output.js'
import { print, printRecords, type Records } from '../output/print.js'
import type { Step } from '../output/progress.js'
import { columnsOfKind, type Row, valueAt } from '../output/records.js'
import { formatCredits, formatNumber } from '../output/text.js'

/** The records of an import that `--skip-known` leaves out. */
export interface KnownRecords {
  /** Returns the records without the known ones; with `--keep-known` all of them, with a status. */
  without(records: Records): Records
  /** Says how many were left out when they were read the last time. */
  report(): void
}

/** Returns the id of the search, import, list or enrichment in a reply; `undefined` where no work was started. */
export function jobIdOf(body: unknown): string | undefined {
  const id = valueAt(body, 'message.id') ?? valueAt(body, 'id') ?? valueAt(body, 'enrichment_id')
  return typeof id === 'string' ? id : undefined
}

/** Prints the result of an import that was not started, because nothing matches. Returns the exit code. */
export async function printNothing(context: Context, id: OperationId): Promise<number> {
  const kind = eventOf(id)
  await print(context, [], kind ? { columns: columnsOfKind(kind) } : {})
  const hint = await explainMissing(context)
  if (hint !== undefined) context.notify(hint)
  return exitCodes.ok
}

/** Prints the result of a job of this machine, and returns what `printFound` does. */
export async function printResult(
  context: Context,
  job: AsyncJob,
  known?: KnownRecords,
): ReturnType<typeof printFound> {
  const { kind } = job
  if (kind === 'contact_enrichment') {
    const body = await readResult(context, 'contacts.get', job)
    const contacts = body.contacts as readonly Row[] | undefined
    return printFound(context, { kind, single: !contacts }, () => contacts ?? [body])
  }
  if (kind === 'list_import') {
    const list = await readResult(context, 'lists.get', job)
    return printFound(context, { kind, single: true }, () => [recordOf(kind, list)])
  }
  const admin = await context.admin()
  return printFound(context, { kind, single: false }, () => recordsOf(admin, job), known)
}

/**
 * Prints the records of accepted work, `single` without a list around it. Where nothing was found, it returns the data
 * vendors whose answers were lost.
 */
export async function printFound(
  context: Context,
  { kind, single }: { readonly kind: EventKind; readonly single: boolean },
  records: Records,
  known?: KnownRecords,
): Promise<readonly string[] | undefined> {
  const columns = columnsOfKind(kind)
  if (kind !== 'contact_enrichment' && !single) {
    await printRecords(context, known?.without(records) ?? records, { columns })
    known?.report()
    return undefined
  }
  const found = await Array.fromAsync(records())
  await print(context, single ? found[0] : found, kind === 'list_import' ? {} : { columns })
  const sync = operation('contacts.enrich_sync')
  const isFound = kind === 'list_import' || !found.every((contact) => resolvesNothing(sync, contact))
  return isFound ? undefined : [...new Set(found.flatMap((one) => lostIn(one)))]
}

/** Reads what the API stores of a job, which is free and not rate limited. */
async function readResult(context: Context, id: OperationId, job: AsyncJob): Promise<Row> {
  const reply = await callOnce(context, await context.caller(), operation(id), { id: job.id })
  if (isOk(reply)) return reply.body as Row
  const { error, exit_code, hint } = reportOfAnswer(reply.status, reply.body)
  throw new Stop(`The result cannot be read: ${error}`, exit_code, hint)
}

const pageRows = 500

/** Yields them in the order found, page by page. A company has what was found with it beside its fields. */
export async function* recordsOf(admin: Admin, { id, kind }: AsyncJob): AsyncGenerator<Row> {
  for await (const { record } of readByOrdinal((...page) => admin.jobRecords(id, ...page)))
    yield recordOf(kind, JSON.parse(record) as Row)
}

/** Yields what is read in pages of so many, each after the last ordinal of the one before. */
export async function* readByOrdinal<T extends { readonly ordinal: number }>(
  read: (after: number, limit: number) => Promise<readonly T[]>,
): AsyncGenerator<T> {
  for (let after = 0; ; ) {
    const page = await read(after, pageRows)
    yield* page
    if (page.length < pageRows) return
    after = page.at(-1)?.ordinal ?? after
  }
}

interface WorkState {
  readonly kind: EventKind
  readonly operation: OperationId
  /** `finished`, `failed`, or anything else while the work is running. */
  readonly state: string
  readonly done: number
  /** Records that will come, where that is known. */
  readonly expected?: number | undefined
  /** Whether a quota or the credits ended the work before everything was found. */
  readonly truncated: boolean
  readonly error?: string | null | undefined
}

/** What a person can do about work that failed or is still running, in sentences. */
export interface NextSteps {
  readonly afterFailure: string
  readonly toContinue: string
}

export function resultCommand(kind: EventKind, id: string): string {
  if (kind === 'list_import') return `prospect lists get ${id}`
  return kind === 'contact_enrichment' ? `prospect contacts get ${id}` : `prospect searches get ${id} --all`
}

/** Returns the report of work that failed, was cut short or is not done; `undefined` where it succeeded. */
export function reportOfWork(
  work: WorkState,
  next: NextSteps,
  interruption: number | undefined,
): Report | undefined {
  if (work.state === 'failed') {
    const error = `The job failed: ${(work.error ?? 'Internal error').replace(/\.$/, '')}`
    const exit_code = exitCodes.unreachable
    return { error, code: 'job_failed', status: null, exit_code, hint: next.afterFailure }
  }
  if (work.state === 'finished') return work.truncated ? reportOfTruncation(work) : undefined
  return {
    error: `The job has not finished: ${countText(work)} so far`,
    code: interruption === undefined ? 'still_running' : 'stopped',
    status: null,
    exit_code: interruption ?? exitCodes.stillRunning,
    hint: next.toContinue,
  }
}

const truncationReasons = {
  profiles: 'the daily profile quota is used up.',
  companies: 'the daily or monthly company quota is used up.',
  credits: 'the credits are used up, or the weekly limit is reached.',
} as const

function reportOfTruncation({ kind, operation: id, done, expected = done }: WorkState): Report {
  const { quota } = operation(id)
  const of = expected > done ? ` of ${formatNumber(expected)}` : ''
  const reason = truncationReasons[quota ?? 'credits']
  return {
    error: `Only ${formatNumber(done)}${of} ${nounOf(kind, expected)} were imported: ${reason}`,
    code: 'truncated',
    status: null,
    exit_code: quota ? exitCodes.planLimit : exitCodes.credits,
    hint: quota
      ? 'Quotas reset at 00:00 UTC; see: prospect credits'
      : 'Buy credits, then import the rest; see: prospect credits',
  }
}

export function successText(
  work: Pick<WorkState, 'kind' | 'operation' | 'done'> & { readonly spent: number },
): string {
  const { kind, done } = work
  const paid = isPriced(operation(work.operation)) ? ` for ${formatCredits(work.spent)}` : ''
  const verb = kind === 'contact_enrichment' ? 'Looked up' : 'Imported'
  return `${verb} ${formatNumber(done)} ${nounOf(kind, done)}${paid}.`
}

/** Returns the text of the progress display: counts, and the credits of priced work. */
export const stepText =
  ({ kind, operation: id }: Pick<WorkState, 'kind' | 'operation'>) =>
  ({ rows, total, credits }: Step): string =>
    [
      `${formatNumber(rows)}${total ? ` of ${formatNumber(Math.max(rows, total))}` : ''} ${nounOf(kind, total || rows)}`,
      ...(isPriced(operation(id)) ? [formatCredits(credits)] : []),
    ].join(' · ')

function countText({ kind, done, expected }: WorkState): string {
  const of = expected === undefined || expected < done ? '' : ` of ${formatNumber(expected)}`
  return `${formatNumber(done)}${of} ${nounOf(kind, expected ?? done)}`
}

function nounOf(kind: EventKind, count: number): string {
  if (kind === 'lead_search') return count === 1 ? 'person' : 'people'
  if (kind === 'contact_enrichment') return count === 1 ? 'contact' : 'contacts'
  return count === 1 ? 'company' : 'companies'
}

/**
 * Returns the context with `--fields` as the result has them. Throws where it would not have them, or could not be written
 * to `-o`.
 */
export async function checkOutput(context: Context, id: OperationId): Promise<Context> {
  const kind = eventOf(id)
  const resolved = kind ? withFields(context, { output: resultOfKind(kind) }) : context
  const file = fileOf(context.globals)
  // The reader of a pipe would take this for the end of the output.
  if (file !== undefined && (await isDevice(context, file))) return resolved
  await (await openSink(context)).discard()
  return resolved
}

function resultOfKind(kind: EventKind): Shape['output'] {
  if (kind === 'lead_search') return leadAndCompany()
  if (kind === 'contact_enrichment') return contactResult()
  return kind === 'list_import' ? listRecord() : companyOf(kind)
}
