import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../../api/calls/caller.js'
import type { WireNames } from '../../api/calls/wire-names.js'
import type { Remote } from '../../client/remote.js'
import type { Clock, Ids, Targets } from '../../engine/ports/ports.js'
import type { Context, GlobalOptions, Streams } from '../context/context.js'
import { givenKey } from '../context/credentials.js'
import { homeOf } from '../context/home.js'
import { once } from '../context/once.js'
import { readSettings } from '../context/settings.js'
import { oneLine } from '../output/terminal.js'
import { createLocal } from './local-target.js'
import { createRemoteServer } from './remote-target.js'
import { targetOf } from './resolve-target.js'
import { createRedaction } from './secrets.js'

/** What a test may put in place of the real world. */
export interface World {
  readonly clock?: Clock
  readonly ids?: Ids
  readonly sleep?: Context['sleep']
  /** Where a workspace of so many members may deliver to besides public addresses; its own machine when it has one. */
  readonly targets?: (members: number) => Targets
  /** What is put around a server, between it and what this machine remembers of it. */
  readonly around?: (remote: Remote) => Remote
  /** The words for `network` and `premium` in what the engine delivers, where they are others. */
  readonly names?: WireNames | undefined
  /** In place of the target's. */
  readonly caller?: Caller
}

const realClock: Clock = { now: () => Date.now() }
const realIds: Ids = { uuid: () => randomUUID(), bytes: (size) => randomBytes(size) }
const realSleep: Context['sleep'] = (ms, signal) => pause(ms, undefined, signal ? { signal } : undefined)

/** The address of somebody who is alone on a machine may be on it. */
const ownMachine = (members: number): Targets => ({ allow: [], loopback: members === 1 })

/** Makes the context of one invocation. Nothing is opened, read or created until it is asked for. */
export function createContext(streams: Streams, world: World = {}): Context {
  const { clock = realClock, ids = realIds, sleep = realSleep, targets = ownMachine } = world
  const { remember, redact } = createRedaction(streams.env.PROSPECT_API_KEY?.trim())
  const { onClose, close } = createEndings()
  const home = once(() => homeOf(streams))
  const settings = once(() => readSettings(home()))
  const notify: Context['notify'] = (text, options) => {
    if (!options.quiet) streams.stderr.write(`${redact(oneLine(text))}\n`)
  }
  const { around, names } = world
  const local = createLocal({ home, clock, ids, notify, onClose, sleep, targets, names })
  const given = once((options: GlobalOptions) => givenKey(streams, options))
  const onAgain = () => notify(sentAgain, {})
  const remote = createRemoteServer({
    ...{ streams, home, clock, ids, sleep, onClose },
    given,
    onAgain,
    around,
  })
  const chosen = (options: GlobalOptions) => targetOf(options, streams.env, settings())
  return {
    ...{ streams, clock, ids, sleep, notify, redact, settings, onClose, close },
    get home() {
      return home()
    },
    catalogue: local.catalogue,
    worker: local.worker,
    spread: async (run, options) => {
      const target = chosen(options)
      if (target.kind === 'local') return local.spread(run)
      const [caller, apiKey] = [await remote.caller(target), await local.key(options)]
      return local.spread(run, { caller, source: target.baseUrl, apiKey })
    },
    isLocal: (options) => chosen(options).kind === 'local' && world.caller === undefined,
    caller: async (options) => {
      const target = chosen(options)
      return world.caller ?? (target.kind === 'local' ? local.caller() : remote.caller(target))
    },
    apiKey: async (options) => {
      const target = chosen(options)
      const isLocal = target.kind === 'local'
      const key = isLocal
        ? ((await given(options)) ?? (await local.key(options)))
        : await remote.key(target, options)
      remember(key)
      return key
    },
    conceal: remember,
    admin: async (options = {}) => {
      if (options.create !== false) await local.key(options)
      return local.admin()
    },
  }
}

const sentAgain =
  'The outcome of this call is open from before: it goes out under the same idempotency key, to be paid once.'

/** Work for the end, last added first; a failure keeps none of the others from being done. */
function createEndings(): Pick<Context, 'onClose' | 'close'> {
  const endings: (() => Promise<void> | void)[] = []
  return {
    onClose: (work) => void endings.push(work),
    close: async () => {
      const failures: unknown[] = []
      for (let work = endings.pop(); work; work = endings.pop())
        await Promise.resolve()
          .then(work)
          .catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
  }
}
