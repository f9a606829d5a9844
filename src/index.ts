import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import manifest from '../package.json' with { type: 'json' }
import type { InputTo, OutputOf } from './api/areas/shapes.js'
import {
  type Caller,
  type CallOptions,
  compose,
  type Input,
  isFromStore,
  isOk,
  type Reply,
} from './api/calls/caller.js'
import type { WireNames } from './api/calls/wire-names.js'
import type { OperationId } from './api/operations/table.js'
import type { Clock, Ids, Targets } from './api/ports/ports.js'
import { providerKeyName } from './api/values/key-names.js'
import { once } from './api/values/objects.js'
import { type ReceivedHeaders, type Verification, verify as verifyAt } from './api/webhooks/signature.js'
import { type Catalogue, openCatalogue } from './catalogue/catalogue.js'
import { governed } from './client/governed.js'
import { isKnown } from './client/kept-keys.js'
import { createRemote, type RemoteOptions } from './client/remote.js'
import { createSender } from './client/sender.js'
import { type Admin, createAdmin } from './engine/admin/admin.js'
import { sharedClock } from './engine/clock.js'
import { createEngine } from './engine/request/engine.js'
import { createPayers } from './engine/request/payer.js'
import { openEngineDatabase } from './engine/tables/schema.js'
import { createWorker, type Worker } from './engine/worker/worker.js'
import { type HandlerOptions, handler as handlerOf } from './http/handler.js'
import { lazyVendors } from './providers/lazy.js'
import { reusedAnswers } from './runs/reused-answers.js'
import { engineName, toWorkspaceName } from './runs/target-name.js'
import { openShared } from './storage/database/open.js'
import { isPostgres, locationProblem } from './storage/driver/connection.js'
import { openSqlite } from './storage/driver/sqlite/driver.js'
import { openState } from './storage/state/open.js'
import { serverMemory } from './storage/state/remote-servers.js'

export type { InputTo, OutputOf } from './api/areas/shapes.js'
export { type Caller, type CallOptions, ConnectionLost, type Input, type Reply } from './api/calls/caller.js'
export type { WireNames } from './api/calls/wire-names.js'
export type { OperationId } from './api/operations/table.js'
export type { ReceivedHeaders, Verification } from './api/webhooks/signature.js'
export { basePath } from './http/handler.js'
export {
  type EnrichedRow,
  type EnrichOptions,
  type EnrichReport,
  type FlowOptions,
  type Home,
  type HomeOptions,
  type MatchOptions,
  type MatchReport,
  openHome,
  type Problem,
  ProspectError,
  type Quote,
  type QuoteOptions,
  type Report,
} from './library/home.js'
export type { Admin, Catalogue, Clock, Ids, Targets, Worker }

/** Where a local engine keeps its state, and the replacements for tests. */
interface EngineOptions {
  /**
   * Path or `postgres://` address of the engine's database; in memory by default. Its data vendors
   * are asked with the keys in `credentials.json` beside it, if there is one.
   */
  readonly engine?: string
  /**
   * Path of the catalogue, or the `postgres://` address of its engine. By default it is beside an engine on a server,
   * and otherwise in memory.
   */
  readonly catalogue?: string
  readonly clock?: Clock
  readonly ids?: Ids
  /** Where webhooks may be delivered besides public addresses. */
  readonly targets?: Targets
  /**
   * Path or `postgres://` address of the database of paid answers, such as `state.db` in the home of commands. With it,
   * what was paid for in the last 30 days is not paid for again.
   */
  readonly state?: string
  /** How old a paid answer may be, in milliseconds; 0 reuses none. By default 30 days. */
  readonly maxAgeMs?: number
}

/** A local engine with its administration and the data behind it. */
export interface OpenedEngine {
  readonly caller: TypedCaller
  readonly admin: Admin
  readonly catalogue: Catalogue
  /** Does accepted work: `finish(id)` one job, `drain()` everything due, or `start()` until stopped. */
  readonly worker: Worker
  close(): Promise<void>
}

const { version } = manifest
const systemClock: Clock = { now: () => Date.now() }
const systemIds: Ids = { uuid: randomUUID, bytes: randomBytes }
const nowhereElse: Targets = { allow: [], loopback: false }

