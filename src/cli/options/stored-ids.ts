import { Argument, Option } from 'commander'
import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { Stop, UsageError } from '../context/errors.js'
import { shortenId } from '../output/text.js'
import type { Invocation, ProspectCommand } from './command-environment.js'

export interface StoredKind {
  /** Singular, such as `run`. */
  readonly noun: string
  /** The command that lists them, without the leading `prospect`. */
  readonly list: string
}

export interface StoredIds {
  /** Returns the ids that begin so, newest first; a few are enough. */
  startingWith(prefix: string): Promise<readonly string[]>
  /** Returns the id of the newest one. */
  newest(): Promise<string | undefined>
}

/** Returns how ids are found among all of them, newest first. */
export const among = (ids: readonly string[]): StoredIds => ({
  startingWith: async (prefix) => ids.filter((id) => id.startsWith(prefix)),
  newest: async () => ids[0],
})

export const mostCandidates = 6

/** Adds the argument and the option that name things of a kind: by ids, their beginnings, or `--last`. */
export const addStoredId = <Options>(
  command: ProspectCommand<Options>,
  { noun, list }: StoredKind,
  several = false,
): ProspectCommand<Options> =>
  command
    .addArgument(
      several
        ? new Argument('[id...]', `ids, or their beginnings, as ${list} shows them`)
        : new Argument('[id]', `id, or its beginning, as ${list} shows it`),
    )
    .addOption(new Option('--last', `the newest ${noun}`))

/** Throws UsageError for no id or an ambiguous one, and a `Stop` (exit 9) for one that nothing has. */
export async function resolveIds(
  { args, options }: Pick<Invocation, 'args' | 'options'>,
  kind: StoredKind,
  ids: StoredIds,
): Promise<readonly string[]> {
  if (options.last === true) {
    if (args.length > 0)
      throw new UsageError('--last and an id cannot be used together.', 'Use one or the other.')
    const id = await ids.newest()
    if (id === undefined) throw new Stop(`There is no ${kind.noun} yet.`, exitCodes.notFound, '', 'not_found')
    return [id]
  }
  if (args.length === 0) throw new Refusal('usage.no_id', { noun: kind.noun, list: kind.list })
  return Promise.all(args.map((arg) => resolveId(arg, kind, ids)))
}

async function resolveId(given: string, kind: StoredKind, ids: StoredIds): Promise<string> {
  const id = await expandId(given, kind, ids)
  if (id !== undefined) return id
  const hint = `See what there is: prospect ${kind.list}`
  throw new Stop(`There is no ${kind.noun} ${given}.`, exitCodes.notFound, hint, 'not_found')
}

/** Returns the whole id of which `given` is the beginning; `undefined` where nothing begins so. Throws UsageError for several. */
export async function expandId(
  given: string,
  { noun }: StoredKind,
  ids: Pick<StoredIds, 'startingWith'>,
): Promise<string | undefined> {
  const found = given === '' ? [] : await ids.startingWith(given)
  if (found.length < 2 || found.includes(given)) return found.includes(given) ? given : found[0]
  const shown = found.slice(0, mostCandidates - 1).map((id) => shortenId(id, found))
  const more = found.length > shown.length ? ' and others' : ''
  throw new UsageError(
    `${given} is the beginning of more than one ${noun}: ${shown.join(', ')}${more}.`,
    'Give more of the id.',
  )
}
