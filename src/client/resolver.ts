import { Resolver } from 'node:dns/promises'
import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Resolve } from './ssrf-guard.js'

/** Options of a resolver; each has a default. */
export interface ResolverOptions {
  /** Name servers such as `127.0.0.1:5353`; by default those of the system. */
  readonly servers: readonly string[] | undefined
  /** Path of the hosts file. */
  readonly hostsFile: string
  /** Timeout of a lookup, without the wait for its turn. */
  readonly lookupMs: number
  /** Lookups of one owner at once. */
  readonly atOnce: number
  /** How long a failure is remembered. */
  readonly failureMs: number
}

const usual: ResolverOptions = {
  servers: undefined,
  hostsFile:
    process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts',
  lookupMs: 5_000,
  atOnce: 8,
  // Less than the first pause between attempts: a failure that is remembered must not cost the next attempt.
  failureMs: 3_500,
}

/** Maximum number of failures to remember. */
const mostFailures = 1_000

/**
 * Creates a resolver that reads the hosts file and asks the name servers itself. `dns.lookup` cannot be cancelled and
 * shares four threads, so four names whose server is silent would stop all lookups of the process. Here a lookup waits
 * only for others of its owner. Addresses are not cached, because each attempt is checked anew.
 */
export function createResolver(given: Partial<ResolverOptions> = {}): Resolve {
  const options = { ...usual, ...given }
  const hosts = createHosts(options.hostsFile)
  const failures = new Map<string, { readonly code: string; readonly until: number }>()
  const limits = new Map<string, LimitFunction>()
  const lookUp = async (name: string, signal: AbortSignal | undefined): Promise<readonly string[]> => {
    const failure = failures.get(name)
    if (failure && failure.until > performance.now()) throw failed(name, failure.code)
    if (signal?.aborted) throw failed(name, 'ECANCELLED')
    const answer = await ask(name, options, signal)
    if (typeof answer !== 'string') return answer
    if (!signal?.aborted) {
      failures.delete(name)
      const [oldest] = failures.size < mostFailures ? [] : failures.keys()
      if (oldest !== undefined) failures.delete(oldest)
      failures.set(name, { code: answer, until: performance.now() + options.failureMs })
    }
    throw failed(name, answer)
  }
  return async (name, { owner = name, signal } = {}) => {
    const known = hosts(name) ?? (isLocalhost(name) ? ['127.0.0.1', '::1'] : undefined)
    if (known) return known
    const limit = limits.get(owner) ?? pLimit(options.atOnce)
    limits.set(owner, limit)
    try {
      return await limit(() => lookUp(name, signal))
    } finally {
      if (limit.activeCount + limit.pendingCount === 0) limits.delete(owner)
    }
  }
}

/** Every name of this zone is this machine (RFC 6761), and no name server is asked. */
const isLocalhost = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

/** Returns all addresses of a name, or the code of the failure as `dns.lookup` has it. */
async function ask(
  name: string,
  { servers, lookupMs }: ResolverOptions,
  signal: AbortSignal | undefined,
): Promise<readonly string[] | string> {
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

const failed = (name: string, code: string): Error => Object.assign(new Error(name), { code })

/** Returns a function that finds the addresses of a name in a hosts file, which is read again when it has changed. */
function createHosts(file: string): (name: string) => readonly string[] | undefined {
  let version = ''
  let names = new Map<string, string[]>()
  return (name) => {
    const stats = statSync(file, { throwIfNoEntry: false })
    const current = stats ? `${stats.mtimeMs} ${stats.size} ${stats.ino}` : ''
    if (current !== version) {
      names = current === '' ? new Map() : parseHosts(readFileSync(file, 'utf8'))
      version = current
    }
    return names.get(name.toLowerCase())
  }
}

function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...found] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of new Set(found.map((one) => one.toLowerCase().replace(/\.$/, ''))))
      names.set(name, [...(names.get(name) ?? []), address])
  }
  return names
}
