import { isIP, type LookupFunction } from 'node:net'
import type { Pool } from 'undici'
import { ConnectionAllowance } from './connection.js'
import { type Destination, hostOf } from './ssrf-guard.js'

/** How connections are opened and kept. */
export interface PoolSettings {
  /** Maximum number of connections to one destination. */
  readonly connections: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  /** Certificate authorities (PEM) to trust instead of the usual ones. */
  readonly ca: string | undefined
  /** Returns the addresses to connect to, given the checked ones. Tests redirect them. */
  readonly chooseAddresses: (addresses: readonly string[]) => readonly string[]
}

/** Connections, kept apart by the addresses they were opened to. */
export type Pools = ReturnType<typeof createPools>

interface SharedPool {
  readonly pool: Pool
  readonly allowance: ConnectionAllowance
  users: number
  idle?: NodeJS.Timeout
}

/** Creates the pools. The first use loads undici. */
export function createPools(settings: PoolSettings) {
  const entries = new Map<string, SharedPool>()
  const drop = async (key: string): Promise<void> => {
    const entry = entries.get(key)
    entries.delete(key)
    clearTimeout(entry?.idle)
    await entry?.pool.destroy()
  }
  return {
    /** Runs work that makes one request with the connections to a destination, which stay open until it ends. */
    async use<T>(destination: Destination, work: (pool: Pool) => Promise<T>): Promise<T> {
      const undici = await import('undici')
      const key = keyOf(destination)
      const entry = entries.get(key) ?? { ...open(destination, settings, undici), users: 0 }
      entries.set(key, entry)
      clearTimeout(entry.idle)
      entry.users++
      try {
        return await entry.allowance.during(() => work(entry.pool))
      } finally {
        entry.users--
        if (entry.users === 0) entry.idle = setTimeout(() => void drop(key), settings.keepAliveMs).unref()
      }
    },
    /** Closes all connections at once. */
    async destroy(): Promise<void> {
      await Promise.all([...entries.keys()].map(drop))
    },
  }
}

/** A pool per origin would not do: a request could reuse a connection to an address it may not reach. */
const keyOf = ({ url, addresses }: Destination): string => [url.origin, ...[...addresses].sort()].join(' ')

function open(
  { url, addresses }: Destination,
  settings: PoolSettings,
  { buildConnector, Pool: Opened }: typeof import('undici'),
): Pick<SharedPool, 'pool' | 'allowance'> {
  const host = hostOf(url)
  const allowance = new ConnectionAllowance()
  const connect = buildConnector({
    lookup: answering(settings.chooseAddresses(addresses)),
    autoSelectFamily: true,
    rejectUnauthorized: true,
    // A name may end in the dot of the root; the name on a certificate does not.
    ...(isIP(host) ? {} : { servername: host.replace(/\.$/, '') }),
    ...(settings.ca === undefined ? {} : { ca: settings.ca }),
  })
  const pool = new Opened(url.origin, {
    connections: settings.connections,
    keepAliveTimeout: settings.keepAliveMs,
    keepAliveMaxTimeout: settings.keepAliveMs,
    connect: allowance.limit(connect),
  })
  return { pool, allowance }
}

/** Returns a lookup that answers with the checked addresses, so that only these are connected to. */
function answering(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, options, callback) => {
    if (options.all) callback(null, [...all])
    else callback(null, all[0]?.address ?? '', all[0]?.family)
  }
}
