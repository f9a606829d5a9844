import { randomBytes, randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../../api/calls/caller.js'
import { compose } from '../../api/calls/compose.js'
import { once } from '../../api/values/once.js'
import type { Clock, Ids } from '../../engine/ports/ports.js'
import { createClaims } from '../context/claims.js'
import type {
  ClockContext,
  Context,
  GlobalOptions,
  Home,
  Streams,
  StreamsContext,
  TargetOptions,
} from '../context/context.js'
import { givenKey } from '../context/credentials.js'
import { homeOf, withEngine } from '../context/home.js'
import { guardStreams } from '../context/io.js'
import { readSettings } from '../context/settings.js'
import { targetsOfCommands } from '../options/webhooks.js'
import { messageLines } from '../output/text.js'
import { createLocal } from './local-target.js'
import { createRemoteServer } from './remote-target.js'
import { type RemoteTarget, targetOf } from './resolve-target.js'

/** What tests can replace. */
export interface Overrides extends TargetOptions {
  readonly clock?: Clock
  readonly ids?: Ids
  readonly sleep?: Context['sleep']
  /** Replaces the caller of every target. */
  readonly caller?: Caller
}

const randomIds: Ids = { uuid: () => randomUUID(), bytes: (size) => randomBytes(size) }
const realSleep: Context['sleep'] = (ms, signal) => pause(ms, undefined, signal ? { signal } : undefined)

/** The parts of a context that do not depend on the engine's database. */
type Shared = Omit<StreamsContext, 'claimFile' | 'globals' | 'notify'> &
  ClockContext &
  Pick<Context, 'settings' | 'onClose' | 'close'> & {
    /** Returns the key given with the command. Stdin can be read only once. */
    readonly givenKey: (options: GlobalOptions) => Promise<string | undefined>
    readonly claim: ReturnType<typeof createClaims>
    /** The log of the command, which the contexts of other databases share. */
    readonly logs: { open?: StreamsContext['log'] }
  }

/** Creates the context of one command. Nothing is opened, read or created before its first use. */
export function createContext(unguarded: Streams, overrides: Overrides = {}): Context {
  const streams = guardStreams(unguarded)
  const { clock = Date, ids = randomIds, sleep = realSleep } = overrides
  const home = once(() => homeOf(streams))
  const shared: Shared = {
    ...{ streams, clock, ids, sleep, ...createClosing() },
    ...createRedaction(streams.env.PROSPECT_API_KEY?.trim()),
    settings: once(() => readSettings(home())),
    givenKey: once((options) => givenKey(streams, options)),
    claim: createClaims(),
    logs: {},
  }
  return contextOf(shared, home, overrides)
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
    ...{ ...shared, globals: {}, notify: notifier(false) },
    get home() {
      return home()
    },
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
  const remote = createRemoteServer(machine)
  const callServer = async (target: RemoteTarget) => {
    const { remote: server, governed } = await remote.open(target)
    return compose(governed, server)
  }
  const withGlobals = (globals: GlobalOptions): Context => {
    const chosen = () => targetOf(globals, streams.env, settings())
    const context: Context = Object.assign(Object.create(machine) as typeof machine, {
      ...{ globals, notify: notifier(globals.quiet), catalogue: local.catalogue, worker: local.worker },
      distributedCaller: async (run) => {
        const target = chosen()
        if (target.kind === 'local') return local.distributedCaller(run)
        const [called, apiKey] = [await callServer(target), await local.key(context)]
        return local.distributedCaller(run, { caller: called, source: target.baseUrl, apiKey })
      },
      isLocal: () => chosen().kind === 'local' && caller === undefined,
      caller: async () => {
        const target = chosen()
        return caller ?? (target.kind === 'local' ? local.caller() : callServer(target))
      },
      source: async (member) => (await import('./data-source.js')).sourceOf(context, member),
      notifySource: async (member) => (await import('./data-source.js')).notifySource(context, member),
      server: async () => remote.open(chosen() as RemoteTarget),
      apiKey: async () => {
        const target = chosen()
        const key =
          target.kind === 'local'
            ? ((await givenKey(globals)) ?? (await local.key(context)))
            : await remote.key(target, globals)
        conceal(key)
        return key
      },
      admin: async ({ create = true } = {}) => {
        if (create) await local.key(context)
        return local.admin()
      },
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

/** Shorter secrets are not removed, because ordinary words would disappear with them. */
const shortestSecret = 8

const secretForms = /\b(?:pk_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=]{16,})/g

/** Replaces known secrets, and everything in the form of our keys and signing secrets. */
function createRedaction(
  ...first: readonly (string | undefined)[]
): Pick<StreamsContext, 'conceal' | 'redact'> {
  const secrets = new Set(first)
  return {
    conceal: (secret) => void secrets.add(secret),
    redact: (text) => {
      let safe = text
      for (const secret of secrets)
        if (secret !== undefined && secret.length >= shortestSecret) safe = safe.replaceAll(secret, '[key]')
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
