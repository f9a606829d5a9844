import { randomBytes, randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Caller,
  type CallOptions,
  compose,
  passColumns,
  type VendorSpending,
} from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Clock, CommandLog, Ids } from '../../api/ports/ports.js'
import { type Fields, getOrMake, lazily, once } from '../../api/values/objects.js'
import type { ServerMemory } from '../../storage/state/remote-servers.js'
import {
  type Context,
  type GlobalOptions,
  type Home,
  type Machine,
  type OpenedServer,
  type Streams,
  type StreamsContext,
  type TargetOptions,
  version,
} from '../context/context.js'
import { findKeyOf, givenKey, storedKeyOf } from '../context/credentials.js'
import { createClaims, homeOf, prepareHome, readSettings, withEngine } from '../context/home.js'
import { guardStreams } from '../context/io.js'
import { openEvents, openMachineOwner, openStateOf, suppressorFor } from '../context/open-databases.js'
import { targetsOfCommands } from '../options/webhooks.js'
import { messageLines } from '../output/text.js'
import { createLocal, describeSamples, sentAgain } from './local-target.js'
import {
  addressesText,
  areAmong,
  isKeyFor,
  profileOrigins,
  type RemoteTarget,
  type Target,
  targetOf,
} from './resolve-target.js'

export interface Overrides extends TargetOptions {
  readonly clock?: Clock
  readonly ids?: Ids
  readonly sleep?: Context['sleep']
  /** Takes what the command reports, as the log of `--log` does. */
  readonly log?: (redact: StreamsContext['redact']) => CommandLog
  /** Takes the result of the command, which is printed without it. */
  readonly take?: (result: unknown) => void
  /** The only folder of the files that options name. */
  readonly root?: string
  /** What all calls may cost at data vendors together. */
  readonly vendors?: VendorSpending
  /** The most credits that the command may spend, beside what its run has spent before. */
  readonly moreCredits?: number
  readonly caller?: Caller
}

const randomIds: Ids = { uuid: () => randomUUID(), bytes: (size) => randomBytes(size) }
const realSleep: Context['sleep'] = (ms, signal) => pause(ms, undefined, signal ? { signal } : undefined)

/** Creates the context of one command. Nothing is opened, read or created before its first use. */
export function createContext(unguarded: Streams, overrides: Overrides = {}): Context {
  const streams = guardStreams(unguarded)
  const home = once(() => homeOf(streams))
  return contextOf(createShared(streams, home, overrides), home, overrides)
}

type Shared = ReturnType<typeof createShared>

/** Creates the parts of a context that do not depend on the engine's database. */
function createShared(
  streams: Streams,
  home: () => Home,
  { clock = Date, ids = randomIds, sleep = realSleep, log, take, root, vendors, moreCredits }: Overrides,
) {
  const redaction = createRedaction(streams.env.PROSPECT_API_KEY?.trim())
  return {
    streams,
    clock,
    ids,
    sleep,
    ...createClosing(),
    ...redaction,
    settings: once(() => readSettings(home())),
    /** Returns the key given with the command. Stdin can be read only once. */
    givenKey: once((options: GlobalOptions) => givenKey(streams, options)),
    claim: createClaims(root),
    root,
    vendors,
    moreCredits,
    take,
    /** The log of the command, which the contexts of other databases share. */
    logs: { open: log?.(redaction.redact) },
  }
}

