import * as z from 'zod'
import type { Shape } from '../../api/areas/shapes.js'
import { isOk } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { resolvesNothing } from '../../api/operations/units.js'
import {
  accountRecord,
  contactResult,
  jobRecord,
  leadAndCompany,
  listRecord,
} from '../../api/schemas/records.js'
import type { EventKind } from '../../api/webhooks/events.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { AsyncJob } from '../../engine/ports/ports.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { reportOfAnswer, Stop } from '../context/errors.js'
import { callOnce } from '../operation/call.js'
import type { CommandEnvironment } from '../options/command-environment.js'
import { printRecords } from '../output/print-records.js'
import type { Row } from '../output/records.js'

/** Prints what a job found: its records, the contact or contacts, or the list. Answers whether that was anything. */
export async function printResult(
  environment: CommandEnvironment,
  job: AsyncJob,
  globals: GlobalOptions,
): Promise<boolean> {
  if (job.kind === 'contact_enrichment') return printContacts(environment, job, globals)
  if (job.kind === 'list_import') {
    await environment.print(await read(environment.context, 'lists.get', job, globals), globals)
    return true
  }
  const admin = await environment.context.admin(globals)
  await printRecords(environment.context, () => recordsOf(admin, job), globals, columnsOfKind(job.kind))
  return true
}

/** Prints the result of an import that was not started, because nothing matches. */
export async function printNothing(environment: CommandEnvironment, globals: GlobalOptions): Promise<number> {
  await environment.print([], globals)
  return exitCodes.ok
}

/** One contact as it is, several as a list. */
async function printContacts({ context, print }: CommandEnvironment, job: AsyncJob, globals: GlobalOptions) {
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

const pageRows = 500

/** The records of a job in the order found, read as they are asked for; a company with what was found with it. */
export async function* recordsOf(admin: Admin, { id, kind }: AsyncJob): AsyncGenerator<Row> {
  for (let after = 0; ; ) {
    const page = await admin.jobRecords(id, after, pageRows)
    for (const { record } of page) yield shown(kind, JSON.parse(record) as Row)
    if (page.length < pageRows) return
    after = page.at(-1)?.ordinal ?? after
  }
}

function shown(kind: EventKind, record: Row): Row {
  if (kind === 'lead_search' || kind === 'contact_enrichment') return record
  const { account, ...found } = record
  return { ...(account as Row), ...found }
}

/** Columns of a table of the records of a kind. */
export const columnsOfKind = (kind: EventKind): readonly string[] => {
  if (kind === 'lead_search') return ['lead.full_name', 'lead.title', 'company.name']
  if (kind === 'contact_enrichment') return ['first_name', 'last_name', 'email', 'email_status', 'phone']
  return ['name', 'domain', 'industry', 'headcount', 'country']
}

/** The shape of what the work of a kind finds. */
export function resultOfKind(kind: EventKind): Shape['output'] {
  if (kind === 'lead_search') return leadAndCompany()
  if (kind === 'contact_enrichment') return contactResult()
  return kind === 'list_import' ? listRecord() : accountRecord().extend(foundWith[kind]?.() ?? {})
}

/** What comes with a company, by the kind of import. */
const foundWith: Partial<Readonly<Record<EventKind, () => z.ZodRawShape>>> = {
  hiring_import: () => ({ jobs: z.array(jobRecord()) }),
  stack_import: () => ({ technologies_found: named('technology_name', 'confidence', 'job_mentions') }),
  lookalike_import: () => ({
    similarity: named('score', 'industry', 'size', 'country', 'technologies', 'growth'),
  }),
}

/** Fields that are only asked for by their names. */
const named = (...names: readonly string[]): z.ZodObject =>
  z.object(Object.fromEntries(names.map((name) => [name, z.unknown()])))
