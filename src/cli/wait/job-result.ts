import { isOk } from '../../api/calls/caller.js'
import { resolvesNothing } from '../../api/operations/not-found.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import type { AsyncJob } from '../../engine/ports/ports.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { exits, reportOfAnswer, Stop } from '../context/errors.js'
import { callOnce } from '../operation/call.js'
import { printRecords } from '../output/print-records.js'
import type { Row } from '../output/records.js'
import type { Shell } from '../shell/shell.js'
import { columnsOfKind, recordsOf } from './job-records.js'

/** Prints what a job found: its records, the contact or contacts, or the list. Answers whether that was anything. */
export async function printResult(shell: Shell, job: AsyncJob, globals: GlobalOptions): Promise<boolean> {
  if (job.kind === 'contact_enrichment') return printContacts(shell, job, globals)
  if (job.kind === 'list_import') {
    await shell.print(await read(shell.context, 'lists.get', job, globals), globals)
    return true
  }
  const admin = await shell.context.admin(globals)
  await printRecords(shell.context, () => recordsOf(admin, job), globals, columnsOfKind(job.kind))
  return true
}

/** Prints the result of an import that was not started, because nothing matches. */
export async function printNothing(shell: Shell, globals: GlobalOptions): Promise<number> {
  await shell.print([], globals)
  return exits.ok
}

/** One contact as it is, several as a list. */
async function printContacts({ context, print }: Shell, job: AsyncJob, globals: GlobalOptions) {
  const body = await read(context, 'contacts.get', job, globals)
  const several = body.contacts as readonly Row[] | undefined
  await print(several ?? body, globals, { columns: columnsOfKind(job.kind) })
  const single = operation('contacts.enrich_sync')
  return !(several ?? [body]).every((contact) => resolvesNothing(single, contact))
}

/** Asks the API for what it keeps of a job; that is free, and no limit counts it. */
async function read(context: Context, id: OperationId, job: AsyncJob, globals: GlobalOptions): Promise<Row> {
  const reply = await callOnce(context, await context.caller(globals), operation(id), { id: job.id }, globals)
  if (isOk(reply)) return reply.body as Row
  const { error, exit_code, hint } = reportOfAnswer(reply.status, reply.body)
  throw new Stop(`The result cannot be read: ${error}`, exit_code, hint)
}