function contextOf(
  shared: Shared,
  home: () => Home,
  { targets = targetsOfCommands, names, caller, ...engine }: Overrides,
  given: GlobalOptions = {},
): Context {
  const { streams, settings, givenKey, conceal, redact } = shared
  const notifier = (quiet: boolean | undefined) => (text: string) => {
    shared.logs.open?.write('notice', { text })
    if (!quiet) streams.stderr.write(`${messageLines(redact(text), streams).join('\n')}\n`)
  }
  const machine = {
    ...shared,
    globals: {},
    notify: notifier(false),
    get home() {
      return home()
    },
    prepareHome: () => prepareHome(home()),
    get log() {
      return shared.logs.open
    },
    set log(log) {
      shared.logs.open = log
    },
    claimFile: (path, option, use = 'write') =>
      shared.claim(home(), { path: resolve(streams.cwd, path), option, use }),
  } satisfies Partial<Context>
  const local = createLocal(machine, { ...engine, targets, names })
  const servers = new Map<string, () => Promise<OpenedServer>>()
  // Some commands ask each of several servers alone.
  const openServer = (target: RemoteTarget) =>
    getOrMake(servers, JSON.stringify(target), () => once(() => open(machine, target)))()
  const owners = {
    machine: once(() => openMachineOwner(machine)),
    workspace: once(local.owner),
  }
  const suppressorOf = async (target: Target) => {
    const isDirect = target.kind === 'remote' && target.direct
    const suppressor = await suppressorFor(await (isDirect ? owners.machine() : owners.workspace()))
    if (!suppressor || target.kind === 'remote') return suppressor
    // What this machine answers from says whom a request is about.
    const { areAskedAbout } = suppressor
    return {
      ...suppressor,
      areAskedAbout: async (requests: readonly Fields[]) => areAskedAbout(requests, await local.catalogue()),
    }
  }
  const callServer = async (target: RemoteTarget) => {
    const { remote: server, governed } = await openServer(target)
    const { keptFrom } = await import('../../catalogue/suppression/suppressor.js')
    return compose([keptFrom(() => suppressorOf(target)), ...governed], server)
  }
  const withGlobals = (globals: GlobalOptions): Context => {
    const chosen = () => targetOf(globals, streams.env, settings())
    const { maxCost: most, accept, lostBefore } = globals
    const isSaid = [most, accept, lostBefore].some((one) => one !== undefined)
    const own = shared.vendors ?? (isSaid ? { run: shared.ids.uuid(), most, accept } : undefined)
    const vendors = own && { ...own, lostBefore }
    const context: Context = Object.assign(Object.create(machine) as typeof machine, {
      globals,
      notify: notifier(globals.quiet),
      catalogue: local.catalogue,
      worker: local.worker,
      isLocal: () => chosen().kind === 'local' && caller === undefined,
      requireRecords: async (rows) => (await import('./required-records.js')).requireRecords(context, rows),
      hasVendors: async (kinds) => context.isLocal() && local.hasVendors(kinds),
      vendorColumns: async (kinds) => (context.isLocal() ? local.vendorColumns(kinds) : []),
      caller: async () => {
        const target = chosen()
        if (caller) return caller
        return target.kind === 'local'
          ? passColumns(withVendors(await local.caller(), vendors, shared.vendors !== undefined))
          : callServer(target)
      },
      suppressor: () => suppressorOf(chosen()),
      source: async (member) => (await import('./local-target.js')).sourceOf(context, member),
      notifySource: async (member) => (await import('./local-target.js')).notifySource(context, member),
      notifySamples: async () => {
        if (!local.hasSearched() || !context.isLocal() || (await context.source())?.kind !== 'mixed') return
        const samples = await local.countSamples()
        if (samples > 0) context.notify(describeSamples(samples))
      },
      server: async () => openServer(chosen() as RemoteTarget),
      apiKey: async () => {
        const target = chosen()
        const key =
          target.kind === 'local'
            ? ((await givenKey(globals)) ?? (await local.key(context)))
            : await keyFor(machine, target, globals)
        conceal(key)
        return key
      },
      admin: async (options) => {
        if (options) await local.create(context, options.create)
        return local.admin()
      },
      priced: (operation) => (context.isLocal() ? local.priced(operation) : Promise.resolve(operation)),
      isSetUp: async () => !context.isLocal() || local.hasWorkspace(),
      withGlobals: (change) => withGlobals({ ...globals, ...change } as GlobalOptions),
      withDatabase: (database, options) => {
        if (!options && database === home().engine) return context
        const other = once(() => withEngine(home(), database, streams.cwd))
        return contextOf(shared, other, options ?? {}, globals)
      },
    } satisfies Partial<Context>)
    return context
  }
  return withGlobals(given)
}

/** Returns a caller whose calls may cost so much at data vendors: those of each batch, or all together. */
function withVendors(caller: Caller, vendors: VendorSpending | undefined, isTogether: boolean): Caller {
  if (!vendors) return caller
  const runOf = (options: CallOptions = {}) => (isTogether ? undefined : options.row?.run) ?? vendors.run
  return {
    ...caller,
    call: (id, input, options) =>
      caller.call(id, input, { ...options, vendors: { ...vendors, run: runOf(options) } }),
  }
}

/** Shorter secrets are not removed, because ordinary words would disappear with them. */
const minSecretLength = 8

const secretForms = /\b(?:pk_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=]{16,})/g

/** Replaces known secrets, and everything in the form of our keys and signing secrets. */
function createRedaction(first: string | undefined): Pick<StreamsContext, 'conceal' | 'redact'> {
  const secrets = new Set([first])
  return {
    conceal: (secret) => void secrets.add(secret),
    redact: (text) => {
      let safe = text
      for (const secret of secrets)
        if (secret !== undefined && secret.length >= minSecretLength) safe = safe.replaceAll(secret, '[key]')
      return safe.replace(secretForms, '[key]')
    },
  }
}

