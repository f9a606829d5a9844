import { type Command, InvalidArgumentError } from 'commander'
import type { EventFilter, Events, ListedEvent } from '../../../storage/state/webhook-inbox.js'
import { UsageError } from '../../context/errors.js'
import { whole } from '../../options/flags.js'
import { durationMs, endMs, momentMs } from '../../options/time-values.js'

/** A time as it is typed: so long ago, or at a moment; milliseconds. */
type Typed = { readonly agoMs: number } | { readonly at: number }

const isDuration = (text: string): boolean => /[smhd]$/.test(text)

const since = (text: string): Typed =>
  isDuration(text) ? { agoMs: durationMs(text) } : { at: momentMs(text) }
const until = (text: string): Typed => (isDuration(text) ? { agoMs: durationMs(text) } : { at: endMs(text) })

function atLeastOne(text: string): number {
  const value = whole(text)
  if (value === 0) throw new InvalidArgumentError('Give a whole number above 0.')
  return value
}

/** Gives a command the options that choose received events. */
export const filtered = (command: Command): Command =>
  command
    .option('--event <name>', 'of this event, such as lead_search.completed; one of its halves will do')
    .option('--search <id>', 'of this search, import, list or enrichment')
    .option('--since <time>', 'received since: a day or time (UTC), or so long ago, such as 2h', since)
    .option('--until <time>', 'received until: a day, included, a time, or so long ago', until)
    .option('--limit <n>', 'at most so many', atLeastOne)

/** Which events are meant, and how many of them at most. */
export interface Chosen {
  readonly filter: EventFilter
  readonly limit: number
}

/** Reads those options. */
export function chosen(options: Readonly<Record<string, unknown>>, now: number): Chosen {
  const given = options as { event?: string; search?: string; since?: Typed; until?: Typed; limit?: number }
  const at = (typed: Typed) => ('at' in typed ? typed.at : now - typed.agoMs)
  const filter: EventFilter = {
    ...(given.event === undefined ? {} : { event: given.event }),
    ...(given.search === undefined ? {} : { search: given.search }),
    ...(given.since === undefined ? {} : { since: at(given.since) }),
    ...(given.until === undefined ? {} : { until: at(given.until) }),
  }
  if (filter.since !== undefined && filter.until !== undefined && filter.since >= filter.until)
    throw new UsageError('--since is not before --until.', 'Swap them.')
  return { filter, limit: given.limit ?? Number.POSITIVE_INFINITY }
}

const pageRows = 500

/** The chosen events, read as they are asked for. */
export async function* chosenEvents(
  events: Events,
  { filter, limit }: Chosen,
  order: 'newest' | 'oldest',
): AsyncGenerator<ListedEvent> {
  let after: number | undefined
  for (let left = limit; left > 0; ) {
    const page = await events.list(filter, order, Math.min(pageRows, left), after)
    yield* page
    after = page.at(-1)?.seq
    if (page.length < pageRows) return
    left -= page.length
  }
}
