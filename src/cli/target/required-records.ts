import { Refusal } from '../../api/calls/errors.js'
import { isMetered } from '../../api/operations/facts.js'
import {
  areaOf,
  type Operation,
  type OperationId,
  operation,
  vendorKindsOf,
} from '../../api/operations/table.js'
import type { RecordKind } from '../../catalogue/kinds/kind.js'
import type { Context } from '../context/context.js'
import { describeCatalogue, placeOf, readOrigins } from './local-target.js'

/** Kinds of records that operations need, where these are not only those of their area. */
const kindsOfOperations: Partial<Readonly<Record<Operation['id'], readonly RecordKind[]>>> = {
  'accounts.count_profiles': ['companies', 'people'],
  'accounts.hiring': ['companies', 'jobs'],
  'accounts.technologies': [],
  'intents.hiring': ['companies', 'jobs'],
  'intents.post_engagers': ['posts'],
  'leads.search': ['companies', 'people'],
}

const kindsOfAreas: Readonly<Record<string, readonly RecordKind[]>> = {
  accounts: ['companies'],
  intents: ['companies'],
  leads: ['people'],
  contacts: ['people'],
}

/** Returns the kinds of records without which operations find nothing, and of which this machine has none. */
async function missingKinds(
  context: Pick<Context, 'catalogue'>,
  rows: readonly Operation[],
): Promise<readonly RecordKind[]> {
  const needed = rows.flatMap(({ id }) => kindsOfOperations[id] ?? kindsOfAreas[areaOf(id)] ?? [])
  return needed.length === 0 ? [] : (await context.catalogue()).missing([...new Set(needed)])
}

/** What the engine answers from the records of its catalogue, beside what is charged, counted, filtered or asked for a file. */
const readsRecords: readonly OperationId[] = ['accounts.technologies', 'contacts.check_data_availability']

function answersFromRecords({ id }: Operation): boolean {
  // On a plan for own data nothing is metered.
  const row = operation(id)
  return isMetered(row) || row.filters === true || row.batch !== undefined || readsRecords.includes(id)
}

/**
 * Throws a Refusal (exit 2) where one of the operations would be answered from this machine's catalogue, and that has no
 * records of a kind that it needs: nothing found would read as an answer. Data vendors of the workspace answer, too.
 */
export async function requireRecords(context: Context, rows: readonly Operation[]): Promise<void> {
  if (!context.isLocal()) return
  const asking: Operation[] = []
  for (const row of rows.filter(answersFromRecords))
    if (!(await context.hasVendors(vendorKindsOf(row)))) asking.push(row)
  if (asking.length === 0) return
  const place = placeOf(context.home)
  const { kind } = describeCatalogue(context.home, await readOrigins(context), context.clock.now())
  if (kind === 'empty') throw new Refusal('usage.empty_catalogue', { place })
  const [missing] = await missingKinds(context, asking)
  if (missing !== undefined) throw new Refusal('usage.no_records', { kind: missing, place })
}

/** Returns the real time before which answers are out of date: that of the latest import into this machine's catalogue; 0 for a server. */
export const answersFrom = async (context: Context): Promise<number> =>
  context.isLocal() ? ((await readOrigins(context))?.changedAt ?? 0) : 0
