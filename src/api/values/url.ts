/**
 * The address that a text is; nothing where it is none. `URL.canParse` is used nowhere: in Node 20 and 22 it comes to
 * refuse every host with an accented letter once it was called some thousand times.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Whether a url leads to this machine itself: what is sent there passes no network and no proxy. */
export function isOwnMachine(url: URL): boolean {
  const host = url.hostname.toLowerCase().replace(/\.$/, '')
  return (
    host === 'localhost' ||
    /^127(?:\.\d{1,3}){3}$/.test(host) ||
    host === '[::1]' ||
    host.startsWith('[::ffff:7f')
  )
}