/** Opens a local engine; `admin.init()` creates workspace, member and key when there are none. */
export async function openEngine(options: EngineOptions = {}): Promise<OpenedEngine> {
  const { engine = ':memory:' } = options
  const { catalogue: place = isPostgres(engine) ? engine : ':memory:' } = options
  for (const location of [engine, place]) {
    const problem = locationProblem(location)
    if (problem !== undefined) throw new TypeError(`The location of a database ${problem}.`)
  }
  const { ids = systemIds, targets = nowhereElse } = options
  const store = await openEngineDatabase(engine)
  const clock = options.clock ?? sharedClock(store, systemClock)
  const catalogue = await openCatalogueAt(place, { clock, ids }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  const sender = createSender({ clock })
  const closing: (() => Promise<void>)[] = []
  const vendors = lazyVendors({
    store: async () => store,
    clock: systemClock,
    keyOf: (workspaceId, name) => keyBeside(engine, providerKeyName(workspaceId, name)),
    sleep: (ms) => pause(ms),
    random: (bytes) => ids.bytes(bytes),
    servers: undefined,
    onClose: (one) => void closing.push(one),
  })
  const ports = { store, source: catalogue, vendors, clock, ids, sender, targets: () => targets }
  const worker = createWorker(ports)
  const asked = createEngine({ ...ports, accepted: () => worker.wake() })
  const admin = createAdmin({ store, clock, ids })
  const { state, maxAgeMs } = options
  let caller = asked
  if (state !== undefined) {
    const payers = createPayers({ store, source: catalogue, clock, sleep: (ms) => pause(ms) })
    // Where a key is valid, there is a first workspace, which stays the first.
    const nameOfEngine = once(async () => (await admin.workspaces()).slice(0, 1).map(engineName)[0])
    const payerOf = async (apiKey: string) => {
      const payer = await payers(apiKey)
      const target = payer && (await nameOfEngine())
      const notBefore = (await catalogue.origins())?.changedAt ?? 0
      return payer && target !== undefined ? { ...payer, target, notBefore } : undefined
    }
    const database = await openState(state)
    const reused = reusedAnswers({
      clock,
      database,
      state,
      ids,
      maxAgeMs,
      isKnown,
      sleep: pause,
      payerOf,
    })
    closing.push(reused.close)
    caller = compose([reused.layer], asked)
  }
  const close = async () => {
    await worker.stop()
    for (const one of closing) await one()
    await sender.close()
    await asked.close()
    await catalogue.close()
  }
  return { caller: withTypes(caller), admin, catalogue, worker, close }
}

/** Returns a key that commands have stored beside an engine, as they do with `PROSPECT_HOME`. */
function keyBeside(engine: string, name: string): string | undefined {
  const file = join(dirname(engine), 'credentials.json')
  if (engine === ':memory:' || isPostgres(engine) || !existsSync(file)) return undefined
  const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { keys?: Record<string, { key: string }> }
  return keys && Object.hasOwn(keys, name) ? keys[name]?.key : undefined
}

const openCatalogueAt = async (place: string, ports: { clock: Clock; ids: Ids }): Promise<Catalogue> =>
  openCatalogue(isPostgres(place) ? await openShared(place) : openSqlite(place), ports)

/** Another server and its settings; those with a default may be omitted. */
interface RemoteSettings
  extends Pick<
    RemoteOptions,
    'otherUrls' | 'idempotency' | 'names' | 'timeoutMs' | 'connections' | 'ca' | 'env'
  > {
  /** Ends in `/api/v2`. */
  readonly baseUrl: string
  /** Sent with each call that has no key of its own. */
  readonly apiKey?: string | undefined
  /**
   * Path of a database that remembers the server's rate windows, the keys of calls with an unknown outcome, and what was
   * paid for, which is not paid for again for 30 days. Processes that share it respect the windows together. Without it
   * nothing is remembered.
   */
  readonly state?: string | undefined
  /** How old a paid answer may be, in milliseconds; 0 reuses none. By default 30 days. */
  readonly maxAgeMs?: number | undefined
  /** The plan of the workspace on the server; its requests per minute are respected. */
  readonly plan?: string | undefined
}

/** Opens the caller of another server. */
export async function remote(settings: RemoteSettings): Promise<TypedCaller> {
  const { baseUrl, apiKey, state, plan, maxAgeMs, ...rest } = settings
  const urls = [baseUrl, ...(rest.otherUrls ?? [])].map((url) => new URL(url))
  for (const [at, { origin, pathname }] of urls.entries())
    if (!/^[^,]*\/api\/v2\/?$/.test(pathname))
      throw new TypeError(`${at === 0 ? 'baseUrl' : 'otherUrls'} must end in /api/v2: ${origin}/api/v2`)
  const { origin } = urls[0] as URL
  const ports = { clock: systemClock, ids: systemIds }
  const sleep = async (ms: number, signal?: AbortSignal) => void (await pause(ms, undefined, { signal }))
  const shared = { env: process.env, random: Math.random, ...ports, ...rest, baseUrl, sleep }
  if (state === undefined) return withTypes(createRemote(shared), apiKey)
  const database = await openState(state)
  const memory = serverMemory(database, origin)
  const server = createRemote({ ...shared, remembered: memory })
  const target = baseUrl.replace(/\/$/, '')
  const reused = reusedAnswers({
    clock: systemClock,
    database,
    state,
    ids: systemIds,
    maxAgeMs,
    isKnown,
    names: rest.names,
    sleep: pause,
    payerOf: async (key) => ({ target, workspace: toWorkspaceName(key), notBefore: 0 }),
  })
  const layers = [reused.layer, ...governed({ memory, origin, plan, names: rest.names, ...ports })]
  const caller = compose(layers, server)
  const close = async () => {
    await caller.close()
    await reused.close()
  }
  return withTypes({ ...caller, close }, apiKey)
}

/** Options of a handler. */
interface ServeOptions extends Partial<Pick<HandlerOptions, 'report'>> {
  /** An engine's caller, a remote one, or one of your own. */
  readonly caller: Caller | TypedCaller
  /** The words for `network` and `premium` in field names, when they differ. */
  readonly names?: WireNames
}

/** Returns a fetch-shaped function that serves the whole API over a caller, under `/api/v2`, with `/health` and `/openapi.json`. */
export function handler(options: ServeOptions): (request: Request) => Promise<Response> {
  const document = async () => (await import('./reference/openapi.js')).openapi({ version })
  const { caller, ...rest } = options
  return handlerOf({ ...rest, caller: caller as Caller, version, document })
}

/**
 * Verifies that a webhook was signed with one of the secrets, at most 5 minutes ago. The body is the bytes as
 * received, not the parsed value.
 */
export function verify(
  headers: ReceivedHeaders,
  rawBody: string | Uint8Array,
  secrets: readonly string[],
  now: number = Date.now(),
): Verification {
  return verifyAt(headers, rawBody, secrets, now)
}

/** The body of a refusal. Operations with coded errors have a number in `error`, and the text in `message`. */
export interface Refusal {
  readonly error: string | number
  readonly message?: string
  /** The code to branch on, with the status. */
  readonly code?: string
  readonly top_up_url?: string
}

/** The reply of an operation: `ok` distinguishes success and refusal. */
export type ReplyTo<Id extends OperationId> = Omit<Reply, 'body'> & {
  /** Whether it was paid for before; `headers.age` says how many seconds ago. */
  readonly reused: boolean
} & ({ readonly ok: true; readonly body: OutputOf<Id> } | { readonly ok: false; readonly body: Refusal })

/** Options of a call; `refresh` asks again for what was paid for before. */
export interface TypedCallOptions extends CallOptions {
  readonly refresh?: boolean | undefined
}

/** A caller whose requests and replies have the types of their operation. It is also a `Caller`. */
export interface TypedCaller extends Omit<Caller, 'call'> {
  call<Id extends OperationId>(id: Id, input: InputTo<Id>, options?: TypedCallOptions): Promise<ReplyTo<Id>>
}

/** Types a caller, and adds a key to the calls whose options have none. */
function withTypes(caller: Caller, apiKey?: string): TypedCaller {
  const call = async (id: OperationId, input: Input, given: TypedCallOptions = {}) => {
    const { refresh, ...options } = given
    const reply = await caller.call(id, input, {
      ...options,
      ...(apiKey !== undefined && !('apiKey' in options) ? { apiKey } : {}),
      ...(refresh ? { maxAgeMs: 0 } : {}),
    })
    return { ...reply, ok: isOk(reply), reused: isFromStore(reply) }
  }
  return { ...caller, call: call as TypedCaller['call'] }
}
