import { type Command, Option } from 'commander'
import type { RunHome } from '../../batch/run/ports.js'
import type { RunPlace } from '../../batch/run/records.js'
import { isPostgres } from '../../storage/database/location.js'
import type { ClockContext, Context, HomeContext } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { prepareHome } from '../context/home.js'
import { withoutPassword } from '../options/addresses.js'
import type { Invocation } from '../options/command-environment.js'

/** Gives a command the options that say whose runs are meant: those of this machine where neither is given. */
export const sharedOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--database <place>',
        'the runs that several machines share: the postgres://… address of their database',
      ).argParser(withoutPassword),
    )
    .option('--shared', 'the runs in the database that PROSPECT_DATABASE_URL names')

/** Where the runs are that a command is about. */
export function placeOf({ home }: Context, { database, shared }: Invocation['options']): RunPlace {
  if (typeof database === 'string') return { database: served(database, '--database') }
  return shared === true ? { database: served(home.engine, 'PROSPECT_DATABASE_URL') } : {}
}

/** The option that names a place to a shell, with a space before it; an address of the environment may hold a password. */
export function placeWords({ home }: Context, { database }: RunPlace): string {
  if (database === undefined) return ''
  return database === home.engine ? ' --shared' : ` --database ${quoted(database)}`
}

const quoted = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** Returns where the runs of a command are stored, and the context of that database. */
export function contextOfRuns(
  context: Context,
  options: Invocation['options'],
): { readonly context: Context; readonly place: RunPlace } {
  const place = placeOf(context, options)
  const { database = context.home.engine } = place
  return { context: database === context.home.engine ? context : context.withDatabase(database), place }
}

function served(database: string, name: string): string {
  if (isPostgres(database)) return database
  throw new UsageError(
    `Machines share runs in a PostgreSQL database, and ${name} does not name one.`,
    'For example: --database postgres://prospect@db.example/prospect',
  )
}

/** Returns what the records of runs need of a context. */
export const toRunHome = (context: ClockContext & HomeContext): RunHome => ({
  home: context.home,
  clock: context.clock,
  ids: context.ids,
  prepareHome: () => prepareHome(context.home),
  onClose: (work) => context.onClose(work),
})
