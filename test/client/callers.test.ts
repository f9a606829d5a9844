import { describe } from 'vitest'
import { governed } from '../../src/client/governed.js'
import { serverMemory } from '../../src/storage/servers.js'
import { openState } from '../../src/storage/state.js'
import { describeCaller } from '../conformance/caller.js'
import { randomIds } from '../helpers/engine.js'
import { remoteTo, served } from './serving.js'

describe('callers over HTTP', () => {
  describeCaller('a remote to a served engine', async () => {
    const { bench, server, close } = await served()
    const caller = remoteTo(server.baseUrl)
    const closeAll = async () => {
      await caller.close()
      await close()
    }
    return { caller, bench, close: closeAll }
  })

  describeCaller('a governed remote to a served engine', async () => {
    const { bench, server, close } = await served()
    const state = await openState(':memory:')
    const { origin } = server
    const memory = serverMemory(state, origin)
    const clock = { now: () => Date.now() }
    const caller = governed(remoteTo(server.baseUrl), { memory, origin, ids: randomIds, clock })
    const closeAll = async () => {
      await caller.close()
      await state.close()
      await close()
    }
    return { caller, bench, close: closeAll }
  })
})
