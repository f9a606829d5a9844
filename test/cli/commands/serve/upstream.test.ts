import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { WantedFault } from '../../../../src/engine/admin/faults.js'
import { answering, closeAfterTest, received } from '../../../client/listeners.js'
import { served } from '../../../client/serving.js'
import { ends, type Machine, machine } from '../../../support/command.js'
import { emptySchema } from '../../../support/postgres.js'
import { loadSample } from '../../../support/sample.js'
import { ask, enrich, proxyOf, servingMachine } from '../../call/serving.js'

/** Where a proxy has its engine: in its home, or on a server. */
const places = () =>
  [
    ['its home', async () => ({ at: '', env: {} as Record<string, string> })],
    [
      'PostgreSQL',
      async () => {
        const schema = await emptySchema()
        onTestFinished(() => schema.drop())
        return { at: `--database ${schema.url}`, env: { PROSPECT_DATABASE_URL: schema.url } }
      },
    ],
  ] as const

const engine = async () => {
  const { bench, server } = closeAfterTest(await served())
  return { bench, at: { baseUrl: server.baseUrl, key: bench.key } }
}

/** Nothing is answered. */
const silent: WantedFault = { where: 'all', rules: { timeout: true } }

describe('a governed proxy', () => {
  it('gives up a server that does not answer within --timeout', async () => {
    const { bench, at } = await engine()
    await bench.admin.addFault(silent)
    expect((await enrich(await proxyOf(at, '--timeout 0.2'), 'known.example')).status).toBe(502)
  })

  it('gives up all attempts at a server that does not answer after 150 s without --timeout', async () => {
    const timeout = AbortSignal.timeout
    const limits = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => timeout.call(AbortSignal, ms === 150_000 ? 100 : ms))
    onTestFinished(() => limits.mockRestore())
    const { bench, at } = await engine()
    await bench.admin.addFault(silent)
    expect((await ask(await proxyOf(at), '/credits')).status).toBe(502)
  })

  it('records a charge once, and not again for a replay', async () => {
    const { at } = await engine()
    const proxy = await proxyOf(at)
    const once = () => enrich(proxy, 'known.example', { 'idempotency-key': 'once' })
    const [first, { status, text, headers }] = [await once(), await once()]
    expect([status, text, headers.get('idempotent-replayed')]).toEqual([200, first.text, 'true'])
    expect(await proxy.machine.json('ledger')).toMatchObject([{ credits: 1, operation: 'accounts.enrich' }])
  })

  it('records a charge that it was killed over, once its key brings the reply again', async () => {
    const { at, bench } = await engine()
    const proxy = await proxyOf(at)
    const given = { 'idempotency-key': 'killed' }
    const call = { apiKey: at.key, idempotencyKey: 'killed' }
    await bench.caller.call('accounts.enrich', { domain: 'known.example' }, call)
    for (const _ of [1, 2])
      expect((await enrich(proxy, 'known.example', given)).headers.get('idempotent-replayed')).toBe('true')
    expect(await proxy.machine.json('ledger')).toMatchObject([{ credits: 1, calls: 1 }])
  })

  it('names the server behind it in /health', async () => {
    const { at } = await engine()
    const { baseUrl } = await proxyOf(at)
    const { json } = await ask({ baseUrl: new URL(baseUrl).origin }, '/health')
    expect(json()).toMatchObject({
      status: 'ok',
      target: 'governed',
      upstream: new URL(at.baseUrl).origin,
      idempotency: 'Idempotency-Key',
    })
  })

  it('creates a workspace for its members and keys, which has no credits', async () => {
    const { bench, at } = await engine()
    const here = machine()
    closeAfterTest({ close: async () => here.remove() })
    const env = { PROSPECT_API_KEY: bench.key }
    const { stop } = await here.start(`serve --port 0 --upstream ${at.baseUrl}`, { env })
    expect((await stop()).stderr).toContain(
      'on this machine, without credits of its own: member me@localhost.',
    )
    expect(await here.json('engine status')).toMatchObject({ plan: 'own', credits: { enrichment: 0 } })
  })

  it('does not start without a key for the server', async () => {
    const { at } = await engine()
    const { machine } = closeAfterTest(await servingMachine(async () => {}))
    await ends(machine.run(`serve --port 0 --upstream ${at.baseUrl}`), 3, 'no API key')
  })
})

