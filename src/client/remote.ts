import {
  type Caller,
  type CallOptions,
  ConnectionLost,
  type Input,
  isOk,
  type Reply,
} from '../api/calls/caller.js'
import { ApiError, toRefusal } from '../api/calls/errors.js'
import { fails } from '../api/calls/retry.js'
import type { WireNames } from '../api/calls/wire-names.js'
import { hasBody, isRead } from '../api/operations/facts.js'
import { type Operation, operation } from '../api/operations/table.js'
import type { Clock, Ids } from '../api/ports/ports.js'
import { isObject, once } from '../api/values/objects.js'
import type { ServerMemory } from '../storage/state/remote-servers.js'
import {
  type AttemptResult,
  asksToWait,
  isConclusive,
  isOutcomeUnknown,
  isUnsent,
  maxAttempts,
  movesOn,
  Outage,
  pauseAfter,
} from './attempts.js'
import {
  type Connection,
  createConnection,
  type Environment,
  proxyOf,
  type Wire,
  type WireRequest,
  wireRequest,
} from './connection.js'
import { Lost } from './reading.js'
import { type RecentRequest, RecentRequests } from './recent-requests.js'
import { readReply, suspectReply } from './reply.js'

/** Options of a server's caller. Optional ones have defaults. */
export interface RemoteOptions {
  /** Ends in `/api/v2`. */
  readonly baseUrl: string
  /** Addresses of other servers over the same database, which are asked when the one in use does not answer. */
  readonly otherUrls?: readonly string[] | undefined
  readonly clock: Clock
  readonly ids: Ids
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Returns a number from 0 to 1, which spreads attempts over time. */
  readonly random: () => number
  /** The server's words for `network` and `premium`. */
  readonly names?: WireNames | undefined
  /** The header for idempotency keys, or `none`; by default `Idempotency-Key`, where the server supports them. */
  readonly idempotency?: string | undefined
  /** Whether the server supports idempotency keys, stored beyond this process. */
  readonly remembered?: Pick<ServerMemory, 'honours' | 'remember'> | undefined
  /** Provides `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. */
  readonly env?: Environment | undefined
  /** Version of the program, for `user-agent`. */
  readonly version?: string | undefined
  readonly connectMs?: number | undefined
  readonly timeoutMs?: number | undefined
  readonly bodyBytes?: number | undefined
  readonly connections?: number | undefined
  readonly ca?: string | undefined
  /** Whether the base address is the synchronous one, which answers operations at their `syncPath`. */
  readonly sync?: boolean | undefined
  /** Whether each reply has its bytes, to be passed on. */
  readonly passesOn?: boolean | undefined
}

/** A caller over HTTP with one connection pool. */
export type Remote = Caller &
  Required<Pick<Caller, 'supportsIdempotency'>> & {
    /**
     * Whether it is a proxy with members of its own, which answers lookups from what they have paid for; true where no server
     * answers yet.
     */
    mayBeGovernedProxy(): Promise<boolean>
  }

/** Creates the caller of a server. Nothing is sent and undici is not loaded before the first call. */
export function createRemote(options: RemoteOptions): Remote {
  const addresses = new Addresses(options)
  const probe = async () => {
    for (const { connection, prefix } of addresses.inOrder()) {
      const said = await saysItHonours(connection, healthPath(prefix))
      if (said !== undefined) return said
    }
    return undefined
  }
  const mayBeGovernedProxy = once(async () => {
    for (const { connection, prefix } of addresses.inOrder()) {
      const said = await readHealth(connection, healthPath(prefix), AbortSignal.timeout(probeMs))
      if (said !== undefined) return said !== false && said.target === 'governed'
    }
    return true
  })
  const honoured = createIdempotencySupport(options.remembered, probe, options.clock)
  const recent = new RecentRequests(() => options.clock.now())
  const server: Server = { options, addresses, honoured, recent }
  return {
    call: async (id, input, call = {}) => {
      const row = operation(id)
      const recent = server.recent.begin(row, input)
      try {
        return await answered(server, row, input, call, recent)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        return toRefusal(error, row)
      } finally {
        if (recent) server.recent.end(recent)
      }
    },
    supportsIdempotency: () => honours(server),
    mayBeGovernedProxy,
    close: () => addresses.close(),
  }
}

