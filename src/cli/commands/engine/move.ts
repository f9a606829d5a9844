import { dirname, join } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import type { MovedParts, MoveReport } from '../../../storage/database/move.js'
import { isPostgres, withoutPassword } from '../../../storage/driver/connection.js'
import type { Context, Home } from '../../context/context.js'
import { isSameFile, prepareHome, quoteForShell, withEngine } from '../../context/home.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { refusePassword } from '../../options/values.js'
import { print } from '../../output/print.js'
import { startProgress } from '../../output/progress.js'
import { confirm } from '../../output/prompt.js'
import { grid, record } from '../../output/table.js'
import { countOf, formatNumber, type Look } from '../../output/text.js'

export const moveCommand: CommandFactory = ({ command }) =>
  command('move', 'Move the engine and its catalogue to another database')
    .requiredOption(
      '--to <database>',
      'the new place: postgres://…, a file, or home for the files of this machine',
      refusePassword('--to'),
    )
    .run(async (context, { options }) => {
      const { home, streams } = context
      const to = targetOf(home, (options as { to: string }).to, streams.cwd)
      for (const { engine } of [home, to]) if (engine === ':memory:') throw new Refusal('database.in_memory')
      if (isSamePlace(home.engine, to.engine)) throw new Refusal('usage.move_nowhere', { place: to.engine })
      prepareHome(home)
      prepareHome(to)
      const [before, after] = [withoutPassword(home.engine), to.engine]
      await confirm(context, `Move the engine in ${before} to ${after}? It then works only there.`, 'no')
      const { before: isRepeated, tables, runsLeft } = await move(context, to)
      const rows = tables.reduce((sum, table) => sum + table.rows, 0)
      const body = { from: before, to: after, tables, rows, next: nextOf(home, to) }
      await print(context, body, { layout: (_, look) => layOut(body, look) })
      if (isRepeated) context.notify('The engine had been moved there before. Nothing was changed.')
      if (runsLeft > 0) context.notify(`${countOf(runsLeft, 'shared run')} stayed in ${before}.`)
    })

/** Returns the home whose engine is at the target of a move. */
function targetOf(home: Home, to: string, cwd: string): Home {
  const ofHome = join(dirname(home.catalogue), 'engine.db')
  return to === 'home' ? { ...home, engine: ofHome } : withEngine(home, to, cwd, '--to')
}

const isSamePlace = (one: string, other: string): boolean =>
  isPostgres(one) || isPostgres(other) ? withoutPassword(one) === other : isSameFile(one, other)

/** Returns what moves with an engine. */
export async function movedParts(): Promise<MovedParts> {
  const { movedEngine } = await import('../../../engine/tables/schema.js')
  const { movedTables } = await import('../../../catalogue/export/export.js')
  const { catalogueSchema: schema } = await import('../../../catalogue/schema/schema.js')
  const { pageBytes, schemaSuffix } = await import('../../../storage/database/open.js')
  const { movedRuns } = await import('../../../storage/state/open.js')
  const catalogue = { schema, tables: movedTables(), schemaSuffix, pageBytes, rebuilds: true } as const
  return { engine: movedEngine(), catalogue, runs: movedRuns() }
}

async function move(context: Context, to: Home): Promise<MoveReport> {
  const { home, clock } = context
  const { moveEngine } = await import('../../../storage/database/move.js')
  const { identifyEngine } = await import('../../../engine/tables/schema.js')
  const progress = await startProgress(context, ({ rows }) => `${formatNumber(rows)} rows`)
  return moveEngine({
    from: home,
    to,
    parts: await movedParts(),
    identify: identifyEngine,
    now: clock.now(),
    onRows: (rows) => progress.update({ rows }),
  }).finally(() => progress.stop())
}

/** Returns what has the next commands use the engine at its new place. */
function nextOf(home: Home, { engine }: Home): string {
  if (isSameFile(engine, join(dirname(home.catalogue), 'engine.db'))) return 'unset PROSPECT_DATABASE_URL'
  return `export PROSPECT_DATABASE_URL=${quoteForShell(engine)}`
}

interface Moved extends Pick<MoveReport, 'tables'> {
  readonly from: string
  readonly to: string
  readonly rows: number
  readonly next: string
}

function layOut({ from, to, tables, rows, next }: Moved, look: Look): string {
  const names = ['database', 'table', 'rows']
  const list = tables.length === 0 ? '' : `${grid(names, tables, look, { total: { rows } })}\n`
  // In one line, however long: it is there to be copied.
  return `${list}${record({ from, to }, look)}\nNext: ${next}\n`
}
