import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Caller } from '../../src/api/calls/caller.js'
import {
  areaOf,
  type Operation,
  type OperationId,
  operation,
  operations,
} from '../../src/api/operations/table.js'
import { handler } from '../../src/http/handler.js'
import { type Fields, requests, unknownId } from '../spec/requests.js'
import { perFile } from '../support/each.js'
import { openBench } from '../support/engine.js'
import { fetchCaller } from '../support/fetch-caller.js'

const rows = operations().map((row) => [row.id, row] as const)
const areas = [...new Set(operations().map(({ id }) => areaOf(id)))]

const bench = perFile(openBench)
let wire: Caller
/** API keys by their defect, or by the area of their scope. */
const keys = new Map<string, string | undefined>([
  ['missing', undefined],
  ['empty', ''],
  ['malformed', 'pk_x'],
  ['unknown', `pk_${'0'.repeat(38)}`],
])

/** Asks with a key of that name; returns what comes over HTTP. */
async function ask(id: OperationId, key: string, more: Fields = {}) {
  const { status, body, headers } = await wire.call(
    id,
    { ...requests[id], ...more },
    { apiKey: keys.get(key) },
  )
  return { status, body: JSON.stringify(body), headers }
}

beforeAll(async () => {
  const { admin } = bench
  const serve = handler({ caller: bench.caller, version: 'test', document: async () => ({}) })
  wire = fetchCaller(serve, 'http://127.0.0.1:4010/api/v2')
  const make = async (name: string, more: { scopes?: string[]; expiresAt?: number } = {}) => {
    const { id, key } = await admin.createKey({ member: 'me@localhost', ...more })
    keys.set(name, key)
    return id
  }
  await admin.revokeKey(await make('revoked'))
  await make('expired', { expiresAt: bench.clock.now() + 1 })
  bench.clock.advance(1)
  for (const area of areas) await make(area, { scopes: [area] })
  keys.set('all', bench.key)
  await admin.createWorkspace('Other')
  await admin.useWorkspace('Other')
  await admin.addMember({ email: 'them@other.example' })
  keys.set('theirs', (await admin.createKey({ member: 'them@other.example' })).key)
})
// All rate windows end before the next request.
beforeEach(() => bench.clock.advance(120_000))

describe.each(rows)('%s', (id, row) => {
  it.each(['missing', 'empty', 'malformed', 'unknown', 'revoked', 'expired'])(
    'refuses a key that is %s with the same 401 as a missing key',
    async (name) => {
      const first = await ask(id, 'missing')
      const seen = await ask(id, name)
      expect(seen.status).toBe(401)
      expect(seen.body).toBe('{"error":"Invalid API key"}')
      expect(seen).toEqual(first)
    },
  )

  // The free check that a key works, and whose it is.
  const open: Partial<Record<OperationId, readonly string[]>> = {
    'credits.show': ['credits', 'limits'],
    'account.show': ['account', 'workspace', 'integrations'],
  }
  const fields = open[id]
  it(`${fields ? 'accepts' : 'refuses'} a key of any other scope`, async () => {
    for (const area of areas.filter((one) => one !== areaOf(id))) {
      bench.clock.advance(120_000)
      const { status, body } = await ask(id, area)
      const expected = fields ? [200, fields] : [403, ['error']]
      expect([area, status, Object.keys(JSON.parse(body))]).toEqual([area, ...expected])
    }
  })

  it.each(['all', 'theirs', 'its area'])('accepts a key of %s', async (name) => {
    const { status } = await ask(id, name === 'its area' ? areaOf(id) : name)
    expect([row.ok, 404]).toContain(status)
  })
})

/** The operations that create something with an id, and those that take such an id. */
const kinds: readonly (readonly [makes: OperationId, shows: readonly OperationId[]])[] = [
  ['personas.create', ['personas.get', 'personas.delete']],
  ['lists.create', ['lists.get', 'lists.rename']],
  ['leads.search', ['searches.get', 'searches.delete']],
  ['accounts.search', ['searches.get', 'searches.delete']],
  ['leads.extract', ['searches.get', 'searches.delete']],
  ['contacts.enrich', ['contacts.get', 'contacts.get_enrichment']],
  ['contacts.enrich_sync', ['contacts.get', 'contacts.get_enrichment']],
  ['contacts.bulk_enrich', ['contacts.get', 'contacts.get_enrichment']],
]
const inPath = ({ path }: Operation): string => /\{(\w+)\}/.exec(path)?.[1] ?? ''
const nameIn = (id: OperationId) => inPath(operation(id))

