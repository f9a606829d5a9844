import { Option } from 'commander'
import type { Reply } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import type { OperationId } from '../../api/operations/table.js'
import type { StreamsContext, TargetContext } from '../context/context.js'
import { Stop } from '../context/errors.js'
import type { Invocation } from '../options/command-environment.js'
import { groups } from '../options/global-options.js'
import { whole } from '../options/values.js'
import type { View } from '../output/output.js'
import { type Row, valueAt } from '../output/records.js'
import { formatNumber, type Look } from '../output/text.js'

/** What the command of an operation has beside what the operation table says. */
export interface Extra {
  readonly layout?: View['layout']
  /** Creates its further options. */
  options?(): Option[]
  /** Checks a success after it was printed. Throws Stop where the command fails nevertheless. */
  check?(reply: Reply, options: Readonly<Record<string, unknown>>): void
  /** Prints further notes on stderr after a success. */
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
    check: checkBalance,
  },
  'searches.list': { after: reportHidden },
}

/** Returns the extra of an operation. */
export const extraOf = (id: OperationId): Extra => extras[id] ?? {}

function checkBalance(reply: Reply, options: Readonly<Record<string, unknown>>): void {
  const balance = valueAt(reply.body as Row, 'credits.enrichment')
  if (typeof options.min !== 'number' || typeof balance !== 'number' || balance >= options.min) return
  throw new Stop(
    `The balance of ${formatNumber(balance)} credits is below ${formatNumber(options.min)}.`,
    exitCodes.checkFailed,
    'Buy credits, or lower --min.',
    'below_minimum',
  )
}

/** Says how many searches are not listed because none of their leads has an e-mail address or phone. */
async function reportHidden(
  context: StreamsContext & TargetContext,
  _: Reply,
  { options, globals }: Invocation,
): Promise<void> {
  if (options.enriched === false || !context.isLocal(globals)) return
  const { all, enriched } = await (await context.admin(globals)).countSearches()
  const hidden = all - enriched
  if (hidden > 0)
    context.notify(`${formatNumber(hidden)} more, none of whose leads can be reached: --no-enriched`, globals)
}

const quotas = [
  ['Profiles per day', 'daily_profile_scraping', 'every day, 00:00 UTC'],
  ['Companies per day', 'daily_company_import', 'every day, 00:00 UTC'],
  ['Companies per month', 'monthly_company_import', 'on the 1st, 00:00 UTC'],
] as const

/** Returns the table of `prospect credits`: the balance, and what is left of each quota and when it resets. */
export async function creditsView(body: unknown, look: Look): Promise<string> {
  const { grid, record } = await import('../output/table.js')
  const number = (path: string) => valueAt(body as Row, path) ?? '–'
  const rows = quotas.map(([Quota, name, Resets]) => ({
    ...{ Quota, Left: number(`credits.${name}`), Of: number(`limits.${name}`), Resets },
  }))
  const balance = record({ 'Enrichment credits': number('credits.enrichment') }, look)
  return `${balance}\n${grid(['Quota', 'Left', 'Of', 'Resets'], rows, look)}`
}
