import { describe, expect, it } from 'vitest'
import type { Input } from '../../../src/api/calls/caller.js'
import { ApiError } from '../../../src/api/calls/errors.js'
import { type OperationId, operations } from '../../../src/api/operations/table.js'
import { perTest } from '../../support/each.js'
import { openBench } from '../../support/engine.js'

const bench = perTest(openBench)

/** Answers a request whose body notes that it was read. */
async function ask(id: OperationId, apiKey: string, read: () => Input) {
  let isRead = false
  const reply = await bench.caller.answerRequest?.(
    id,
    async () => {
      isRead = true
      return read()
    },
    { apiKey },
  )
  return { isRead, status: reply?.status, body: reply?.body, headers: reply?.headers ?? {} }
}

const empty = (): Input => ({})
const tooLarge = (): Input => {
  throw new ApiError('body_too_large', { limit: 1 })
}

describe('before a body is read', () => {
  it('refuses a stranger', async () => {
    expect(await ask('accounts.enrich', 'nonsense', empty)).toMatchObject({ isRead: false, status: 401 })
  })

  it('refuses a key without the scope, and counts the request in no window', async () => {
    await bench.admin.setPlan('Free')
    const narrow = await bench.admin.createKey({ member: 'me@localhost', scopes: ['credits'] })
    for (const { id } of operations().filter((row) => !/^(?:credits|account)\./.test(row.id))) {
      const { isRead, status, body, headers } = await ask(id, narrow.key, empty)
      expect([id, isRead, status, headers]).toEqual([id, false, 403, {}])
      expect(body).not.toHaveProperty('code')
    }
    expect((await ask('lists.create', bench.key, empty)).status).toBe(400)
  })

  it('refuses a request over a window that its path decides', async () => {
    await bench.admin.setPlan('Free')
    expect((await ask('lists.create', bench.key, empty)).isRead).toBe(true)
    const { isRead, status, headers } = await ask('lists.create', bench.key, empty)
    expect([isRead, status, headers['ratelimit-remaining']]).toEqual([false, 429, '0'])
  })
})

describe('a request whose body is refused', () => {
  it('counts in the windows that its path decides, and says so', async () => {
    const { status, headers } = await ask('lists.create', bench.key, tooLarge)
    expect([status, headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual([413, '100', '99'])
  })

  it('counts in none where live decides the window', async () => {
    await ask('leads.advanced_search_preview', bench.key, tooLarge)
    const { status, headers } = await ask('leads.advanced_search_preview', bench.key, empty)
    expect([status, headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual([400, '1', '0'])
  })
})
