import { Resolver } from 'node:dns/promises'
import { existsSync, readFileSync } from 'node:fs'
import { isIP, type LookupFunction } from 'node:net'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Pool } from 'undici'
import { ConnectionAllowance, watchedClients } from './connection.js'
import { type Destination, hostOf, type Resolve } from './ssrf-guard.js'

const usual = {
  /** Name servers such as `127.0.0.1:5353`; by default those of the system. */
  servers: undefined as readonly string[] | undefined,
  hostsFile:
    process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts',
  /** Timeout of a lookup, without the wait for its turn. */
  lookupMs: 5_000,
  /** Lookups of one owner at once. */
  atOnce: 8,
}

export type ResolverOptions = Readonly<typeof usual>

/**
 * Creates a resolver that reads the hosts file and asks the name servers itself. `dns.lookup` cannot be cancelled and
 * shares four threads, so four names whose server is silent would stop all lookups of the process. Here a lookup waits
 * only for others of its owner. Addresses are not cached, because each attempt is checked anew.
 */
export function createResolver(given: Partial<ResolverOptions> = {}): Resolve {
  const options = { ...usual, ...given }
  const limits = new Map<string, LimitFunction>()
  const lookUp = async (name: string, signal: AbortSignal | undefined): Promise<readonly string[]> => {
    const answer = signal?.aborted ? 'ECANCELLED' : await ask(name, options, signal)
    if (typeof answer !== 'string') return answer
    throw Object.assign(new Error(name), { code: answer })
  }
  return async (name, { owner = name, signal } = {}) => {
    const known = readHosts(options.hostsFile).get(name.toLowerCase())
    if (known) return known
    // Every name of this zone is this machine (RFC 6761), and no name server is asked.
    if (/(?:^|\.)localhost$/.test(name)) return ['127.0.0.1', '::1']
    const limit = limits.get(owner) ?? pLimit(options.atOnce)
    limits.set(owner, limit)
    try {
      return await limit(() => lookUp(name, signal))
    } finally {
      if (limit.activeCount + limit.pendingCount === 0) limits.delete(owner)
    }
  }
}

/** Returns all addresses of a name, or the code of the failure as `dns.lookup` has it. */
async function ask(name: string, { servers, lookupMs }: ResolverOptions, signal: AbortSignal | undefined) {
  // One for each lookup: cancelling one ends all of its questions, and the system's servers may have changed.
  const resolver = new Resolver({ timeout: lookupMs / 2, tries: 2 })
  if (servers) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  const late = setTimeout(cancel, lookupMs)
  signal?.addEventListener('abort', cancel, { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  clearTimeout(late)
  signal?.removeEventListener('abort', cancel)
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  return found.length > 0 ? found : codeOf(answers)
}

function codeOf(answers: readonly PromiseSettledResult<unknown>[]): string {
  const codes = answers.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'ENODATA'))
  if (codes.some((code) => code === 'ENOTFOUND' || code === 'EBADNAME')) return 'ENOTFOUND'
  return codes.every((code) => code === 'ENODATA') ? 'ENODATA' : 'EAI_AGAIN'
}

/** Returns the addresses of the names in a hosts file, by lower-case name. */
function readHosts(file: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>()
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  for (const line of text.split('\n')) {
    const [address = '', ...found] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of new Set(found.map((one) => one.toLowerCase().replace(/\.$/, ''))))
      names.set(name, [...(names.get(name) ?? []), address])
  }
  return names
}

export interface PoolSettings {
  /** Maximum number of connections of one owner to a destination, and of all owners. */
  readonly connections: number
  readonly maxConnections: number
  /** How long a request waits for one of them. */
  readonly connectionMs: number
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
    /** Runs work that makes one request over a connection to a destination; `undefined` when none was free in time. */
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
  { buildConnector, Client, Pool: Opened }: typeof import('undici'),
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
    factory: watchedClients(Client, Date.now),
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
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    // At once, so that nobody begins a waiter that has left.
    const leave = (settle: () => void) => {
      clearTimeout(late)
      signal.removeEventListener('abort', giveUp)
      this.#waiting.delete(waiter)
      settle()
    }
    const giveUp = () => leave(() => reject(signal.reason))
    const waiter = { owner, begin: () => leave(() => resolve(true)) }
    const late = setTimeout(() => leave(() => resolve(false)), timeoutMs)
    signal.addEventListener('abort', giveUp, { once: true })
    this.#waiting.add(waiter)
    return promise
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