interface Address {
  readonly connection: Connection
  /** Path of the base address. */
  readonly prefix: string
  readonly outage: Outage
}

/** How long to wait for a connection, and where another server can be asked instead. */
const connectMs = 10_000
const sharedConnectMs = 3_000

const usualTimeoutMs = 120_000

function addressAt(base: URL, options: RemoteOptions): Address {
  const isOneOfSeveral = (options.otherUrls ?? []).length > 0
  const connection = createConnection({
    base,
    proxy: proxyOf(base, options.env ?? {}),
    ca: options.ca,
    connectMs: options.connectMs ?? (isOneOfSeveral ? sharedConnectMs : connectMs),
    answerMs: options.timeoutMs ?? usualTimeoutMs,
    bodyBytes: options.bodyBytes ?? 32 * 1_048_576,
    connections: options.connections ?? 64,
    now: () => options.clock.now(),
  })
  return { connection, prefix: base.pathname.replace(/\/$/, ''), outage: new Outage() }
}

/**
 * The addresses of a server. One is asked first, until another one has failed less often since its last answer. Rows are not
 * shared out (decision 10).
 */
class Addresses {
  readonly #all: readonly [Address, ...Address[]]
  #at = 0

  constructor(options: RemoteOptions) {
    const others = (options.otherUrls ?? []).map((url) => addressAt(new URL(url), options))
    this.#all = [addressAt(new URL(options.baseUrl), options), ...others]
  }

  get first(): Address {
    return this.#all[this.#at] ?? this.#all[0]
  }

