import { resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { parseUrl } from '../../api/values/url.js'
import { isSecret } from '../../api/webhooks/signature.js'
import { isNetwork } from '../../client/networks.js'
import type { Targets } from '../../engine/ports/ports.js'
import type { Listening } from '../../http/listen.js'
import { receiverPath } from '../../http/receiver.js'
import type { Streams } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { checkSecret } from '../context/home.js'
import { readStdin, readText } from '../context/io.js'
import { withoutPassword } from './databases.js'

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

/** Where the signing secret may come from, as a command's options say. */
export interface SecretChoice {
  readonly secretFile?: string
  readonly secretStdin?: boolean
}

/** The options that say where the signing secret comes from; it is never an argument itself. */
export const secretOptions = (): Option[] => [
  new Option('--secret-file <file>', 'read the signing secret from a file'),
  new Option('--secret-stdin', 'read the signing secret from stdin'),
  new Option('--secret <secret>', 'refused').argParser(refuseSecret).hideHelp(),
]

/**
 * The signing secrets given with a command: from stdin, a file, or PROSPECT_WEBHOOK_SECRET; none where none is given.
 * Several stand apart by white space, as they do while a rotation lasts.
 */
export async function givenSecrets(streams: Streams, choice: SecretChoice): Promise<readonly string[]> {
  if (choice.secretStdin && choice.secretFile !== undefined)
    throw new UsageError('--secret-stdin and --secret-file exclude each other.')
  if (choice.secretStdin) return secretsIn(await readStdin(streams, 64 * 1024), 'stdin')
  if (choice.secretFile !== undefined) {
    checkSecret(resolve(streams.cwd, choice.secretFile))
    return secretsIn(await readText(streams, choice.secretFile, '--secret-file'), choice.secretFile)
  }
  const variable = streams.env.PROSPECT_WEBHOOK_SECRET
  return variable ? secretsIn(variable, 'PROSPECT_WEBHOOK_SECRET') : []
}

/** Where the signing secrets of a command come from, in a word; nothing where none are given. */
export function secretSource({ env }: Streams, choice: SecretChoice): string | undefined {
  if (choice.secretStdin) return 'stdin'
  return choice.secretFile ?? (env.PROSPECT_WEBHOOK_SECRET ? 'PROSPECT_WEBHOOK_SECRET' : undefined)
}

function secretsIn(text: string, source: string): string[] {
  const secrets = (spokenSecret(text) ?? text).split(/\s+/).filter((word) => word !== '')
  if (secrets.length === 0 || !secrets.every(isSecret))
    throw new UsageError(
      `${source} does not hold a signing secret.`,
      'Put the secret alone into it: whsec_ and what follows.',
    )
  return secrets
}

/** The secret in `{"secret": …}`, which is what a command that shows one prints into a pipe. */
function spokenSecret(text: string): string | undefined {
  try {
    const { secret } = JSON.parse(text) as { readonly secret?: unknown }
    return typeof secret === 'string' ? secret : undefined
  } catch {
    return undefined
  }
}

function refuseSecret(): never {
  throw new UsageError(
    'A signing secret is never an argument: other users of this machine could see it, and the shell keeps it.',
    'Use PROSPECT_WEBHOOK_SECRET, --secret-file FILE or --secret-stdin.',
  )
}
