import { isIP, type LookupFunction } from 'node:net'
import type { Pool } from 'undici'
import { ConnectionAllowance } from './connection.js'
import { type Destination, hostOf } from './ssrf-guard.js'

/** How connections are opened and kept. */
export interface PoolSettings {
  /** Maximum number of connections of one owner to a destination. */
  readonly connections: number
  /** Maximum number of connections to a destination. */
  readonly maxConnections: number
  /** How long a request waits for one of them. */
  readonly connectionMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  /** Certificate authorities (PEM) to trust instead of the usual ones. */
  readonly ca: string | undefined
  /** Returns the addresses to connect to, given the checked ones. Tests redirect them. */
  readonly chooseAddresses: (addresses: readonly string[]) => readonly string[]
}

/** Connections, kept apart by the addresses they were opened to. */
export type Pools = ReturnType<typeof createPools>

/** Whose request it is, and when it ends. */
interface Use {
  readonly owner?: string | undefined
  readonly signal: AbortSignal
}

interface SharedPool {
  readonly pool: Pool
  readonly allowance: ConnectionAllowance
  readonly shares: ConnectionShares
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
    /**
     * Runs work that makes one request with the connections to a destination, which stay open until it ends. Returns
     * `undefined` when none of them was free in time.
     */
    async use<T>(
      destination: Destination,
      { owner = '', signal }: Use,
      work: (pool: Pool) => Promise<T>,
    ): Promise<T | undefined> {
      const undici = await import('undici')
      const key = keyOf(destination)
      const entry = entries.get(key) ?? { ...open(destination, settings, undici), users: 0 }
      entries.set(key, entry)
      clearTimeout(entry.idle)
      entry.users++
      try {
        if (!(await entry.shares.take(owner, settings.connectionMs, signal))) return undefined
        try {
          return await entry.allowance.during(() => work(entry.pool))
        } finally {
          entry.shares.giveBack(owner)
        }
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
): Omit<SharedPool, 'users'> {
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
    connections: settings.maxConnections,
    keepAliveTimeout: settings.keepAliveMs,
    keepAliveMaxTimeout: settings.keepAliveMs,
    connect: allowance.limit(connect),
  })
  return { pool, allowance, shares: new ConnectionShares(settings) }
}

/** Returns a lookup that answers with the checked addresses, so that only these are connected to. */
function answering(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, options, callback) => {
    if (options.all) callback(null, [...all])
    else callback(null, all[0]?.address ?? '', all[0]?.family)
  }
}

/**
 * Divides the connections to a destination. An owner holds no more than its share, nor more than it leaves free, so that
 * owners whose requests hang do not keep those of others from going out.
 */
class ConnectionShares {
  readonly #held = new Map<string, number>()
  readonly #waiting = new Set<{ readonly owner: string; readonly begin: () => void }>()
  #total = 0

  constructor(private readonly settings: Pick<PoolSettings, 'connections' | 'maxConnections'>) {}

  /** Takes one of an owner's connections. Resolves with false when none becomes free in time; rejects with the signal. */
  async take(owner: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) throw signal.reason
    if (!this.#mayTake(owner)) return this.#wait(owner, timeoutMs, signal)
    this.#add(owner, 1)
    return true
  }

  giveBack(owner: string): void {
    this.#add(owner, -1)
    for (const waiter of this.#waiting)
      if (this.#mayTake(waiter.owner)) {
        this.#add(waiter.owner, 1)
        waiter.begin()
      }
  }

  #wait(owner: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(late)
        signal.removeEventListener('abort', giveUp)
        this.#waiting.delete(waiter)
      }
      const end = (isTaken: boolean) => {
        leave()
        resolve(isTaken)
      }
      const giveUp = () => {
        leave()
        reject(signal.reason)
      }
      const waiter = { owner, begin: () => end(true) }
      const late = setTimeout(end, timeoutMs, false)
      signal.addEventListener('abort', giveUp, { once: true })
      this.#waiting.add(waiter)
    })
  }

  #mayTake(owner: string): boolean {
    const { connections, maxConnections } = this.settings
    const held = this.#held.get(owner) ?? 0
    return held < connections && held < maxConnections - this.#total
  }

  #add(owner: string, change: number): void {
    this.#total += change
    const held = (this.#held.get(owner) ?? 0) + change
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }
}
