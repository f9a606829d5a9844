import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ApiError } from '../../src/api/calls/errors.js'
import { handler } from '../../src/http/handler.js'
import { answering } from '../support/answering.js'

const ask = async (ready?: () => Promise<unknown>) => {
  const serve = handler({ caller: answering({}), version: 'test', document: async () => ({}), ready })
  const response = await serve(new Request('http://127.0.0.1:4010/ready'))
  return [response.status, await response.json()]
}

describe('GET /ready', () => {
  it('reports whether requests can be answered', async () => {
    expect(await ask(async () => 'whatever')).toEqual([200, { status: 'ready' }])
    expect(await ask(() => Promise.reject(new Error('no database')))).toEqual([503, { status: 'not_ready' }])
  })

  it('says why requests cannot be answered, when the reason is one of the error table', async () => {
    const refusal = new ApiError('database_read_only', { reason: 'it is a standby' })
    expect(await ask(() => Promise.reject(refusal))).toEqual([
      503,
      { status: 'not_ready', reason: 'The database is read-only: it is a standby' },
    ])
  })

  it('reports ready when there is nothing to check', async () => {
    expect(await ask()).toEqual([200, { status: 'ready' }])
  })

  it('reports not ready after two seconds without a result', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const asked = ask(() => new Promise(() => {}))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await asked).toEqual([503, { status: 'not_ready' }])
  })
})
