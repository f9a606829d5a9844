import { Resolver } from 'node:dns/promises'
import { once } from '../api/values/objects.js'

/** Returns why an address is at best risky; `undefined` where nothing speaks against it, or its domain cannot be asked now. */
export type CheckMail = (email: string) => Promise<'role' | 'disposable' | 'no_mx' | undefined>

const keptMs = 86_400_000
const maxKept = 50_000

/** Creates what checks addresses without writing to them. `servers` are name servers; by default those of the system. */
export function createMailCheck(servers?: readonly string[], now = () => Date.now()): CheckMail {
  const known = new Map<string, { readonly hasMail: Promise<boolean | undefined>; readonly until: number }>()
  const lists = once(loadLists)
  return async (email) => {
    const [local = '', domain = ''] = email.toLowerCase().split('@')
    const { roles, disposable } = await lists()
    if (roles.has(local)) return 'role'
    if (disposable.has(domain)) return 'disposable'
    let entry = known.get(domain)
    if (!entry || entry.until <= now()) {
      const hasMail = asksForMail(domain, servers)
      entry = { hasMail, until: now() + keptMs }
      if (known.size >= maxKept) known.clear()
      known.set(domain, entry)
      // A server that does not answer is asked again.
      if ((await hasMail) === undefined) known.delete(domain)
    }
    return (await entry.hasMail) === false ? 'no_mx' : undefined
  }
}

async function loadLists() {
  const [{ disposableEmailBlocklistSet }, { default: roles }] = await Promise.all([
    import('disposable-email-domains-js'),
    import('role-based-email-addresses'),
  ])
  return { roles: new Set(roles), disposable: disposableEmailBlocklistSet() }
}

/** Returns whether a domain takes mail; `undefined` where its name servers do not say. */
async function asksForMail(
  domain: string,
  servers: readonly string[] | undefined,
): Promise<boolean | undefined> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (servers) resolver.setServers(servers)
  try {
    const found = await resolver.resolveMx(domain)
    // One record with an empty name means that it takes none (RFC 7505).
    return found.some(({ exchange }) => exchange !== '' && exchange !== '.')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENODATA' || code === 'ENOTFOUND' ? false : undefined
  }
}
