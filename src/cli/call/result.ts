import type { Shape } from '../../api/areas/shapes.js'
import type { Report } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import {
  lostIn,
  type Operation,
  type OperationId,
  operation,
  resolvesNothing,
} from '../../api/operations/table.js'
import { contactResult, leadAndCompany, listRecord } from '../../api/schemas/records.js'
import { companyOf, type EventKind, eventOf } from '../../api/webhooks/events.js'
import type { Context } from '../context/context.js'
import { report, withoutStop } from '../context/errors.js'
import { checkOutputFolder, checkOutputName, fileOf } from '../output/output.js'
import { print, printRecords, type Records } from '../output/print.js'
import type { Step } from '../output/progress.js'
import { columnsOfKind } from '../output/records.js'
import { formatCredits, formatNumber } from '../output/text.js'
import { notifyMissing, withFields } from './print.js'

/** The records of an import that `--skip-known` leaves out. */
export interface KnownRecords {
  /** Returns the records without the known ones; with `--keep-known` all of them, with a status. */
  without(records: Records): Records
  /** Says how many were left out when they were read the last time. */
  report(): void
}

/** Prints the result of an import that was not started, because nothing matches. Returns the exit code. */
export async function printNothing(context: Context, id: OperationId): Promise<number> {
  const kind = eventOf(id)
  await print(context, [], kind ? { columns: columnsOfKind(kind) } : {})
  await notifyMissing(context)
  return exitCodes.ok
}

/**
 * Prints the records of accepted work, `single` without a list around it. Where nothing was found, it returns the data
 * vendors whose answers were lost.
 */
export async function printFound(
  context: Context,
  { kind, single }: Pick<AcceptedWork, 'kind' | 'single'>,
  records: Records,
  known?: KnownRecords,
): Promise<readonly string[] | undefined> {
  const columns = columnsOfKind(kind)
  if (kind !== 'contact_enrichment' && !single) {
    await printRecords(context, known?.without(records) ?? records, { columns, isOnce: true })
    known?.report()
    return undefined
  }
  const found = await Array.fromAsync(records())
  const shown = kind === 'list_import' ? {} : { columns }
  await print(context, single ? found[0] : found, { isOnce: true, ...shown })
  const sync = operation('contacts.enrich_sync')
  const isFound = kind === 'list_import' || !found.every((contact) => resolvesNothing(sync, contact))
  return isFound ? undefined : [...new Set(found.flatMap((one) => lostIn(one)))]
}

export interface AcceptedWork {
  readonly operation: Operation
  readonly kind: EventKind
  readonly id: string
  /** Whether the result is a single record: a list, or the only contact. */
  readonly single: boolean
  readonly limit: number | undefined
  /** The records that the reply announced; for a waterfall, its contacts. */
  readonly expected: number | undefined
}

/** How accepted work stands, as far as this command knows. */
export interface WorkProgress {
  readonly state: 'going' | 'finished' | 'failed'
  readonly done: number
  /** Records that will come, where that is known. */
  readonly expected: number | undefined
  /** Whether a quota or the credits ended the work before everything was found. */
  readonly truncated: boolean
  /** What went wrong, in the server's words. */
  readonly error: string | undefined
  readonly spent: number
}

/** What a person can do about work that failed or is still running. */
export interface NextSteps {
  /** The command that shows what was found. */
  readonly see: string
  readonly afterFailure: string
  readonly toContinue: string
}

type WorkKind = Pick<AcceptedWork, 'kind' | 'operation'>

export function resultCommand(kind: EventKind, id: string): string {
  if (kind === 'list_import') return `prospect lists get ${id}`
  return kind === 'contact_enrichment' ? `prospect contacts get ${id}` : `prospect searches get ${id} --all`
}

/** Returns the report of work that failed, was cut short or is not done; `undefined` where it succeeded. */
export function reportOfWork(
  work: WorkKind,
  progress: WorkProgress,
  { see, afterFailure, toContinue }: NextSteps,
  interruption: number | undefined,
): Report | undefined {
  const { state, done, truncated, error } = progress
  if (state === 'finished') return truncated ? reportOfTruncation(work, progress) : undefined
  if (state === 'failed')
    return report(
      `The job failed: ${withoutStop(error ?? 'Internal error')}`,
      'job_failed',
      null,
      exitCodes.unreachable,
      `${done > 0 ? `What was found before is kept: ${see}. ` : ''}${afterFailure}`,
    )
  return report(
    `The job has not finished: ${countText(work, progress)} so far`,
    interruption === undefined ? 'still_running' : 'stopped',
    null,
    interruption ?? exitCodes.stillRunning,
    toContinue,
  )
}

const truncationReasons = {
  profiles: 'the daily profile quota is used up.',
  companies: 'the daily or monthly company quota is used up.',
  credits: 'the credits are used up, or the weekly limit is reached.',
} as const

function reportOfTruncation(
  { kind, operation: { quota } }: WorkKind,
  { done, expected = done }: WorkProgress,
): Report {
  const of = expected > done ? ` of ${formatNumber(expected)}` : ''
  const reason = truncationReasons[quota ?? 'credits']
  return report(
    `Only ${formatNumber(done)}${of} ${nounOf(kind, expected)} were imported: ${reason}`,
    'truncated',
    null,
    quota ? exitCodes.planLimit : exitCodes.credits,
    quota
      ? 'Quotas reset at 00:00 UTC; see: prospect credits'
      : 'Buy credits, then import the rest; see: prospect credits',
  )
}

export function successText(
  { kind, operation: row }: WorkKind,
  { done, spent }: Pick<WorkProgress, 'done' | 'spent'>,
): string {
  const paid = isPriced(row) ? ` for ${formatCredits(spent)}` : ''
  const verb = kind === 'contact_enrichment' ? 'Looked up' : 'Imported'
  return `${verb} ${formatNumber(done)} ${nounOf(kind, done)}${paid}.`
}

/** Returns the text of the progress display: counts, and the credits of priced work. */
export const stepText =
  ({ kind, operation: row }: WorkKind) =>
  ({ rows, total, credits = 0 }: Step): string =>
    [
      `${formatNumber(rows)}${total ? ` of ${formatNumber(Math.max(rows, total))}` : ''} ${nounOf(kind, total || rows)}`,
      ...(isPriced(row) ? [formatCredits(credits)] : []),
    ].join(' · ')

function countText({ kind }: WorkKind, { done, expected }: WorkProgress): string {
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
  const { globals, streams } = context
  const file = fileOf(globals)
  if (file !== undefined) {
    checkOutputName(file, globals, streams)
    checkOutputFolder('-o', file, streams)
  }
  return resolved
}

function resultOfKind(kind: EventKind): Shape['output'] {
  if (kind === 'lead_search') return leadAndCompany()
  if (kind === 'contact_enrichment') return contactResult()
  return kind === 'list_import' ? listRecord() : companyOf(kind)
}

const pageRows = 500

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
