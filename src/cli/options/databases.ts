import { Refusal } from '../../api/calls/errors.js'
import type { RunsLocation } from '../../runs/records.js'
import { isPostgres, locationProblem } from '../../storage/driver/connection.js'
import type { Context } from '../context/context.js'
import { quoteForShell } from '../context/home.js'
import { type OptionsOf, optionRows } from './values.js'

/** Returns the address of a database. Throws UsageError for one with a password, because other users could see it. */
export function withoutPassword(location: string): string {
  const isUrl = /^\w+:\/\//.test(location)
  if (isUrl && (/^\w+:\/\/[^/@]*:[^/@]+@/.test(location) || /[?&]password=/i.test(location)))
    throw new Refusal('usage.database_password')
  return location
}

export const engineOption = optionRows({
  database: [
    '<place>',
    "the engine's database: a file, or postgres://… (default: the one of this machine)",
    withoutPassword,
  ],
})

/** The option of commands about a catalogue that machines may share. */
export const catalogueOption = optionRows({
  database: [
    '<url>',
    "the engine's database with its catalogue, postgres://… (default: that of PROSPECT_DATABASE_URL, else this machine's)",
    serverAddress,
  ],
})

/** Returns the address of a PostgreSQL database. Throws UsageError for anything else and for a password. */
export function serverAddress(location: string): string {
  const address = withoutPassword(location)
  if (isPostgres(address)) return address
  const problem = locationProblem(address) ?? 'is not the address of a PostgreSQL database'
  throw new Refusal('usage.database_address', { problem })
}

/** Returns the context of the database that `--database` names, or the same one without that option. */
export function withCatalogueOption(
  context: Context,
  { database }: OptionsOf<typeof catalogueOption>,
): Context {
  return database ? context.withDatabase(database) : context
}

/** The options that choose whose runs a command is about: by default those of this machine. */
export const sharedOptions = optionRows({
  database: [
    '<place>',
    'the runs that several machines share: the postgres://… address of their database',
    withoutPassword,
  ],
  shared: ['', 'the runs in the database that PROSPECT_DATABASE_URL names'],
})

type SharedOptions = OptionsOf<typeof sharedOptions>

export function runPlaceOf({ home }: Context, { database, shared }: SharedOptions): RunsLocation {
  if (database !== undefined) return { database: requirePostgres(database, '--database') }
  return shared ? { database: requirePostgres(home.engine, 'PROSPECT_DATABASE_URL') } : {}
}

/** Returns the option that names a database in a shell command. The address of the environment may have a password. */
export function runPlaceOption({ home }: Context, { database }: RunsLocation): string {
  if (database === undefined) return ''
  return database === home.engine ? ' --shared' : ` --database ${quoteForShell(database)}`
}

/** Returns where the runs of a command are stored, and the context of that database. */
export function contextOfRuns(
  context: Context,
  options: SharedOptions,
): { readonly context: Context; readonly place: RunsLocation } {
  const place = runPlaceOf(context, options)
  return { context: context.withDatabase(place.database ?? context.home.engine), place }
}

function requirePostgres(database: string, name: string): string {
  if (isPostgres(database)) return database
  throw new Refusal('usage.shared_database', { name })
}
