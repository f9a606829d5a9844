import { isIP, type LookupFunction } from 'node:net'
import type { Pool } from 'undici'
import { type Destination, hostOf } from './ssrf-guard.js'

/** How connections are made and kept. */
export interface PoolSettings {
  /** Most connections to one destination at a time. */
  readonly connections: number
  /** How long a connection that nobody uses is kept. */
  readonly keepAliveMs: number
  /** Certificates (PEM) of authorities to trust in place of the usual ones. */
  readonly ca: string | undefined
  /** What is dialled for the addresses that were checked: those, unless somebody listens elsewhere in their place. */
  readonly chooseAddresses: (addresses: readonly string[]) => readonly string[]
}

/** Connections, kept apart by the addresses they were opened to. */
export interface Pools {
  /** Lends the connections to a destination, and keeps them open while anybody uses them. */
  use<T>(destination: Destination, work: (pool: Pool) => Promise<T>): Promise<T>
  /** Ends all connections at once. */
  destroy(): Promise<void>
}

interface Entry {
  readonly pool: Pool
  users: number
  idle?: NodeJS.Timeout
}

/** Opens pools where they are needed; the first takes the time to load undici. */
export function createPools(settings: PoolSettings): Pools {
  const entries = new Map<string, Entry>()
  const drop = async (key: string): Promise<void> => {
    const entry = entries.get(key)
    entries.delete(key)
    clearTimeout(entry?.idle)
    await entry?.pool.destroy()
  }
  return {
    async use(destination, work) {
      const undici = await import('undici')
      const key = keyOf(destination)
      const entry = entries.get(key) ?? { pool: open(destination, settings, undici.Pool), users: 0 }
      entries.set(key, entry)
      clearTimeout(entry.idle)
      entry.users++
      try {
        return await work(entry.pool)
      } finally {
        entry.users--
        if (entry.users === 0) entry.idle = setTimeout(() => void drop(key), settings.keepAliveMs).unref()
      }
    },
    async destroy() {
      await Promise.all([...entries.keys()].map(drop))
    },
  }
}

/**
 * By the origin alone, a request could travel on a connection that another one opened, to an address that it may not
 * reach itself.
 */
const keyOf = ({ url, addresses }: Destination): string => [url.origin, ...[...addresses].sort()].join(' ')

function open({ url, addresses }: Destination, settings: PoolSettings, make: typeof Pool): Pool {
  const host = hostOf(url)
  return new make(url.origin, {
    connections: settings.connections,
    keepAliveTimeout: settings.keepAliveMs,
    keepAliveMaxTimeout: settings.keepAliveMs,
    connect: {
      lookup: answering(settings.chooseAddresses(addresses)),
      autoSelectFamily: true,
      rejectUnauthorized: true,
      // A name may end in the dot of the root; the name on a certificate does not.
      ...(isIP(host) ? {} : { servername: host.replace(/\.$/, '') }),
      ...(settings.ca === undefined ? {} : { ca: settings.ca }),
    },
  })
}

/** A lookup that answers with addresses known before, so that none but these are dialled. */
function answering(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, options, callback) => {
    if (options.all) callback(null, [...all])
    else callback(null, all[0]?.address ?? '', all[0]?.family)
  }
}
