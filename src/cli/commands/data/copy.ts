import { existsSync } from 'node:fs'
import { Argument } from 'commander'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { CopyResult } from '../../../catalogue/export/copy.js'
import type { Driver } from '../../../storage/driver/connection.js'
import type { Context } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { prepareHome } from '../../context/home.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { print } from '../../output/output.js'
import { startProgress } from '../../output/progress.js'
import { formatNumber } from '../../output/text.js'

/** `prospect data copy`: the catalogue of this machine to a server, or back. */
export const copyCommand: CommandFactory = ({ command }) =>
  command('copy', "Copy this machine's catalogue to the engine's database on a server, or back")
    .addArgument(new Argument('<to>', 'where to').choices(['server', 'machine']))
    .addOption(catalogueOption())
    .run(copy)

async function copy(outer: Context, { args: [to], options }: Invocation): Promise<number> {
  const context = withCatalogueOption(outer, options)
  const { machine, server } = await openBoth(context, to === 'server')
  const { copyCatalogue } = await import('../../../catalogue/export/copy.js')
  const progress = await startProgress(context, ({ rows }) => `${formatNumber(rows)} rows`)
  const onRows = (rows: number) => progress.update({ rows, found: 0, credits: 0, total: undefined })
  const [from, into] = to === 'server' ? [machine, server] : [server, machine]
  const copied = await copyCatalogue(from, into, onRows).finally(() => progress.stop())
  if (typeof copied === 'string' || 'tooLong' in copied) throw toRefusal(copied, to)
  await print(context, { to, rows: copied.rows })
  return exitCodes.ok
}

/** Opens the catalogues of this machine and of the server; both are migrated to this program's schema. */
async function openBoth(
  { home, clock, ids, onClose }: Context,
  needsMachine: boolean,
): Promise<{ machine: Driver; server: Driver }> {
  const { isShared, openCatalogueDatabase } = await import('../../../storage/database/open.js')
  const { openCatalogue } = await import('../../../catalogue/catalogue.js')
  if (!isShared(home))
    throw new UsageError(
      'No server database is given.',
      'Give --database postgres://role@host/database, or set PROSPECT_DATABASE_URL.',
    )
  if (needsMachine && !existsSync(home.catalogue))
    throw new UsageError(
      'This machine has no catalogue yet.',
      'Fill the shared catalogue directly: prospect data import with --database.',
    )
  prepareHome(home)
  const open = async (engine: string) => {
    const driver = await openCatalogueDatabase({ engine, catalogue: home.catalogue })
    const catalogue = await openCatalogue(driver, { clock, ids })
    onClose(() => catalogue.close())
    return driver
  }
  return { machine: await open(''), server: await open(home.engine) }
}

function toRefusal(copied: Exclude<CopyResult, { rows: number }>, to: string | undefined): Error {
  if (typeof copied === 'object')
    return new UsageError(
      `${copied.tooLong} is too long for a server. Nothing was copied.`,
      'Shorten it with prospect data import, which updates the record, then copy again.',
    )
  if (copied === 'not empty')
    return new UsageError(
      `The catalogue ${to === 'server' ? 'on the server' : 'of this machine'} is not empty. A catalogue can only be copied into an empty one.`,
      'To add to what is there: prospect data export KIND --format ndjson, then prospect data import KIND FILE.',
    )
  return new Stop(
    'The copy differs from its source. Nothing was changed.',
    exitCodes.checkFailed,
    'Run prospect doctor on both sides, then copy again.',
    'storage_failed',
  )
}
