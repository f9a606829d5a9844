import { parseUrl } from '../../api/values/url.js'
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
