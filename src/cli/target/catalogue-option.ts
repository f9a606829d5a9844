import { Option } from 'commander'
import { isPostgres } from '../../storage/database/location.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { withoutPassword } from '../options/addresses.js'

/** The option of commands about the catalogue that machines may share. */
export const catalogueOption = (): Option =>
  new Option(
    '--database <url>',
    "the engine's database with its catalogue, postgres://… (default: that of PROSPECT_DATABASE_URL, else this machine's)",
  ).argParser(serverAddress)

/** The address of a database on a server, without a password. */
export function serverAddress(location: string): string {
  const address = withoutPassword(location)
  if (isPostgres(address)) return address
  throw new UsageError(
    `${address} is no address of a PostgreSQL database.`,
    'Write it like postgres://role@host/database; the catalogue of this machine needs no option.',
  )
}

/** Returns the context of the database that `--database` names, or the same one without that option. */
export function withCatalogueOption(context: Context, options: Readonly<Record<string, unknown>>): Context {
  const { database } = options
  return typeof database === 'string' ? context.withDatabase(database) : context
}
