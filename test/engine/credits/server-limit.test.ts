import { describe, expect, it } from 'vitest'
import { ConnectionLost, type Input, type Reply } from '../../../src/api/calls/caller.js'
import { createServerLimit } from '../../../src/engine/credits/server-limit.js'
import { readSpentAtServers } from '../../../src/engine/credits/weekly-limit.js'
import { listMembers } from '../../../src/engine/tables/members.js'
import { answering } from '../../support/answering.js'
import { openBench } from '../../support/engine.js'

const server = 'https://api.example.com/api/v2'
const contact = { network_url: 'https://www.linkedin.com/in/ada', enrichment_type: ['email'] }

/** A bench whose member has a weekly limit, and what counts the member's calls of a server. */
async function limited(
  weeklyLimit: number | null,
  more: Partial<Parameters<typeof createServerLimit>[0]> = {},
) {
  const bench = await openBench()
  await bench.admin.changeMember('me@localhost', { weeklyLimit })
  const [member] = await bench.store.read((tx) => listMembers(tx, bench.workspaceId))
  if (!member) throw new Error('no member')
  const { layer } = createServerLimit({ store: bench.store, clock: bench.clock, server, ...more })
  return { bench, member, layer }
}

const lookup = { domain: 'acme.example' }
const technologies = { stacks: ['react'], limit: 10 }

it.each([
  ['is noted once, however often it is sent', 100, 'contacts.enrich', contact, 202, [3]],
  ['is noted by its limit where the reply says no number', 100, 'intents.stack', technologies, 202, [30]],
  ['is not noted when it was refused', 100, 'contacts.enrich', contact, 422, []],
  ['is not noted when it is answered at once', 100, 'accounts.enrich', lookup, 200, []],
  ['is noted for a member without a limit, too', null, 'contacts.enrich', contact, 202, [3]],
] as const)(
  'what a member owes for work that a server accepts %s',
  async (_, weeklyLimit, id, input: Input, status, noted) => {
    const holds: number[] = []
    const onAccepted = async (_: unknown, { credits }: { credits: number }) => void holds.push(credits)
    const { layer, member } = await limited(weeklyLimit, { onAccepted })
    let sent = 0
    const caller = layer(
      answering(() => ({
        status,
        body: { id: 'one' },
        credits: status === 200 ? 1 : 0,
        headers: sent++ > 0 ? { 'idempotent-replayed': 'true' } : {},
      })),
    )
    for (const idempotencyKey of ['key', 'key']) await caller.call(id, input, { member, idempotencyKey })
    expect(holds).toEqual(noted)
  },
)

it('a member who asks a server for jobs without a limit is given as many as the week permits', async () => {
  const { layer, member } = await limited(50)
  const server = answering({})
  await layer(server).call('accounts.hiring', { domain: 'acme.example' }, { member })
  expect(server.asked.map(({ input }) => input.limit)).toEqual([50])
})

it('a member who imports without a limit is told how many records the week leaves, and nothing is sent', async () => {
  const { layer, member } = await limited(100)
  const server = answering({ body: { credits: { enrichment: 1_000 } } })
  const got = await layer(server).call(
    'intents.stack',
    { stacks: ['react'], webhook_url: 'https://hooks.example/in' },
    { member },
  )
  expect([got.status, JSON.stringify(got.body)]).toEqual([
    422,
    expect.stringContaining('limit is needed: the weekly limit leaves 33 records'),
  ])
  expect(server.asked.map(({ id }) => id)).toEqual(['credits.show'])
})

it('a member may spend the weekly limit at a server while work of this engine holds all of it', async () => {
  const { bench, member, layer } = await limited(3)
  const { caller, key } = bench
  expect((await caller.call('contacts.enrich', contact, { apiKey: key })).status).toBe(201)
  const held = await caller.call('contacts.enrich', contact, { apiKey: key })
  const there = layer(answering({ credits: 3 }))
  const got = await there.call('contacts.enrich_sync', contact, { member })
  expect([held.status, got.status]).toEqual([403, 200])
  await caller.close()
})

