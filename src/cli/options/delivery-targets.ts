import { InvalidArgumentError, Option } from 'commander'
import { isNetwork } from '../../client/networks.js'
import type { Targets } from '../../engine/ports/ports.js'
import { UsageError } from '../context/errors.js'

/** The options of a program that delivers for others: which database, and where besides public addresses. */
export const deliveringOptions = (): Option[] => [
  new Option(
    '--database <place>',
    "the engine's database: a file, or postgres://… (default: the one of this machine)",
  ).argParser(withoutPassword),
  new Option(
    '--allow-target <network>',
    'deliver to this private network too, such as 10.1.0.0/16; repeat it for more',
  ).argParser(networks),
]

/** Where deliveries may go: the networks given, and loopback for one who is alone where it is permitted. */
export const targetsOf =
  (allow: readonly string[] = [], loopback: boolean): ((members: number) => Targets) =>
  (members) => ({ allow, loopback: loopback && members === 1 })

function networks(text: string, before: readonly string[] = []): string[] {
  if (!isNetwork(text)) throw new InvalidArgumentError('Give a network such as 10.1.0.0/16, or an address.')
  return [...before, text.trim()]
}

/** An address of a database that may stand in a command; one with a password is refused. */
export function withoutPassword(location: string): string {
  const isUrl = /^\w+:\/\//.test(location)
  if (isUrl && (/^\w+:\/\/[^/@]*:[^/@]+@/.test(location) || /[?&]password=/i.test(location)))
    throw new UsageError(
      '--database must not hold a password: other users of this machine could see it.',
      'Put the address into PROSPECT_DATABASE_URL, or the password into the file that PGPASSFILE names.',
    )
  return location
}
