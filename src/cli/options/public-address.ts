import type { Listening } from '../../http/listen.js'
import { receiverPath } from '../../http/receiver.js'
import { UsageError } from '../context/errors.js'
import { targetUrl } from './target-url.js'

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
