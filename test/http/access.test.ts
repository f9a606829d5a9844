import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hasBody } from '../../src/api/operations/facts.js'
import { areaOf, type Operation, type OperationId, operations } from '../../src/api/operations/table.js'
import { handler } from '../../src/http/handler.js'
import { type Fields, requests, unknownId } from '../spec/requests.js'
import { type Bench, openBench } from '../support/engine.js'

const base = 'http://127.0.0.1:4010/api/v2'
const rows = operations().map((row) => [row.id, row] as const)
const areas = [...new Set(operations().map(({ id }) => areaOf(id)))]

let bench: Bench
let serve: (request: Request) => Promise<Response>
/** API keys by their defect, or by the area of their scope. */
const keys = new Map<string, string | undefined>([
  ['missing', undefined],
  ['empty', ''],
  ['malformed', 'pk_x'],
  ['unknown', `pk_${'0'.repeat(38)}`],
])

interface Seen {
  readonly status: number
  readonly body: string
  readonly headers: Record<string, string>
}

async function ask(row: Operation, key: string | undefined, more: Fields = {}): Promise<Seen> {
  const { method, path } = row
  const headers = new Headers({ 'content-type': 'application/json' })
  if (key !== undefined) headers.set('x-api-key', key)
  const input = { ...requests[row.id], ...more }
  const url = base + path.replace(/\{(\w+)\}/, (_, name: string) => String(input[name]))
  const rest = Object.entries(input).filter(([name]) => !path.includes(`{${name}}`))
  const query = new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]))
  const request = hasBody(row)
    ? new Request(url, { method, headers, body: JSON.stringify(input) })
    : new Request(`${url}?${query}`, { method, headers })
  const response = await serve(request)
  return {
    status: response.status,
    body: await response.text(),
    headers: Object.fromEntries(response.headers),
  }
}

beforeAll(async () => {
  bench = await openBench()
  const { admin } = bench
  serve = handler({ caller: bench.caller, version: 'test', document: async () => ({}) })
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
afterAll(() => bench.caller.close())
// All rate windows end before the next request.
beforeEach(() => bench.clock.advance(120_000))

describe.each(rows)('%s', (id, row) => {
  it.each(['missing', 'empty', 'malformed', 'unknown', 'revoked', 'expired'])(
    'refuses a key that is %s with the same 401 as a missing key',
    async (name) => {
      const first = await ask(row, keys.get('missing'))
      const seen = await ask(row, keys.get(name))
      expect(seen.status).toBe(401)
      expect(seen.body).toBe('{"error":"Invalid API key"}')
      expect(seen).toEqual(first)
    },
  )

  it('refuses a key of any other scope with 403', async () => {
    for (const area of areas.filter((one) => one !== areaOf(id))) {
      bench.clock.advance(120_000)
      const { status, body } = await ask(row, keys.get(area))
      expect([area, status, Object.keys(JSON.parse(body))]).toEqual([area, 403, ['error']])
    }
  })

  it.each(['all', 'theirs', 'its area'])('accepts a key of %s', async (name) => {
    const { status } = await ask(row, keys.get(name === 'its area' ? areaOf(id) : name))
    expect([row.unavailable ? 422 : row.ok, 404]).toContain(status)
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
const rowOf = (id: OperationId): Operation => rows.find(([one]) => one === id)?.[1] as Operation
const inPath = ({ path }: Operation): string => /\{(\w+)\}/.exec(path)?.[1] ?? ''

/** Creates an object and returns its ids; for a bulk enrichment also those of its contacts. */
async function made(makes: OperationId, key: string | undefined): Promise<string[]> {
  const { body } = await ask(rowOf(makes), key)
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
      const row = rowOf(id)
      const ids = await made(makes, keys.get('all'))
      expect(ids.length).toBeGreaterThan(0)
      for (const one of ids) {
        bench.clock.advance(120_000)
        const unknown = await ask(row, keys.get('theirs'), { [inPath(row)]: unknownId })
        bench.clock.advance(120_000)
        const theirs = await ask(row, keys.get('theirs'), { [inPath(row)]: one })
        expect(theirs).toEqual(unknown)
        expect(theirs.status).toBe(404)
        expect((await ask(row, keys.get(areaOf(id)), { [inPath(row)]: one })).status).toBe(200)
      }
    })

    it('answers an id of another kind with 404, like an unknown id', async () => {
      const others = operations().filter((row) => inPath(row) && !shows.includes(row.id))
      const [id = ''] = await made(makes, keys.get('all'))
      for (const row of others) {
        const { status, body } = await ask(row, keys.get('all'), { [inPath(row)]: id })
        const unknown = await ask(row, keys.get('all'), { [inPath(row)]: unknownId })
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
    const [mine = ''] = await made(makes, keys.get('all'))
    const [theirs = ''] = await made(makes, keys.get('theirs'))
    const [ours, others] = [
      await ask(rowOf(lists), keys.get('all'), query),
      await ask(rowOf(lists), keys.get('theirs'), query),
    ]
    expect([ours.body.includes(mine), ours.body.includes(theirs)]).toEqual([true, false])
    expect([others.body.includes(mine), others.body.includes(theirs)]).toEqual([false, true])
  })
})

describe('two workspaces', () => {
  const enrich = (key: string | undefined, domain: string, more = {}) => {
    const headers = new Headers({ 'content-type': 'application/json', 'x-api-key': key ?? '' })
    const body = JSON.stringify({ domain, ...more })
    return serve(new Request(`${base}/accounts/single_enrich`, { method: 'POST', headers, body }))
  }
  const read = async (key: string | undefined, path: string) =>
    await (await serve(new Request(base + path, { headers: { 'x-api-key': key ?? '' } }))).json()
  const balance = async (key: string | undefined) =>
    ((await read(key, '/credits')) as { credits: { enrichment: number } }).credits.enrichment

  it('charges each workspace for its own calls, and shows it only its own account and spending', async () => {
    const [mine, theirs] = [keys.get('all'), keys.get('theirs')]
    const before = [await balance(mine), await balance(theirs)]
    await enrich(mine, 'known.example')
    expect([await balance(mine), await balance(theirs)]).toEqual([(before[0] ?? 0) - 1, before[1]])
    expect(await read(theirs, '/account')).toMatchObject({
      account: { email: 'them@other.example' },
      workspace: { name: 'Other' },
    })
    const range = '/credits_consumption?start_date=2026-01-01&end_date=2027-01-01'
    const spent = [await read(mine, range), await read(theirs, range)] as { credits_consumed: number }[]
    await enrich(mine, 'known-b.example')
    bench.clock.advance(60_000)
    const now = [await read(mine, range), await read(theirs, range)] as { credits_consumed: number }[]
    expect(now.map((one, at) => one.credits_consumed - (spent[at]?.credits_consumed ?? 0))).toEqual([1, 0])
  })

  it('ignores a field that names a workspace, a member, a price or credits', async () => {
    const [mine, theirs] = [keys.get('all'), keys.get('theirs')]
    const before = [await balance(mine), await balance(theirs)]
    const owned = { workspace: 'Other', workspace_id: bench.workspaceId, member: 'me@localhost' }
    const plainly = await (await enrich(theirs, 'known.example')).json()
    const hopefully = await enrich(theirs, 'known.example', {
      ...owned,
      id: 1,
      status: 402,
      price: 0,
      credits: 9,
    })
    expect(await hopefully.json()).toEqual(plainly)
    expect([await balance(mine), await balance(theirs)]).toEqual([before[0], (before[1] ?? 0) - 2])
  })
})
