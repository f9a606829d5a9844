import { isOk } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { type OperationId, operation, resolvesNothing } from '../../api/operations/table.js'
import { type EventKind, eventOf } from '../../api/webhooks/events.js'
import { recordOf } from '../../client/parse-delivery.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { AsyncJob } from '../../engine/tables/jobs.js'
import type { Context } from '../context/context.js'
import { reportOfAnswer, Stop } from '../context/errors.js'
import { callOnce } from '../operation/call.js'
import { explainMissing } from '../operation/refusal.js'
import { print, printRecords, type Records } from '../output/print.js'
import { columnsOfKind, type Row, valueAt } from '../output/records.js'

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

/** Prints the result of a job of this machine. Returns whether anything was found. */
export async function printResult(context: Context, job: AsyncJob): Promise<boolean> {
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
  return printFound(context, { kind, single: false }, () => recordsOf(admin, job))
}

/** Prints the records of accepted work, `single` without a list around it. Returns whether anything was found. */
export async function printFound(
  context: Context,
  { kind, single }: { readonly kind: EventKind; readonly single: boolean },
  records: Records,
): Promise<boolean> {
  const columns = columnsOfKind(kind)
  if (kind !== 'contact_enrichment' && !single) {
    await printRecords(context, records, { columns })
    return true
  }
  const found = await Array.fromAsync(records())
  await print(context, single ? found[0] : found, kind === 'list_import' ? {} : { columns })
  const sync = operation('contacts.enrich_sync')
  return kind === 'list_import' || !found.every((contact) => resolvesNothing(sync, contact))
}

/** Reads what the API stores of a job, which is free and not rate limited. */
async function readResult(context: Context, id: OperationId, job: AsyncJob): Promise<Row> {
  const reply = await callOnce(context, await context.caller(), operation(id), { id: job.id })
  if (isOk(reply)) return reply.body as Row
  const { error, exit_code, hint } = reportOfAnswer(reply.status, reply.body)
  throw new Stop(`The result cannot be read: ${error}`, exit_code, hint)
}

const pageRows = 500

/**
 * Yields the records of a job in the order found, page by page. A company has what was found with it beside its
 * fields.
 */
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