it("a direct proxy passes the client's key on, never its own, and refuses a request without a key first", async () => {
  const seen: unknown[] = []
  const upstream = closeAfterTest(
    await answering(async (request, response) => {
      await received(request)
      if (request.url !== '/health') seen.push(request.headers['x-api-key'])
      response.end('{}')
    }),
  )
  const { baseUrl } = await proxyOf(
    { baseUrl: `${upstream.origin}/api/v2`, key: 'ours-and-nobody-elses' },
    '--direct',
  )
  await enrich({ baseUrl, key: 'theirs-alone' }, 'x.example')
  const nobodys = await fetch(`${baseUrl}/accounts/single_enrich`, { method: 'POST', body: 'no JSON' })
  expect([nobodys.status, await nobodys.json()]).toEqual([401, { error: 'Invalid API key' }])
  expect(seen).toEqual(['theirs-alone'])
})

describe.each(places())('what the members of a governed proxy have paid for, kept in %s', (_, place) => {
  const words = '--network-name linkedin --premium-name sales_navigator'
  /** A server with its own words for fields, and a proxy in front of it with two members. */
  async function both(prepare: (here: Machine) => unknown = () => {}) {
    const server = closeAfterTest(await servingMachine(({ home }) => loadSample(home), ...words.split(' ')))
    const { at, env } = await place()
    const proxy = await proxyOf(server, `${words} ${at}`, prepare, env)
    await ends(proxy.machine.run('engine members add you@localhost', { env }), 0)
    const other = await proxy.machine.newKey('you@localhost', { env })
    const before = await server.machine.balance()
    const domain = 'acme-robotics.example'
    const spent = async () => before - (await server.machine.balance())
    const lookUp = (key = proxy.key, headers?: Readonly<Record<string, string>>, what = domain) =>
      enrich({ baseUrl: proxy.baseUrl, key }, what, headers)
    return { ...proxy, server, other, domain, at, given: env, spent, lookUp }
  }

  it('answers equal lookups of all of them, and of commands and batches there', async () => {
    const { server, machine, domain, at, given, spent, lookUp, other } = await both()
    const [first, second] = await Promise.all([lookUp(), lookUp(other)])
    const stored = [first, second].find(({ headers }) => headers.has('age'))
    expect(stored?.headers.get('cache-status')).toMatch(/^prospect; hit; detail="(me|you)@localhost"$/)
    expect(second.json()).toEqual(first.json())
    expect(first.text).toContain('linkedin_url')
    expect((await lookUp('pk_of_nobody')).status).toBe(401)
    const env = { ...given, ...server.env }
    const batch = `accounts enrich --csv - --json ${words} ${at}`
    const run = await machine.run(batch, { env, stdin: `domain\n${domain}\n` })
    expect(run.json).toMatchObject([{ domain, _source: 'reused' }])
    expect(await spent()).toBe(1)
  })

  it('is paid for once with idempotency keys, too, and the key of a request brings back its own reply', async () => {
    const { lookUp, other, spent } = await both()
    const [one, two] = [{ 'idempotency-key': 'file-1' }, { 'idempotency-key': 'file-2' }]
    const replies = [await lookUp(undefined, one), await lookUp(undefined, one), await lookUp(other, two)]
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    const isReplay = replies.map(({ headers }) => headers.get('idempotent-replayed'))
    expect(isReplay).toEqual([null, 'true', null])
    expect(replies[2]?.headers.get('cache-status')).toBe('prospect; hit; detail="me@localhost"')
    expect(await spent()).toBe(1)
  })

  it('refuses a key that was used for another lookup, whether that was answered from the store or not', async () => {
    const { server, baseUrl, lookUp, other, spent, domain } = await both()
    await server.machine.fill('companies', 'name,domain\nA,a-one.example\nB,b-two.example\n')
    for (const one of [domain, 'a-one.example']) await lookUp(undefined, {}, one)
    const before = await spent()
    for (const [key, first, second] of [
      ['stored', domain, 'a-one.example'],
      ['stored-and-not', domain, 'b-two.example'],
      ['paid', 'b-two.example', domain],
    ] as const) {
      const headers = { 'idempotency-key': key }
      expect((await lookUp(other, headers, first)).status).toBe(200)
      const reused = await lookUp(other, headers, second)
      expect([reused.status, reused.json()]).toMatchObject([409, { code: 'idempotency_key_reused' }])
      expect((await lookUp(other, headers, first)).status).toBe(200)
    }
    const [one, two] = await Promise.all(
      [domain, 'a-one.example'].map((what) => lookUp(other, { 'idempotency-key': 'at-once' }, what)),
    )
    expect([one?.status, two?.status].sort()).toEqual([200, 409])
    // A key is for one request of whatever operation.
    const accounts = [{ domain }, { domain: 'a-one.example' }]
    const several = await ask(
      { baseUrl, key: other },
      '/accounts/bulk_enrich',
      { accounts },
      { 'idempotency-key': 'stored' },
    )
    expect(several.status).toBe(409)
    expect((await spent()) - before).toBe(1)
  })

  it('leaves a request that the server refuses as it stands to the server, whatever of it is stored', async () => {
    const { baseUrl, other, server, lookUp, spent, domain, machine, given } = await both()
    await lookUp()
    // Somebody is suppressed who has nothing to do with it.
    await ends(machine.run('suppress add nobody.example', { env: given }), 0)
    const stored = { domain }
    for (const [path, body] of [
      ['/accounts/bulk_enrich', {}],
      ['/accounts/bulk_enrich', { companies: [stored, stored] }],
      ['/accounts/bulk_enrich', { accounts: [] }],
      ['/accounts/bulk_enrich', { accounts: [stored] }],
      ['/accounts/bulk_enrich', { accounts: [stored, null] }],
      ['/accounts/bulk_enrich', { accounts: [stored, domain] }],
      ['/accounts/bulk_enrich', { accounts: Array.from({ length: 101 }, () => stored) }],
      ['/leads/bulk_enrich', {}],
      ['/leads/bulk_enrich', { leads: 'text' }],
      ['/contacts/bulk_enrich', { contacts: [stored, null], enrichment_type: ['email'] }],
      ['/contacts/single_enrich', { ...stored, custom: 'text', enrichment_type: ['email'] }],
    ] as const) {
      const [at, direct] = [{ baseUrl, key: other }, server]
      const [reply, own] = await Promise.all([at, direct].map((one) => ask(one, path, body)))
      expect([path, body, reply?.status, reply?.text]).toEqual([path, body, own?.status, own?.text])
      expect(own?.status).toBeGreaterThanOrEqual(400)
    }
    expect(await spent()).toBe(1)
  })

  it('answers a request for several, item by item, in the words of the server', async () => {
    const { baseUrl, key, other, domain, server, lookUp, spent } = await both()
    await lookUp()
    await server.machine.fill('companies', 'name,domain\nA,a-one.example\nB,b-two.example\n')
    const several = async (as: string, domains: readonly string[], headers = {}) => {
      const accounts = domains.map((one) => ({ domain: one }))
      const reply = await ask({ baseUrl, key: as }, '/accounts/bulk_enrich', { accounts }, headers)
      return { ...reply, body: reply.json() as { results: Record<string, unknown>[]; credits_used?: number } }
    }
    const mixed = await several(other, [domain, 'a-one.example', 'b-two.example'])
    expect(mixed.body.results.map((one) => one.domain)).toEqual([domain, 'a-one.example', 'b-two.example'])
    const part = 'prospect; fwd=partial; detail="1"'
    expect([mixed.body.credits_used, mixed.headers.get('cache-status'), await spent()]).toEqual([2, part, 3])
    expect(mixed.body.results.map((one) => Object.hasOwn(one, 'linkedin_url'))).toEqual([true, true, true])
    for (const headers of [{}, { 'idempotency-key': 'of-a-program' }]) {
      const all = await several(key, ['b-two.example', domain], headers)
      expect(all.body.results.map((one) => one.domain)).toEqual(['b-two.example', domain])
      expect([all.headers.get('cache-status'), await spent()]).toEqual(['prospect; hit', 3])
    }
    await several(key, [domain, 'b-two.example'], { 'cache-control': 'no-cache' })
    expect(await spent()).toBe(5)
    // Under a key only what is not stored is sent, and the same again, whatever is stored by then.
    await server.machine.fill('companies', 'name,domain\nC,c-three.example\n')
    const keyed = { 'idempotency-key': 'partly' }
    const wanted = ['c-three.example', domain, 'nobody.example']
    for (const [credits, isReplay] of [
      [1, null],
      [0, 'true'],
    ] as const) {
      const { body, headers } = await several(other, wanted, keyed)
      expect([body.results.map((one) => one?.domain), body.credits_used]).toEqual([
        ['c-three.example', domain, undefined],
        credits,
      ])
      expect(headers.get('idempotent-replayed')).toBe(isReplay)
      expect(await spent()).toBe(6)
    }
    const misused = await several(other, ['nobody.example', 'a-one.example'], keyed)
    expect(misused.status).toBe(409)
    for (const [others, status] of [
      [['b-two.example', domain], 200],
      [['a-one.example', domain], 409],
      [['a-one.example', 'nobody.example'], 409],
      [[domain, 'b-two.example'], 409],
    ] as const)
      expect((await several(other, others, { 'idempotency-key': 'stored' })).status).toBe(status)
    const again = await several(other, ['b-two.example', domain], { 'idempotency-key': 'stored' })
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(await spent()).toBe(6)
    // Two spellings of one are paid once.
    await server.machine.fill('companies', 'name,domain\nD,d-four.example\nE,e-five.example\n')
    const spelled = await several(other, ['d-four.example', 'e-five.example', 'D-Four.example'])
    expect(spelled.body.results.map((one) => one?.domain)).toEqual([
      'd-four.example',
      'e-five.example',
      'd-four.example',
    ])
    expect(await spent()).toBe(8)
    await several(other, wanted, { ...keyed, 'cache-control': 'no-cache' })
    expect(await spent()).toBe(10)
  })

  it('is not paid for again where it is hidden in the answer to a request for several', async () => {
    const { baseUrl, other, server, machine, given, spent } = await both()
    await server.machine.fill(
      'companies',
      'name,domain\nFirst Robots,a-one.example\nSecond Robots,b-two.example\n',
    )
    await ends(machine.run('suppress add a-one.example', { env: given }), 0)
    const accounts = [{ name: 'First Robots' }, { name: 'Second Robots' }]
    for (const isStored of [false, true]) {
      const reply = await ask({ baseUrl, key: other }, '/accounts/bulk_enrich', { accounts })
      expect(reply.json()).toMatchObject({ results: [null, { domain: 'b-two.example' }] })
      expect(reply.headers.has('age')).toBe(isStored)
    }
    expect(await spent()).toBe(2)
    // A command of a member says which of them the team has paid for, and one without a proxy pays once, too.
    await server.machine.fill('companies', 'name,domain\nThird Robots,c-three.example\n')
    const bulk = `accounts enrich --bulk --input - --json ${words}`
    const stdin = JSON.stringify({ accounts: [...accounts, { name: 'Third Robots' }] })
    const { json, stderr } = await ends(perMember(baseUrl, other)(bulk, stdin), 0)
    expect(json).toMatchObject({
      results: [null, { domain: 'b-two.example' }, { domain: 'c-three.example' }],
    })
    expect(stderr).toMatch(/^2 of 3 were paid (a moment|\d+ s) ago, not again/)
    expect(await spent()).toBe(3)
    const direct = perMember(server.baseUrl, server.key)
    await direct('suppress add a-one.example')
    for (const _ of [1, 2])
      expect((await ends(direct(bulk, JSON.stringify({ accounts })), 0)).json).toMatchObject({
        results: [null, { domain: 'b-two.example' }],
      })
    expect(await spent()).toBe(5)
  })

  it('is asked for anew with Cache-Control: no-cache, or where it is older than max-age', async () => {
    const { lookUp, spent } = await both()
    for (const control of ['max-age=60', 'max-age=60', 'no-cache', 'max-age=0'])
      expect((await lookUp(undefined, { 'cache-control': control })).status).toBe(200)
    expect(await spent()).toBe(3)
    expect((await lookUp()).headers.get('age')).toBe('0')
  })

  it('does not answer where the setting max_age is 0', async () => {
    const { spent, lookUp } = await both((here) => here.run('config set max_age 0'))
    await lookUp()
    expect((await lookUp()).headers.has('cache-status')).toBe(false)
    expect(await spent()).toBe(2)
  })

  it('says nothing about whom the workspace suppresses since', async () => {
    const { machine, domain, given, lookUp, spent, other } = await both()
    expect((await lookUp()).status).toBe(200)
    await ends(machine.run(`suppress add ${domain}`, { env: given }), 0)
    expect((await lookUp(other)).status).toBe(404)
    expect(await spent()).toBe(1)
  })

  it('has no errors in it: what was not found is asked for again', async () => {
    const { lookUp, server, spent } = await both()
    const late = 'late-robots.example'
    expect((await lookUp(undefined, {}, late)).status).toBe(404)
    await server.machine.fill('companies', `name,domain\nLate,${late}\n`)
    expect((await lookUp(undefined, {}, late)).status).toBe(200)
    expect(await spent()).toBe(1)
  })

  it('costs the other member nothing for the same file, and their machine says where it comes from', async () => {
    const { baseUrl, key, other, domain, spent } = await both()
    const here = perMember(baseUrl, key)
    const there = perMember(baseUrl, other)
    const stdin = `domain\n${domain}\n`
    const batch = `accounts enrich --csv - --json ${words}`
    for (const one of [here, there])
      expect((await one(batch, stdin)).json).toMatchObject([{ domain, _status: 'found' }])
    expect(await spent()).toBe(1)
    const single = `accounts enrich --domain ${domain} --json ${words}`
    const reply = await perMember(baseUrl, other)(single)
    expect(reply.json).toMatchObject({ domain, _source: 'reused', _credits: 0 })
    expect(reply.stderr).toMatch(/^Paid (a moment|\d+ s) ago, not again/)
    await there(`${single} --refresh`)
    await there(`${batch} --refresh`, stdin)
    expect(await spent()).toBe(3)
  })

  it('is named as that of the team by the batch of a member, in its rows, its summary and when it is written again', async () => {
    const { baseUrl, other, domain, lookUp, server, spent } = await both()
    await server.machine.fill('companies', 'name,domain\nA,a-one.example\n')
    await lookUp()
    const there = perMember(baseUrl, other)
    const batch = `accounts enrich --csv - -o ${there.path('out.csv')} --summary-json ${there.path('sum.json')} ${words}`
    for (const isAgain of [false, true]) {
      const { stderr } = await ends(there(batch, `domain\n${domain}\na-one.example\n`), 0)
      expect(stderr).toMatch(/^1 of 2 paid for by your team, the oldest \d+ s old; --refresh asks again\.$/m)
      const rows = there.rows('out.csv')
      expect(rows.map(({ _source, _credits }) => [_source, _credits])).toEqual([
        ['reused', '0'],
        ['lookup', '1'],
      ])
      const { sources, oldest_in_store: oldest } = JSON.parse(there.read('sum.json')) as Record<
        string,
        unknown
      >
      expect([sources, isAgain]).toEqual([{ lookup: 1, reused: 1, team: 1, duplicate: 0 }, isAgain])
      expect(Date.parse(String(oldest))).toBeLessThanOrEqual(Date.now())
    }
    expect(await spent()).toBe(2)
  })
})

/** Returns commands of a member's own machine, at a proxy. */
function perMember(baseUrl: string, key: string) {
  const one = machine()
  onTestFinished(() => one.remove())
  const env = { PROSPECT_BASE_URL: baseUrl, PROSPECT_API_KEY: key }
  return Object.assign((line: string, stdin = '') => one.run(line, { env, stdin }), one)
}