  /** Returns all of them, beginning with the first. */
  inOrder(): readonly Address[] {
    return [...this.#all.slice(this.#at), ...this.#all.slice(0, this.#at)]
  }

  /** Returns the one to ask after those that were tried; `undefined` when all were. */
  next(tried: ReadonlyMap<Address, AttemptResult>): Address | undefined {
    return this.#all.length === 1 ? undefined : this.inOrder().find((address) => !tried.has(address))
  }

  note({ outage }: Address, attempted: AttemptResult, signal: AbortSignal | undefined): void {
    outage.note(attempted, signal)
    const fewest = Math.min(...this.#all.map((each) => each.outage.failures))
    while (this.first.outage.failures > fewest) this.#at = (this.#at + 1) % this.#all.length
  }

  /** Whether none of them has answered for long. */
  get areDown(): boolean {
    return this.#all.every(({ outage }) => outage.lasts)
  }

  close = async (): Promise<void> => {
    await Promise.all(this.#all.map(({ connection }) => connection.close()))
  }
}

/**
 * Returns a server whose operations with a `syncPath` go to its synchronous base address. `keyFor` returns the key that
 * goes there in place of a call's own.
 */
export const withSyncServer = (
  remote: Remote,
  sync: Remote,
  keyFor: (apiKey: string | undefined) => Promise<string | undefined>,
): Remote => ({
  ...remote,
  call: async (id, input, options = {}) =>
    operation(id).syncPath === undefined
      ? remote.call(id, input, options)
      : sync.call(id, input, { ...options, apiKey: await keyFor(options.apiKey) }),
  supportsIdempotency: async () => (await remote.supportsIdempotency()) && (await sync.supportsIdempotency()),
  close: async () => {
    await Promise.all([remote.close?.(), sync.close?.()])
  },
})

interface Server {
  readonly options: RemoteOptions
  readonly addresses: Addresses
  readonly honoured: IdempotencySupport
  readonly recent: RecentRequests
}

const defaultHeader = 'idempotency-key'

async function honours({ options, honoured }: Server): Promise<boolean> {
  if (options.idempotency === undefined) return honoured.ask()
  return options.idempotency !== 'none'
}

/** Timeout of the probe; the call waits for it. */
const probeMs = 5_000

const maxProbes = 4
const maxProbeBytes = 65_536

/**
 * Whether a server reports support for idempotency keys; `undefined` when it does not answer. It is not sent any key. A
 * denial has to be repeated: the first may be the answer to another request.
 */
async function saysItHonours(connection: Connection, path: string): Promise<boolean | undefined> {
  const signal = AbortSignal.timeout(probeMs)
  let denials = 0
  for (let probes = 0; probes < maxProbes && denials < 2 && !signal.aborted; probes++) {
    const said = await probeOnce(connection, path, signal)
    if (said) return true
    if (said === false) denials++
  }
  return denials === 2 ? false : undefined
}

async function probeOnce(connection: Connection, path: string, signal: AbortSignal) {
  const said = await readHealth(connection, path, signal)
  return said && String(said.idempotency).toLowerCase() === defaultHeader
}

const healthPath = (prefix: string): string => `${prefix.replace(/(?:\/api)?\/v2$/, '')}/health`

/** Returns what a server says of itself; false where that is nothing, and `undefined` where it does not answer. */
async function readHealth(connection: Connection, path: string, signal: AbortSignal) {
  try {
    const request = { method: 'GET', path, isAlone: true } as const
    const { status, body } = await connection.exchange(request, { accept: 'application/json' }, signal)
    if (fails({ status })) return undefined
    const said: unknown = body.length > maxProbeBytes ? undefined : JSON.parse(Buffer.from(body).toString())
    return isObject(said) && said
  } catch (error) {
    return error instanceof Lost ? undefined : false
  }
}

/**
 * Sends a call until it is answered, or until another attempt could do harm or would not help. Each round asks every server once
 * at most, one at once after the other; there is a pause between rounds.
 */
async function answered(
  server: Server,
  row: Operation,
  input: Input,
  call: CallOptions,
  recent: RecentRequest | undefined,
): Promise<Reply> {
  const { options, addresses } = server
  const { clock, random, sleep, timeoutMs = usualTimeoutMs } = options
  const { syncPath } = row
  const at = options.sync && syncPath !== undefined ? { ...row, path: syncPath } : row
  const { path, ...wire } = wireRequest(at, input, options.names)
  const headers = headersOf(options, row, call)
  const { signal } = call
  const tried = new Map<Address, AttemptResult>()
  let address = addresses.first
  let open = false
  let pause: number | undefined
  let waitedMs = 0
  for (let rounds = 1; ; ) {
    const request = { ...wire, path: address.prefix + path, headers, recent, address }
    const attempted = await attempt(server, row, request, call)
    addresses.note(address, attempted, signal)
    tried.set(address, attempted)
    if ('status' in attempted && isConclusive(attempted)) return replayed(attempted, open)
    open ||= isOutcomeUnknown(attempted)
    const other = addresses.next(tried)
    const isSafe = async () => (other !== undefined || rounds < maxAttempts) && (await honours(server))
    const repeatable = isRead(row) || (isOutcomeUnknown(attempted) && (await isSafe()))
    // What was sent before may still be under way, or its server was killed; and a rate limit says nothing about it.
    const waitMs = open && !isRead(row) && asksToWait(attempted) ? timeoutMs - waitedMs : 0
    const own = pauseAfter(attempted, { rounds, waitMs, repeatable, random: random(), now: clock.now() })
    pause = own ?? (isUnsent(attempted) ? pause : undefined)
    if (other && movesOn(attempted, repeatable) && !signal?.aborted) {
      address = other
      continue
    }
    const end = () => ending([...tried.values()], open && !isRead(row))
    if (pause === undefined || addresses.areDown || signal?.aborted) return end()
    await sleep(pause, signal).catch(() => {})
    if (signal?.aborted) return end()
    if (pause <= waitMs) waitedMs += pause
    else rounds++
    pause = undefined
    tried.clear()
    address = addresses.first
  }
}

/** A replayed reply was paid for by an earlier call, unless an earlier attempt of this one may have been that. */
function replayed(reply: Reply, mayBeOwn: boolean): Reply {
  const isAgain = reply.headers['idempotent-replayed'] === 'true' && !mayBeOwn
  return isAgain ? { ...reply, credits: 0, replayed: reply.credits } : reply
}

function headersOf(
  { idempotency, ids, version }: RemoteOptions,
  row: Operation,
  { apiKey, idempotencyKey, freshKey, maxAgeMs }: CallOptions,
): Readonly<Record<string, string>> {
  const key =
    row.idempotent && idempotency !== 'none' ? (idempotencyKey ?? freshKey?.() ?? ids.uuid()) : undefined
  // No server accepts a key that a header cannot hold.
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) throw new ApiError('invalid_api_key')
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key)) throw new ApiError('invalid_idempotency_key')
  return {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': version === undefined ? 'prospect' : `prospect/${version}`,
    ...(hasBody(row) ? { 'content-type': 'application/json' } : {}),
    ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    ...(key === undefined ? {} : { [idempotency ?? defaultHeader]: key }),
    ...(maxAgeMs === undefined ? {} : { 'cache-control': cacheControl(maxAgeMs) }),
  }
}

