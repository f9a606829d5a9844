import { describe } from 'vitest'
import { handler } from '../../src/http/handler.js'
import { listen } from '../../src/http/listen.js'
import { describeCaller } from '../conformance/caller.js'
import { openBench } from '../helpers/engine.js'
import { fetchCaller } from '../helpers/fetch-caller.js'

const document = async () => ({})

describe('callers', () => {
  describeCaller('the engine', async () => {
    const bench = await openBench()
    return { caller: bench.caller, bench, close: () => bench.caller.close() }
  })

  describeCaller('a server in this process', async () => {
    const bench = await openBench()
    const serve = handler({ caller: bench.caller, version: 'test', document })
    const caller = fetchCaller(serve, 'http://127.0.0.1:4010/api/v2')
    return { caller, bench, close: () => bench.caller.close() }
  })

  describeCaller('a server behind a socket', async () => {
    const bench = await openBench()
    const serve = handler({ caller: bench.caller, version: 'test', document })
    const server = await listen({ handler: serve, host: '127.0.0.1', port: 0 })
    const caller = fetchCaller(fetch, server.baseUrl)
    const close = async () => {
      await server.close()
      await bench.caller.close()
    }
    return { caller, bench, close }
  })
})