it.each([
  ['is sent once a call that is under way has found nothing and gives its credit back', 404, 200],
  ['is refused once a call that is under way has cost it', 200, 403],
])('a lookup for which the week has no credit left %s', async (_, statusOfFirst, statusOfSecond) => {
  const { bench, layer, member } = await limited(1)
  const first = Promise.withResolvers<Partial<Reply>>()
  const there = answering(() => (there.asked.length === 1 ? first.promise : { credits: 1 }))
  const caller = layer(there)
  const enrich = () => caller.call('accounts.enrich', lookup, { member })
  const sent = [enrich()]
  await expect.poll(() => there.asked.length).toBe(1)
  sent.push(enrich())
  // By the end of a transaction that comes after it, the second one has found that no credit is left.
  await bench.store.transaction(async () => {}, `spending ${member.id}`)
  first.resolve({ status: statusOfFirst, credits: statusOfFirst === 200 ? 1 : 0 })
  const replies = await Promise.all(sent)
  expect(replies.map(({ status }) => status)).toEqual([statusOfFirst, statusOfSecond])
})

describe('a member with a weekly limit of 1', () => {
  /** What the member spent at servers in the end. */
  let spent: unknown

  /**
   * Sends lookups to a server that answers with the given statuses, each under a key, `everyMs` apart. Returns what the member
   * got.
   */
  async function send(
    statuses: readonly (number | Partial<Reply> | ConnectionLost)[],
    keys: readonly string[],
    everyMs = 0,
  ) {
    const { bench, member, layer } = await limited(1)
    const answers = statuses.values()
    const caller = layer(
      answering((id) => {
        if (id === 'credits.show') throw new ConnectionLost('lost', false)
        const given = answers.next().value ?? 500
        if (given instanceof ConnectionLost) throw given
        return typeof given === 'number' ? { status: given, credits: given === 200 ? 1 : 0 } : given
      }),
    )
    const got: number[] = []
    for (const idempotencyKey of keys) {
      const asked = caller.call('accounts.enrich', lookup, { member, idempotencyKey })
      got.push((await asked.catch(() => ({ status: 0 }))).status)
      bench.clock.advance(everyMs)
    }
    spent = await bench.store.read((tx) => readSpentAtServers(tx, member, bench.clock.now()))
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

  it.each([
    ['whose outcome is unknown', { status: 504, credits: 0, unknown: true }],
    ['whose answer cannot be used', { status: 200, credits: 0, unusable: 'is no JSON' }],
  ] as const)('pays for a call %s', async (_, reply) => {
    expect(await send([reply, 200], ['one', 'other'])).toEqual([reply.status, 403])
    expect(spent).toEqual([{ server, spent: 1 }])
  })

  it('is told where credits are bought as the server says it, and by no link that the server did not send', async () => {
    const { member, layer } = await limited(1)
    const refusal = (top_up_url?: string) => ({
      status: 402,
      body: {
        error: 'Insufficient credits',
        code: 'insufficient_credits',
        ...(top_up_url && { top_up_url }),
      },
    })
    const replies = [refusal(), refusal('https://shop.example/credits?plan=a')].values()
    const caller = layer(
      answering((id) =>
        id === 'credits.show' ? { body: { credits: { enrichment: 0 } } } : (replies.next().value ?? {}),
      ),
    )
    // More than the week has left: this machine refuses it, as the server would.
    const refusedHere = async () => (await caller.call('contacts.enrich_sync', contact, { member })).body
    const refusedThere = () => caller.call('accounts.enrich', lookup, { member })
    const own = { error: 'Insufficient credits: need 3 credits, have 0', code: 'insufficient_credits' }
    expect(await refusedHere()).toEqual(own)
    await refusedThere()
    expect(await refusedHere()).toEqual(own)
    await refusedThere()
    expect(await refusedHere()).toEqual({ ...own, top_up_url: 'https://shop.example/credits?plan=a' })
  })

  it('asks for the same part of the jobs when a search is sent again under its key', async () => {
    const { member, layer } = await limited(3)
    const there = answering({ body: { jobs: [] }, credits: 3 })
    const caller = layer(there)
    for (const idempotencyKey of ['one', 'one'])
      await caller.call('accounts.hiring', { domain: 'a.example', limit: 9 }, { member, idempotencyKey })
    expect(there.asked.map(({ input }) => input.limit)).toEqual([3, 3])
  })

  it('is refused for the limit also where the server does not say its balance', async () => {
    expect(await send([200], ['one', 'other'])).toEqual([200, 403])
  })
})
