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
