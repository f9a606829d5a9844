import { exitCodes } from '../../api/calls/exit-codes.js'
import { isPriced } from '../../api/operations/facts.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import type { EventKind } from '../../api/webhooks/events.js'
import type { Report } from '../context/errors.js'
import type { Step } from '../output/progress.js'
import { formatCredits, formatNumber } from '../output/text.js'

/** How accepted work stands, on this machine or on a server. */
export interface WorkState {
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

/** Returns the command that prints what accepted work has found. */
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

/** Returns what finished work did and cost, in a sentence. */
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

/** Returns the noun for the records of a kind of work. */
function nounOf(kind: EventKind, count: number): string {
  if (kind === 'lead_search') return count === 1 ? 'person' : 'people'
  if (kind === 'contact_enrichment') return count === 1 ? 'contact' : 'contacts'
  return count === 1 ? 'company' : 'companies'
}
