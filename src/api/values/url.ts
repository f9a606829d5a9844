import { resultOr } from './objects.js'

/**
 * Returns the URL in a text; `undefined` when it is none. Never use `URL.canParse`: in Node 20 and 22 it refuses
 * every host with an accented letter after some thousand calls.
 */
export const parseUrl = (text: string): URL | undefined => resultOr(undefined, () => new URL(text))

/** Returns whether a URL leads to this machine: requests to it pass no network and no proxy. */
export function isOwnMachine(url: URL): boolean {
  const host = url.hostname.toLowerCase().replace(/\.$/, '')
  return (
    host === 'localhost' ||
    /^127(?:\.\d{1,3}){3}$/.test(host) ||
    host === '[::1]' ||
    host.startsWith('[::ffff:7f')
  )
}
