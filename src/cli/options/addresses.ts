import { InvalidArgumentError, Option } from 'commander'
import { parseUrl } from '../../api/values/url.js'
import { isNetwork } from '../../client/networks.js'
import type { Targets } from '../../engine/ports/ports.js'
import type { Listening } from '../../http/listen.js'
import { receiverPath } from '../../http/receiver.js'
import { UsageError } from '../context/errors.js'

/** The address of an option that deliveries are sent to: http or https, without a user or a fragment. */
export function targetUrl(text: string, option: string): string {
  const url = parseUrl(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new UsageError(`${option} takes an http or https address.`, 'Such as http://localhost:3000/hooks')
  if (url.username !== '' || url.password !== '')
    throw new UsageError(
      `${option} must not hold a user or password: other users of this machine could see it.`,
    )
  if (url.hash !== '') throw new UsageError(`${option} must not have a fragment (#…).`)
  return url.href
}

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

/** Where the world reaches a receiver, when that is not where it listens: a tunnel or a proxy. */
export interface PublicAddress {
  readonly origin: string
  /** Host and port, as its requests have them in `Host`. */
  readonly host: string
  /** What stands before the receiver's own path; empty where nothing does. */
  readonly prefix: string
}

/** Reads `--public-url`. */
export function publicAddress(text: string | undefined): PublicAddress | undefined {
  if (text === undefined) return undefined
  const { origin, host, pathname, search } = new URL(targetUrl(text, '--public-url'))
  if (search !== '')
    throw new UsageError('--public-url must not have a query (?…).', 'The path is completed by itself.')
  return { origin, host, prefix: pathname.replace(/\/+$/, '') }
}

/** Reads `--path`: 16 to 128 letters, digits, `-` and `_`, since whoever knows it can send. */
export function givenToken(text: string | undefined): string | undefined {
  if (text === undefined || /^[\w-]{16,128}$/.test(text)) return text
  throw new UsageError(
    '--path takes 16 to 128 letters, digits, - and _: whoever could guess it could send events.',
    'Leave it out: the path is then the same at every start.',
  )
}

/** The address to give as `--webhook-url`. */
export function webhookUrl(
  listening: Pick<Listening, 'origin'>,
  token: string,
  known: PublicAddress | undefined,
): string {
  return known ? known.origin + known.prefix + receiverPath(token) : listening.origin + receiverPath(token)
}