/** Creates an object and returns its ids; for a bulk enrichment also those of its contacts. */
async function made(makes: OperationId, key: string): Promise<string[]> {
  const { body } = await ask(makes, key)
  return body.match(/(?<="(?:id|enrichment_id)":")[0-9a-f-]{36}/g) ?? []
}

describe('ids in a path', () => {
  it('covers every operation that has an id in its path', () => {
    const tried = new Set(kinds.flatMap(([, shows]) => shows))
    expect([...tried].sort()).toEqual(
      operations()
        .filter((row) => inPath(row))
        .map(({ id }) => id)
        .sort(),
    )
  })

  describe.each(kinds)('created by %s', (makes, shows) => {
    it.each(shows)('%s answers an id of another workspace exactly like an unknown id', async (id) => {
      const ids = await made(makes, 'all')
      expect(ids.length).toBeGreaterThan(0)
      for (const one of ids) {
        bench.clock.advance(120_000)
        const unknown = await ask(id, 'theirs', { [nameIn(id)]: unknownId })
        bench.clock.advance(120_000)
        const theirs = await ask(id, 'theirs', { [nameIn(id)]: one })
        expect(theirs).toEqual(unknown)
        expect(theirs.status).toBe(404)
        expect((await ask(id, areaOf(id), { [nameIn(id)]: one })).status).toBe(200)
      }
    })

    it('answers an id of another kind with 404, like an unknown id', async () => {
      const others = operations().filter((row) => inPath(row) && !shows.includes(row.id))
      const [id = ''] = await made(makes, 'all')
      for (const row of others) {
        const { status, body } = await ask(row.id, 'all', { [inPath(row)]: id })
        const unknown = await ask(row.id, 'all', { [inPath(row)]: unknownId })
        expect([row.id, status, body]).toEqual([row.id, 404, unknown.body])
      }
    })
  })
})

describe('lists of a workspace', () => {
  it.each([
    ['personas.create', 'personas.list', {}],
    ['lists.create', 'lists.list', {}],
    ['leads.search', 'searches.list', { enriched: false }],
  ] as const)('shows what %s created in %s of its own workspace only', async (makes, lists, query) => {
    const [mine = ''] = await made(makes, 'all')
    const [theirs = ''] = await made(makes, 'theirs')
    const [ours, others] = [await ask(lists, 'all', query), await ask(lists, 'theirs', query)]
    expect([ours.body.includes(mine), ours.body.includes(theirs)]).toEqual([true, false])
    expect([others.body.includes(mine), others.body.includes(theirs)]).toEqual([false, true])
  })
})

describe('two workspaces', () => {
  const read = async (key: string, id: OperationId, query: Fields = {}) => {
    bench.clock.advance(60_000)
    return JSON.parse((await ask(id, key, query)).body) as Record<string, unknown>
  }
  const range = { start_date: '2026-01-01', end_date: '2027-01-01' }
  /** What both have, and what they spent. */
  const position = async () => {
    const all: number[] = []
    for (const key of ['all', 'theirs']) {
      const { credits } = await read(key, 'credits.show')
      const { credits_consumed } = await read(key, 'credits.consumption', range)
      all.push((credits as { enrichment: number }).enrichment, Number(credits_consumed))
    }
    return all
  }

  it('charges each workspace for its own calls, and shows it only its own account and spending', async () => {
    const before = await position()
    await ask('accounts.enrich', 'all')
    expect((await position()).map((now, at) => now - (before[at] ?? 0))).toEqual([-1, 1, 0, 0])
    expect(await read('theirs', 'account.show')).toMatchObject({
      account: { email: 'them@other.example' },
      workspace: { name: 'Other' },
    })
  })

  it('ignores a field that names a workspace, a member, a price or credits', async () => {
    const before = await position()
    const owned = { workspace: 'Other', workspace_id: bench.workspaceId, member: 'me@localhost' }
    const plainly = await ask('accounts.enrich', 'theirs')
    const more = { ...owned, id: 1, status: 402, price: 0, credits: 9 }
    expect(await ask('accounts.enrich', 'theirs', more)).toEqual(plainly)
    expect((await position()).map((now, at) => now - (before[at] ?? 0))).toEqual([0, 0, -2, 2])
  })
})
