import type { Shape } from '../../api/areas/shapes.js'
import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, type OperationId, operation, resolvesNothing } from '../../api/operations/table.js'
import { contactResult, leadAndCompany, listRecord } from '../../api/schemas/records.js'
import { companyOf, type EventKind, eventOf } from '../../api/webhooks/events.js'
import type { Step } from '../../runs/output/report.js'
import { portionsOf } from '../../storage/driver/connection.js'
import type { Context } from '../context/context.js'
import { withoutStop } from '../context/errors.js'
import { checkOutputFolder, checkOutputName, fileOf } from '../output/output.js'
import { print, printRecords, type Records } from '../output/print.js'
import { columnsOfKind } from '../output/records.js'
import { formatCredits, formatNumber } from '../output/text.js'
import type { AskedData } from './missing-data.js'
import { notifyMissing, withFields } from './print.js'

/** The records of an import that `--skip-known` leaves out. */
export interface KnownRecords {
  without(records: Records): Records
  /** Says how many were left out when they were read the last time. */
  report(): void
}

/** Prints the result of an import that was not started, because nothing matches. Returns the exit code. */
export async function printNothing(context: Context, asked: AskedData): Promise<number> {
  const kind = eventOf(asked.operation.id)
  await print(context, [], kind ? { columns: columnsOfKind(kind) } : {})
  await notifyMissing(context, asked)
  return exitCodes.ok
}

/** Prints the records of accepted work. Returns them where nothing was found. */
export async function printFound(
  context: Context,
  { kind, single }: Pick<AcceptedWork, 'kind' | 'single'>,
  records: Records,
  known?: KnownRecords,
): Promise<readonly unknown[] | undefined> {
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
  return isFound ? undefined : found
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
  readonly spent: number
  /** Records that will come. */
  readonly expected?: number | undefined
  /** Whether a quota or the credits ended the work before everything was found. */
  readonly truncated?: boolean
  /** Whether what was found is about somebody suppressed, so that nothing of it is left. */
  readonly isSuppressed?: true | undefined
  /** What went wrong, in the server's words. */
  readonly error?: string | undefined
}

/** The command that shows what was found, and what a person can do about work that failed or is still running. */
export type NextSteps = Readonly<Record<'see' | 'afterFailure' | 'toContinue', string>>

export function resultCommand(kind: EventKind, id: string): string {
  if (kind === 'list_import') return `prospect lists get ${id}`
  return kind === 'contact_enrichment' ? `prospect contacts get ${id}` : `prospect searches get ${id} --all`
}

/** Returns what became of work that failed, was cut short or is not done; `undefined` where it succeeded. */
export function refusalOfWork(
  { kind, operation: { quota } }: AcceptedWork,
  { state, done, expected = 0, truncated, error = 'Internal error' }: WorkProgress,
  { see, afterFailure, toContinue }: NextSteps,
  interruption: number | undefined,
): Refusal | undefined {
  if (state === 'failed') {
    const kept = done > 0 ? `What was found before is kept: ${see}. ` : ''
    return new Refusal('usage.job_failed', { reason: withoutStop(error), kept, hint: afterFailure })
  }
  const counted = countText(kind, done, expected > done || state === 'going' ? expected : 0)
  if (state === 'finished')
    return truncated ? new Refusal('usage.job_truncated', { counted, quota: quota ?? 'credits' }) : undefined
  const details = { counted, hint: toContinue, exit: interruption }
  return new Refusal(interruption === undefined ? 'usage.job_going' : 'usage.job_stopped', details)
}

export function successText({ kind, operation: row }: AcceptedWork, { done, spent }: WorkProgress): string {
  const paid = isPriced(row) ? ` for ${formatCredits(spent)}` : ''
  const did = kind === 'contact_enrichment' ? 'Looked up' : kind === 'list_import' ? 'Imported' : 'Found'
  return `${did} ${countText(kind, done)}${paid}.`
}

/** Returns the text of the progress display: counts, and the credits of priced work. */
export const stepText =
  ({ kind, operation: row }: Pick<AcceptedWork, 'kind' | 'operation'>) =>
  ({ rows, total, credits = 0 }: Step): string => {
    const counted = countText(kind, rows, total && Math.max(rows, total))
    return isPriced(row) ? `${counted} · ${formatCredits(credits)}` : counted
  }

function countText(kind: EventKind, done: number, expected = 0): string {
  const of = expected > 0 && expected >= done ? ` of ${formatNumber(expected)}` : ''
  const nouns = kind === 'lead_search' ? people : kind === 'contact_enrichment' ? contacts : companies
  return `${formatNumber(done)}${of} ${nouns[(expected || done) === 1 ? 0 : 1]}`
}

const people = ['person', 'people']
const contacts = ['contact', 'contacts']
const companies = ['company', 'companies']

/** Returns the context with `--fields` as the result has them. Throws where it would not have them, or not be written to `-o`. */
export async function checkOutput(context: Context, id: OperationId): Promise<Context> {
  const kind = eventOf(id)
  const resolved = kind ? withFields(context, { output: resultOfKind(kind) }) : context
  const file = fileOf(context.globals)
  if (file !== undefined) {
    checkOutputName(file, context.globals, context.streams)
    checkOutputFolder('-o', file, context.streams)
  }
  return resolved
}

function resultOfKind(kind: EventKind): Shape['output'] {
  if (kind === 'lead_search') return leadAndCompany()
  if (kind === 'contact_enrichment') return contactResult()
  return kind === 'list_import' ? listRecord() : companyOf(kind)
}

const pageRows = 500

/** Yields what is read in pages, each after the last ordinal of the one before. */
export async function* readByOrdinal<T extends { readonly ordinal: number }>(
  read: (after: number, limit: number) => Promise<readonly T[]>,
) {
  for await (const page of portionsOf<T>(pageRows, (last) => read(last?.ordinal ?? 0, pageRows))) yield* page
}
