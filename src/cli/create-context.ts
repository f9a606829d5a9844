import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../api/caller.js'
import type { Clock, Ids } from '../engine/ports.js'
import type { Context, GlobalOptions, Streams } from './context.js'
import { givenKey } from './credentials.js'
import { homeOf, prepareHome } from './home.js'
import { type LocalPorts, localAdmin, localCaller, localKey } from './local.js'
import { readSettings } from './settings.js'
import { targetOf } from './target.js'
import { oneLine } from './terminal.js'

/** What a test may put in place of the real world. */
export interface World {
  readonly clock?: Clock
  readonly ids?: Ids
  readonly sleep?: Context['sleep']
  /** In place of the target. */
  readonly caller?: Caller
}

const realClock: Clock = { now: () => Date.now() }
const realIds: Ids = { uuid: () => randomUUID(), bytes: (size) => randomBytes(size) }
const realSleep: Context['sleep'] = (ms, signal) => pause(ms, undefined, signal ? { signal } : undefined)

/** Makes the context of one invocation. Nothing is opened, read or created until it is asked for. */
export function createContext(streams: Streams, world: World = {}): Context {
  const { clock = realClock, ids = realIds, sleep = realSleep } = world
  const secrets = new Set([streams.env.PROSPECT_API_KEY ?? ''])
  const endings: (() => Promise<void> | void)[] = []
  const home = once(() => homeOf(streams))
  const settings = once(() => readSettings(home()))
  const redact = (text: string) => redacted(text, secrets)
  const notify: Context['notify'] = (text, options) => {
    if (!options.quiet) streams.stderr.write(`${redact(oneLine(text))}\n`)
  }
  const closing = async <T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> => {
    const opened = await opening
    endings.push(() => opened.close())
    return opened
  }
  const store = once(async () => {
    prepareHome(home())
    const { openStore } = await import('../storage/open.js')
    return closing(openStore(home().engine))
  })
  const catalogue = once(async () => {
    prepareHome(home())
    const [{ openCatalogue }, { openSqlite }] = await Promise.all([
      import('../catalogue/catalogue.js'),
      import('../storage/sqlite.js'),
    ])
    return closing(openCatalogue(openSqlite(home().catalogue), { clock, ids }))
  })
  const ports = async (options: GlobalOptions): Promise<LocalPorts> => ({
    home: home(),
    store: await store(),
    clock,
    ids,
    catalogue,
    notify: (text) => notify(text, options),
  })
  const ownKey = once(async (options: GlobalOptions) => localKey(await ports(options)))
  const caller = once(async (options: GlobalOptions) => world.caller ?? localCaller(await ports(options)))
  const given = once((options: GlobalOptions) => givenKey(streams, options))
  return {
    streams,
    clock,
    ids,
    sleep,
    notify,
    redact,
    catalogue,
    settings,
    get home() {
      return home()
    },
    caller: async (options) => {
      targetOf(options, streams.env, settings())
      return caller(options)
    },
    apiKey: async (options) => {
      targetOf(options, streams.env, settings())
      const key = (await given(options)) ?? (await ownKey(options))
      secrets.add(key)
      return key
    },
    admin: async (options = {}) => {
      if (options.create !== false) await ownKey(options)
      return localAdmin(await ports(options))
    },
    onClose: (work) => {
      endings.push(work)
    },
    close: async () => {
      for (let work = endings.pop(); work; work = endings.pop()) await work()
    },
  }
}

/** Does a piece of work when first asked and remembers its answer. */
function once<A extends unknown[], T>(work: (...values: A) => T): (...values: A) => T {
  let done: { readonly value: T } | undefined
  return (...values) => {
    done ??= { value: work(...values) }
    return done.value
  }
}

/** Hides what this command knows to be a key, and whatever has the form of one. */
function redacted(text: string, secrets: ReadonlySet<string>): string {
  let safe = text
  for (const secret of secrets) if (secret.length >= 8) safe = safe.replaceAll(secret, '[key]')
  return safe.replace(/\b(?:pk_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=]{16,})/g, '[key]')
}
