import { type Caller, compose } from '../../src/api/calls/caller.js'
import type { WireNames } from '../../src/api/calls/wire-names.js'
import type { Clock } from '../../src/api/ports/ports.js'
import { governed } from '../../src/client/governed.js'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { createServerLimit } from '../../src/engine/credits/server-limit.js'
import { guardCaller, memberAccounts } from '../../src/engine/request/proxy-guard.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { handler } from '../../src/http/handler.js'
import { type Listening, listen } from '../../src/http/listen.js'
import { openState } from '../../src/storage/state/open.js'
import { serverMemory } from '../../src/storage/state/remote-servers.js'
import { remoteTo, served } from '../client/serving.js'
import { openBench, randomIds } from '../support/engine.js'
import { fetchCaller } from '../support/fetch-caller.js'
import type { Subject } from './caller.js'

const document = async () => ({})

type Closing = () => Promise<void>

/** Closes the last first. */
const closing =
  (...all: readonly Closing[]): Closing =>
  async () => {
    for (const close of [...all].reverse()) await close()
  }

const behindSocket = (caller: Caller, names?: WireNames): Promise<Listening> =>
  listen({ handler: handler({ caller, version: 'test', document, names }), host: '127.0.0.1', port: 0 })

/** A remote with what this machine adds to it, whose memory is its own; by the engine's clock, so that windows end together. */
async function governedRemote(
  server: Pick<Listening, 'baseUrl' | 'origin'>,
  clock: Clock,
  names?: WireNames,
) {
  const state = await openState(':memory:')
  const memory = serverMemory(state, server.origin)
  const caller = compose(
    governed({ memory, origin: server.origin, ids: randomIds, clock, names }),
    remoteTo(server.baseUrl, { names }),
  )
  return { caller, close: closing(() => state.close(), caller.close) }
}

/** A served engine, and a governed proxy before it that has keys of its own; both in the field names of a server if given. */
export async function governedProxy(names?: WireNames) {
  const { bench, server, close } = await served(names)
  const { clock } = bench
  const remote = await governedRemote(server, clock, names)
  const store = await openEngineDatabase(':memory:')
  const members = createAdmin({ store, clock, ids: randomIds })
  const { key = '' } = await members.init()
  const sleep = async () => {}
  const limit = createServerLimit({ store, clock, server: server.baseUrl })
  const proxy = await behindSocket(
    compose(
      [
        guardCaller({ store, clock, sleep, apiKey: bench.key }),
        memberAccounts({ store, clock, server: server.baseUrl }),
        limit.layer,
      ],
      remote.caller,
    ),
    names,
  )
  return { bench, key, members, proxy, close: closing(close, () => store.close(), remote.close, proxy.close) }
}

/** The ways an engine is asked. */
export const compositions: Readonly<Record<string, () => Promise<Subject>>> = {
  'the engine': async () => {
    const bench = await openBench()
    return { caller: bench.caller, bench, close: () => bench.caller.close() }
  },
  'HTTP within the process': async () => {
    const bench = await openBench()
    const serve = handler({ caller: bench.caller, version: 'test', document })
    const caller = fetchCaller(serve, 'http://127.0.0.1:4010/api/v2')
    return { caller, bench, close: () => bench.caller.close() }
  },
  'HTTP over a socket': async () => {
    const { bench, server, close } = await served()
    return { caller: fetchCaller(fetch, server.baseUrl), bench, close }
  },
  'a governed remote of a served engine': async () => {
    const { bench, server, close } = await served()
    const { caller, close: end } = await governedRemote(server, bench.clock)
    return { caller, bench, close: closing(close, end) }
  },
  'a governed proxy of a served engine': async () => {
    const { proxy, ...rest } = await governedProxy()
    return { caller: fetchCaller(fetch, proxy.baseUrl), ...rest }
  },
  'a direct proxy of a proxy': async () => {
    const { proxy, close, ...rest } = await governedProxy()
    const remote = remoteTo(proxy.baseUrl)
    const direct = await behindSocket(remote)
    const caller = fetchCaller(fetch, direct.baseUrl)
    return { caller, ...rest, close: closing(close, () => remote.close(), direct.close) }
  },
  'a direct remote of a served engine': async () => {
    const { bench, server, close } = await served()
    const caller = remoteTo(server.baseUrl)
    return { caller, bench, close: closing(close, () => caller.close()) }
  },
}
