import { isOwnMachine, parseUrl } from '../../api/values/url.js'
import { UsageError } from '../context/errors.js'

/** What every base address ends in: the version of the API. */
const ending = '/api/v2'

/**
 * Reads the base address of a server, without a slash at its end. What is wrong with it ends the command with exit 2 and
 * the corrected address; `source` names where it was given.
 */
export function baseUrlOf(text: string, source: string, insecure = false): URL {
  const url = parseUrl(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '')
    throw new UsageError(`${source} takes an https address.`, 'Such as https://api.example.com/api/v2')
  if (url.username !== '' || url.password !== '')
    throw new UsageError(
      `${source} must not hold a user or password.`,
      `Write ${corrected(url)} and give the key as any other.`,
    )
  if (
    url.search !== '' ||
    url.hash !== '' ||
    /[?#]/.test(text) ||
    !url.pathname.replace(/\/$/, '').endsWith(ending)
  )
    throw new UsageError(`${source} must end in ${ending}.`, `Write ${corrected(url)}`)
  if (url.protocol === 'http:' && !insecure && !isOwnMachine(url))
    throw new UsageError(
      `${source} is an http address: the key and the data could be read on the way.`,
      'Use its https address, or add --insecure-http where nobody else is on the way.',
    )
  url.pathname = url.pathname.replace(/\/$/, '')
  return url
}

/** The address that was probably meant. */
function corrected({ origin, pathname }: URL): string {
  const before = pathname.split(/\/api(?:\/|$)/)[0] ?? ''
  return origin + before.replace(/\/+$/, '') + ending
}
