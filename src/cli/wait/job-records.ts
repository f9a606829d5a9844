import * as z from 'zod'
import type { Shape } from '../../api/areas/shapes.js'
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
import type { Row } from '../output/records.js'

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
