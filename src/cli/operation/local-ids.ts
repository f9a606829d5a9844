import { pathParameters } from '../../api/operations/facts.js'
import { areaOf, type Operation } from '../../api/operations/table.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { openAdmin } from '../context/open-databases.js'
import type { ProspectCommand } from '../options/command-environment.js'
import {
  addStoredId,
  among,
  expandId,
  mostCandidates,
  resolveIds,
  type StoredIds,
  type StoredKind,
} from '../options/stored-ids.js'
import type { OperationRequest } from './request.js'

/** What the local engine stores, and an operation takes by its id. */
interface LocalKind extends StoredKind {
  readonly ids: (admin: Admin) => Promise<StoredIds>
}

const jobKind = (
  noun: string,
  list: string,
  filter: Parameters<Admin['jobsStartingWith']>[2],
): LocalKind => ({
  ...{ noun, list },
  ids: async (admin) => ({
    startingWith: (prefix) => admin.jobsStartingWith(prefix, mostCandidates, filter),
    newest: async () => (await admin.jobsStartingWith('', 1, filter))[0],
  }),
})

const kinds: Readonly<Record<string, LocalKind>> = {
  searches: jobKind('search', 'searches list --no-enriched', { isSearch: true }),
  lists: jobKind('list', 'lists list', { kind: 'list_import' }),
  contacts: jobKind('enrichment', 'engine jobs list', { kind: 'contact_enrichment' }),
  personas: {
    ...{ noun: 'persona', list: 'personas list' },
    ids: async (admin) => among(await admin.personaIds()),
  },
}

/** Returns the kind of thing that the path of an operation names; `undefined` where it names none. */
const kindOf = (row: Operation): LocalKind | undefined =>
  pathParameters(row).length > 0 ? kinds[areaOf(row.id)] : undefined

/** Adds the argument and the option that name what the path of an operation names. */
export function addLocalId(command: ProspectCommand, row: Operation): void {
  const kind = kindOf(row)
  if (kind) addStoredId(command, kind)
}

/**
 * Returns the whole id that the argument of a command or `--last` names in the local engine. Ids of a server are passed as
 * they are, and a list may be named. Throws UsageError for none, an ambiguous one, and `--last` with a server.
 */
export async function resolveLocalId(
  context: Context,
  operation: Operation,
  { args, options }: OperationRequest['invocation'],
): Promise<readonly string[]> {
  const kind = kindOf(operation)
  const [id] = args
  const isWhole = options.last !== true && id !== undefined && /^[\da-f-]{36}$/i.test(id)
  if (!kind || isWhole) return args
  if (areaOf(operation.id) === 'lists' && id !== undefined && options.last !== true) {
    const { resolveListName } = await import('./filter-names.js')
    const named = await resolveListName(context, id)
    if (named !== id) return [named]
  }
  if (!context.isLocal()) {
    if (id !== undefined && options.last !== true) return args
    const problem = options.last ? '--last is for the engine of this machine' : '<id> is missing'
    throw new UsageError(`${problem}.`, `Give the id of a ${kind.noun}. See: prospect ${kind.list}`)
  }
  const ids = await kind.ids(await openAdmin(context))
  if (id === undefined || options.last) return resolveIds({ args, options }, kind, ids)
  // The engine says what is wrong with an id that nothing has.
  return [(await expandId(id, kind, ids)) ?? id]
}
