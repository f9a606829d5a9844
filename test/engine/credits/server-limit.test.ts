import { describe, expect, it } from 'vitest'
import { ConnectionLost, type Input, type Reply } from '../../../src/api/calls/caller.js'
import { readSpentAtServers } from '../../../src/engine/credits/ledger.js'
import { createServerLimit } from '../../../src/engine/credits/server-limit.js'
import { listMembers } from '../../../src/engine/tables/members.js'
import { openBench } from '../../support/engine.js'

const server = 'https://api.example.com/api/v2'
const contact = { network_url: 'https://www.linkedin.com/in/ada', enrichment_type: ['email'] }

it.each([
  [
    'is noted once for work that was accepted, however often it is sent',
    100,
    'contacts.enrich',
    contact,
    202,
    [3],
  ],
  [
    'is noted for an import that was accepted: its limit, where the reply says no number',
    100,
    'intents.stack',
    { technologies: ['x'], limit: 10 },
    202,
    [30],
  ],
  ['is not noted for work that was refused', 100, 'contacts.enrich', contact, 422, []],
  [
    'is not noted for an answer that comes at once',
    100,
    'accounts.enrich',
    { domain: 'acme.example' },
    200,
    [],
  ],
  ['is not noted for a member without a limit', null, 'contacts.enrich', contact, 202, []],
] as const)(
  'what a member owes for work at a server %s',
  async (_, weeklyLimit, id, input: Input, status, noted) => {
    const bench = await openBench()
    await bench.admin.changeMember('me@localhost', { weeklyLimit })
    const [found] = await bench.store.read((tx) => listMembers(tx, bench.workspaceId))
    if (!found) throw new Error('no member')
    const member = { ...found, weeklyLimit }
    const holds: number[] = []
    const { layer } = createServerLimit({
      store: bench.store,
      clock: bench.clock,
      server,
      onAccepted: async (_, { credits }) => void holds.push(credits),
    })
    const reply = {
      status,
      headers: {},
      body: { id: 'one' },
      credits: status === 200 ? 1 : 0,
    } as unknown as Reply
    const caller = layer({ call: async () => reply } as never)
    const options = { member, idempotencyKey: 'key' }
    await caller.call(id, input, options)
    await caller.call(id, input, options)
    expect(holds).toEqual(noted)
  },
)

describe('a member with a weekly limit of 1', () => {
  /** What the member spent at servers in the end. */
  let spent: unknown

  /**
   * Sends lookups to a server that answers with the given statuses, each under a key, `everyMs` apart. Returns what the member
   * got.
   */
  async function send(statuses: readonly (number | ConnectionLost)[], keys: readonly string[], everyMs = 0) {
    const bench = await openBench()
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 1 })
    const [found] = await bench.store.read((tx) => listMembers(tx, bench.workspaceId))
    if (!found) throw new Error('no member')
    const { layer } = createServerLimit({ store: bench.store, clock: bench.clock, server })
    const answers = statuses.values()
    const caller = layer({
      call: async (id: string) => {
        if (id === 'credits.show') throw new ConnectionLost('lost', false)
        const status = answers.next().value ?? 500
        if (status instanceof ConnectionLost) throw status
        return { status, headers: {}, body: {}, credits: status === 200 ? 1 : 0 }
      },
    } as never)
    const got: number[] = []
    for (const idempotencyKey of keys) {
      const options = { member: found, idempotencyKey }
      const reply = await caller
        .call('accounts.enrich', { domain: 'acme.example' }, options)
        .catch(() => ({ status: 0 }))
      got.push(reply.status)
      bench.clock.advance(everyMs)
    }
    spent = await bench.store.read((tx) => readSpentAtServers(tx, found, bench.clock.now()))
    await bench.caller.close()
    return got
  }

  it('pays for a key that the server refused when it is sent again', async () => {
    expect(await send([422, 200], ['one', 'one', 'other'])).toEqual([422, 200, 403])
  })

  it('pays for a key that is sent again after a day, when the server has forgotten it', async () => {
    const dayMs = 86_400_000
    expect(await send([200, 200], ['one', 'one'], dayMs - 1)).toEqual([200, 200])
    expect(await send([200, 200], ['one', 'one'], dayMs)).toEqual([200, 403])
  })

  it('pays for a call that was cut off, and not for one that the server did not get', async () => {
    const lost = (unknown: boolean) => new ConnectionLost('lost', unknown)
    expect(await send([lost(true), 200], ['one', 'other'])).toEqual([0, 403])
    expect(spent).toEqual([{ server, spent: 1 }])
    expect(await send([lost(false), 422], ['one', 'other'])).toEqual([0, 422])
    expect(spent).toEqual([])
  })

  it('asks for the same part of the jobs when a search is sent again under its key', async () => {
    const bench = await openBench()
    await bench.admin.changeMember('me@localhost', { weeklyLimit: 3 })
    const [member] = await bench.store.read((tx) => listMembers(tx, bench.workspaceId))
    const { layer } = createServerLimit({ store: bench.store, clock: bench.clock, server })
    const limits: unknown[] = []
    const reply = { status: 200, headers: {}, body: { jobs: [] }, credits: 3 }
    const call = async (_: string, { limit }: Input) => {
      limits.push(limit)
      return reply
    }
    const caller = layer({ call } as never)
    for (const idempotencyKey of ['one', 'one'])
      if (member)
        await caller.call('accounts.hiring', { domain: 'a.example', limit: 9 }, { member, idempotencyKey })
    expect(limits).toEqual([3, 3])
  })

  it('is refused for the limit also where the server does not say its balance', async () => {
    expect(await send([200], ['one', 'other'])).toEqual([200, 403])
  })
})
