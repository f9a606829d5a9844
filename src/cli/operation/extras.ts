import { Option } from 'commander'
import type { Reply } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import type { StreamsContext, TargetContext } from '../context/context.js'
import { exits, Stop } from '../context/errors.js'
import { groups, whole } from '../options/flags.js'
import type { View } from '../output/output.js'
import { type Row, valueAt } from '../output/records.js'
import { grouped } from '../output/terminal.js'
import type { Invocation } from '../shell/shell.js'
import { creditsView } from './credits-view.js'

/** What a derived command has beyond its row of the table. */
export interface Extra {
  readonly layout?: View['layout']
  /** Made anew for each command. */
  options?(): Option[]
  /** Judges a success after it was printed; throws when the command is to end badly all the same. */
  judge?(reply: Reply, options: Readonly<Record<string, unknown>>): void
  /** Says on stderr what else there is to know after a success. */
  after?(context: object, reply: Reply, invocation: Invocation): Promise<void>
}

const extras: Partial<Readonly<Record<OperationId, Extra>>> = {
  'credits.show': {
    layout: creditsView,
    options: () => [
      new Option('--min <credits>', 'exit 13 when the balance is below')
        .argParser(whole)
        .helpGroup(groups.request),
    ],
    judge: checkBalance,
  },
  'searches.list': { after: tellHidden },
}

/** The extra of an operation. */
export const extraOf = (id: OperationId): Extra => extras[id] ?? {}

function checkBalance(reply: Reply, options: Readonly<Record<string, unknown>>): void {
  const balance = valueAt(reply.body as Row, 'credits.enrichment')
  if (typeof options.min !== 'number' || typeof balance !== 'number' || balance >= options.min) return
  throw new Stop(
    `The balance of ${grouped(balance)} credits is below ${grouped(options.min)}.`,
    exits.checkFailed,
    'Buy credits, or lower --min.',
    'below_minimum',
  )
}

/** Searches without an e-mail address or phone are not listed unless they are asked for. */
async function tellHidden(
  context: StreamsContext & TargetContext,
  _: Reply,
  { options, globals }: Invocation,
): Promise<void> {
  if (options.enriched === false || !context.isLocal(globals)) return
  const { all, enriched } = await (await context.admin(globals)).countSearches()
  const hidden = all - enriched
  if (hidden > 0)
    context.notify(`${grouped(hidden)} more, none of whose leads can be reached: --no-enriched`, globals)
}
