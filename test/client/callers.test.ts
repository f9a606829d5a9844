import { describe } from 'vitest'
import { describeCaller } from '../conformance/caller.js'
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
})