const cacheControl = (maxAgeMs: number): string =>
  maxAgeMs === 0 ? 'no-cache' : `max-age=${Math.floor(maxAgeMs / 1_000)}`

interface Attempt extends WireRequest {
  readonly address: Address
  readonly headers: Readonly<Record<string, string>>
  /** Absent where the answer identifies nobody. */
  readonly recent: RecentRequest | undefined
}

async function attempt(
  server: Server,
  row: Operation,
  { headers, recent, address, ...request }: Attempt,
  { signal, onSuspect }: CallOptions,
): Promise<AttemptResult> {
  const { options, honoured } = server
  let wire: Wire | undefined
  try {
    const answer = await address.connection.exchange(request, headers, signal, (opened) => {
      wire = opened
      if (recent)
        recent.connections = recent.connections.length === 0 ? opened.alone : [...recent.connections, opened]
    })
    const { names, passesOn = false } = options
    const apiKey = headers['x-api-key']
    const reply = await readReply({ operation: row.id, answer, names, apiKey, isPassedOn: passesOn })
    const isOfAnother =
      recent !== undefined &&
      isOk(reply) &&
      !server.recent.fits(recent, reply.body) &&
      server.recent.isOfAnother(recent, reply.body, wire)
    if (isOfAnother) wire?.abandon()
    if (isOfAnother || wire?.hasSurplus) return suspectReply(row, isOfAnother)
    if (onSuspect) wire?.pass(options.clock.now(), onSuspect)
    if (reply.headers['idempotent-replayed'] === 'true') honoured.seen()
    return reply
  } catch (error) {
    if (error instanceof Lost) return error
    throw error
  }
}

/**
 * Returns the last reply of a round, or throws when there is none, with what became of each attempt. Both can leave open
 * whether the work was done.
 */
function ending(round: readonly AttemptResult[], unknown: boolean): Reply {
  const said = round.findLast((attempted) => !isUnsent(attempted))
  if (said && 'status' in said) return unknown ? { ...said, unknown } : said
  const reasons = new Set(round.flatMap((attempted) => ('status' in attempted ? [] : [attempted.message])))
  throw new ConnectionLost([...reasons].join('; '), unknown)
}

type IdempotencySupport = ReturnType<typeof createIdempotencySupport>

/** How long a server is not asked again after it could not be reached. */
const restMs = 10_000

/**
 * Creates the knowledge about a server's support: from a profile, an earlier replay, or the server's own report
 * (`probe`). A missing report holds for this process only, because servers are upgraded.
 */
function createIdempotencySupport(
  remembered: RemoteOptions['remembered'],
  probe: () => Promise<boolean | undefined>,
  clock: Clock,
) {
  let known: boolean | undefined
  let asking: Promise<boolean> | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  const learn = async (honours: boolean): Promise<void> => {
    if (known === honours) return
    known = honours
    if (honours) await remembered?.remember(honours)
  }
  const find = async (): Promise<boolean> => {
    const before = await remembered?.honours()
    if (before) known = true
    else {
      const said = await probe()
      if (said !== undefined) await learn(said)
    }
    return known === true
  }
  return {
    /** Returns the stored answer; asks the server when there is none. */
    ask: async (): Promise<boolean> => {
      if (known !== undefined) return known
      if (!asking || clock.now() - askedAt > restMs) {
        askedAt = clock.now()
        asking = find()
      }
      return asking
    },
    /** Records that a reply was replayed, which proves support. */
    seen: (): void => void learn(true),
  }
}