/** Collects work for the end. All of it runs, last added first, and the first failure is thrown after that. */
function createClosing(): Pick<Context, 'onClose' | 'close'> {
  const pending: (() => Promise<void> | void)[] = []
  return {
    onClose: (work) => void pending.push(work),
    close: async () => {
      const failures: unknown[] = []
      for (let work = pending.pop(); work; work = pending.pop())
        await Promise.resolve()
          .then(work)
          .catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
  }
}

type RemotePorts = Machine & Pick<Shared, 'givenKey'>

async function open(ports: RemotePorts, target: RemoteTarget): Promise<OpenedServer> {
  const { streams, clock, ids, sleep, onClose } = ports
  const { createRemote, withSyncServer } = await import('../../client/remote.js')
  const memory = target.direct ? undefined : lazyMemory(ports, target)
  const { baseUrl, otherUrls, syncUrls, names, idempotency } = target
  const outside = { clock, ids, sleep, env: streams.env, random: Math.random }
  const options = { ...outside, names, idempotency, version: await version() }
  const openWith = (passesOn: boolean) => {
    const main = createRemote({ ...options, baseUrl, otherUrls, remembered: memory, passesOn })
    const [first, ...others] = syncUrls ?? []
    const sync =
      first && createRemote({ ...options, baseUrl: first, otherUrls: others, sync: true, passesOn })
    const remote = sync ? withSyncServer(main, sync, (key) => syncKey(ports, target, key)) : main
    onClose(() => remote.close())
    return remote
  }
  const remote = openWith(false)
  const openForProxy = () => openWith(true)
  const onPassed = target.passesFields
    ? (text: string) => ports.notify(`${text}. It is sent as it is.`)
    : undefined
  const check = { names, onPassed }
  const { checkedFields, governed } = await import('../../client/governed.js')
  if (!memory) return { remote, openForProxy, governed: [checkedFields(check)] }
  const { origin, plan } = target
  const onAgain = () => ports.notify(sentAgain)
  const layers = { memory, origin, plan, observed: syncUrls !== undefined, ids, clock }
  const keepUnusable = (id: OperationId, text: string) => storeUnusable(ports, target, id, text)
  return {
    remote,
    openForProxy,
    governed: governed({ ...check, ...layers, onAgain, keepUnusable }),
  }
}

/** Stores an answer that cannot be used as an event, and says where it is. */
async function storeUnusable(
  ports: RemotePorts,
  { origin }: RemoteTarget,
  operation: OperationId,
  body: string,
): Promise<void> {
  const { clock, notify } = ports
  const id = ports.ids.uuid()
  const headers = { server: origin, operation }
  await (await openEvents(ports)).keepUnusable({ id, receivedAt: clock.now(), body, headers })
  notify(
    `The server's answer could not be read and may have been charged. It is stored: prospect events show ${id}`,
  )
}

/** Returns the key for the synchronous addresses: the call's own at the same origins, otherwise the profile's for them. */
async function syncKey(
  { home, conceal }: RemotePorts,
  { origins, profile, syncOrigins = [] }: RemoteTarget,
  apiKey: string | undefined,
): Promise<string | undefined> {
  if (areAmong(syncOrigins, origins)) return apiKey
  const [other = ''] = syncOrigins
  const key = storedKeyOf(home, { origin: other, profile })
  if (key === undefined) throw new Refusal('usage.no_sync_key', { other })
  conceal(key)
  return key
}

/** Returns what this machine remembers of a server. It is opened on first use. */
function lazyMemory({ home, onClose }: RemotePorts, { origin }: RemoteTarget): ServerMemory {
  const open = async (options: { readonly durable?: boolean }) => {
    const { serverMemory } = await import('../../storage/state/remote-servers.js')
    return serverMemory(await openStateOf({ home, onClose }, undefined, options), origin)
  }
  const memory = once(() => open({}))
  // Rate windows need not be durable: after a power cut they have ended.
  const windows = once(() => open({ durable: false }))
  return lazily((name) => (name === 'windows' || name === 'change' ? windows() : memory()))
}

/** Returns the key for a server: the given one, else that of the environment if it is not another's, else the stored one of this origin. */
async function keyFor(
  { streams, home, givenKey, settings }: RemotePorts,
  target: RemoteTarget,
  options: GlobalOptions,
): Promise<string> {
  const { origin, origins, profile } = target
  const isGiven = options.apiKeyFile !== undefined || options.apiKeyStdin === true
  const mayGo = isGiven || isKeyFor(origins, streams.env)
  const given = mayGo ? await givenKey(options) : undefined
  if (given !== undefined) return given
  const stored = findKeyOf(home, target)
  if (stored !== undefined) {
    const bound = [origin, ...(stored.origins ?? []), ...profileOrigins(target, settings())]
    const other = origins.find((one) => !bound.includes(one))
    if (other === undefined) return stored.key
    throw new Refusal('usage.key_of_one_server', { origin, profile, other, addresses: addressesText(target) })
  }
  throw new Refusal('usage.no_server_key', { origin, profile, isInEnv: !!streams.env.PROSPECT_API_KEY })
}
