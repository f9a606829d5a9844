/** Spellings of this machine's loopback addresses, without scheme and port. */
import { casesOf } from '../support/fixtures.js'
export const loopbackHosts = casesOf<string>('client/targets/loopback')

/** Other addresses that are not public, and names that have them. */
export const internalHosts = casesOf<string>('client/targets/internal')

/** Spellings of link-local addresses, which are never permitted. */
export const linkLocalHosts = casesOf<string>('client/targets/link-local')

/** URLs that are refused whatever address they have. */
export const unfitUrls = casesOf<string>('client/targets/unfit')

/** The addresses of the names above. */
export const names: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1', '::1'],
  'localhost.': ['::1', '127.0.0.1'],
  'two.faces.example': ['::1', '127.0.0.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'private.example': ['10.1.2.3'],
  'private-and-public.example': ['10.1.2.3', '93.184.215.14'],
  'public-and-private.example': ['93.184.215.14', '10.1.2.3'],
  'six.private.example': ['93.184.215.14', 'fd00::1'],
  'carrier.example': ['100.64.0.1'],
  'metadata.example': ['169.254.169.254'],
  'metadata-and-public.example': ['93.184.215.14', '::ffff:169.254.169.254'],
  'zone.example': ['fe80::1%eth0'],
  'loopback-zone.example': ['::1%lo'],
  'public.example': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
}

/** Looks a name up in the table above. */
export async function resolveKnown(name: string): Promise<readonly string[]> {
  const found = names[name]
  if (!found) throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
  return found
}
