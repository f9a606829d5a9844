import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { ConnectionLost } from '../../../src/api/calls/caller.js'
import { answers, closeAfterTest, answering as listening, received } from '../../client/listeners.js'
import { served } from '../../client/serving.js'
import { answering, ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { openBench } from '../../support/engine.js'
import { launch, prospect } from '../../support/processes.js'
import { until } from '../../support/until.js'
import { ask, enrich, proxyOf, serves } from './serving.js'

const here = perTest(machine)

const companies = 'name,domain\nAcme,acme.example\nBolt,bolt.example\n'
const people = 'full_name,email,company_domain\nAnn Lee,ann@acme.example,acme.example\n'

/** Fills the catalogue. */
async function prepare(): Promise<void> {
  await here.fill('companies', companies)
  await here.fill('people', people)
}
/** Returns what commands cost, one after the other. */
async function costs(...lines: readonly string[]): Promise<number[]> {
  const spent: number[] = []
  for (const line of lines) {
    const before = await here.balance()
    await ends(here.run(line), 0)
    spent.push(before - (await here.balance()))
  }
  return spent
}
const acme = 'accounts enrich --domain acme.example'

/** Returns the address of what passes requests on to a server, and does not say what that is. */
async function silentAbout({ baseUrl }: { readonly baseUrl: string }): Promise<string> {
  const front = await answers(async (request, response) => {
    const { body } = await received(request)
    const { 'x-api-key': key = '', 'idempotency-key': once, accept = '' } = request.headers
    const headers = { 'x-api-key': String(key), accept, 'content-type': 'application/json' }
    const sent = {
      method: request.method ?? 'GET',
      headers: { ...headers, ...(once && { 'idempotency-key': String(once) }) },
    }
    const isHealth = request.url?.endsWith('/health') === true
    const reply = isHealth
      ? new Response('', { status: 503 })
      : await fetch(new URL(request.url ?? '', baseUrl), { ...sent, ...(body === '' ? {} : { body }) })
    response.writeHead(reply.status, { 'content-type': 'application/json' })
    response.end(await reply.text())
  })
  return front.baseUrl
}

describe('a single lookup', () => {
  it('is paid for once, in any spelling of the same company, and prints the same', async () => {
    await prepare()
    const spelled = 'accounts enrich --domain https://www.ACME.example/about'
    expect(await costs(acme, acme, spelled)).toEqual([1, 0, 0])
    const again = await here.run(acme)
    expect(again.stderr).toMatch(/^Paid (a moment|\d+ s) ago, not again; --refresh asks again\.\n$/)
    expect(again.json).toMatchObject({ domain: 'acme.example', _source: 'reused', _credits: 0 })
    expect((await here.run(`${acme} --quiet --format csv`)).stdout).not.toContain('_source')
    expect(await costs(`${acme} --no-live`)).toEqual([1])
  })

  it('of a waterfall is paid for once, with --wait, --sync, in a file, and where only its id is printed', async () => {
    await prepare()
    const ann =
      'contacts waterfall --first-name Ann --last-name Lee --domain acme.example --enrichment-type email'
    expect(await costs(`${ann} --wait`, `${ann} --wait`, `${ann} --sync`, ann)).toEqual([3, 0, 0, 0])
    const again = await here.run(`${ann} --wait`)
    expect(again.stderr).toMatch(/^Paid (a moment|\d+ s) ago, not again; --refresh asks again\.\n$/)
    expect(again.json).toMatchObject({ email: 'ann@acme.example', _source: 'reused', _credits: 0 })
    expect(await here.json(`${ann} --wait --dry-run`)).toMatchObject({ in_store: true, price: { max: 0 } })
    here.write('ann.csv', 'first_name,last_name,domain\nAnn,Lee,acme.example\n')
    const file = 'contacts waterfall --csv ann.csv --enrichment-type email -o found.csv'
    expect(await costs(file, `${ann} --wait --refresh`, ann)).toEqual([0, 3, 0])
    expect(await costs(`${ann} --idempotency-key mine`, `${ann} --wait`)).toEqual([3, 0])
  })

  it('is paid for again with --refresh, with a max_age of 0, and with an idempotency key of its own', async () => {
    await prepare()
    const own = `${acme} --idempotency-key mine`
    expect(await costs(acme, `${acme} --refresh`, `${acme} --max-age 0`, own)).toEqual([1, 1, 1, 1])
    await here.run('config set max_age 0')
    expect(await costs(acme, `${acme} --max-age 1d`)).toEqual([1, 0])
  })

  it('takes what was paid for in the last 30 days, and older answers as far as max_age says', async () => {
    const caller = answering({ body: { name: 'Acme', domain: 'acme.example' }, credits: 1 })
    const at = (days: number) => ({ caller, clock: { now: () => Date.now() + days * 86_400_000 } })
    await ends(here.run(acme, at(0)), 0)
    expect((await here.run(acme, at(29))).stderr).toBe('Paid 29 days ago, not again; --refresh asks again.\n')
    expect((await here.run(`${acme} --max-age 60d`, at(31))).stderr).toContain('Paid 31 days ago')
    expect((await here.run(acme, at(31))).stderr).toBe('')
    expect(caller.asked).toHaveLength(2)
  })

  it('shares its answers with batches, both ways', async () => {
    await prepare()
    const both = 'accounts enrich --csv - --json'
    const bolt = 'accounts enrich --domain bolt.example'
    const before = await here.balance()
    await here.run(acme)
    const { json } = await here.run(both, { stdin: companies })
    expect(json).toMatchObject([
      { domain: 'acme.example', _source: 'reused', _credits: 0 },
      { domain: 'bolt.example', _source: 'lookup', _credits: 1 },
    ])
    await here.run(bolt)
    expect(before - (await here.balance())).toBe(2)
    expect(await here.json('runs list')).toHaveLength(1)
  })

  it.each([
    ['leads enrich', '--first-name Ann --last-name Lee --domain acme.example', 1],
    ['contacts reverse-lookup', '--email ann@acme.example', 1],
    [
      'contacts waterfall --enrichment-type email',
      '--sync --first-name Ann --last-name Lee --domain acme.example',
      3,
    ],
  ])('takes the answer that a batch paid for: %s', async (words, fields, price) => {
    await prepare()
    const stdin = 'first_name,last_name,domain,email\nAnn,Lee,acme.example,ann@acme.example\n'
    const before = await here.balance()
    await ends(here.run(`${words} --csv -`, { stdin }), 0)
    expect(before - (await here.balance())).toBe(price)
    expect(await costs(`${words} ${fields}`)).toEqual([0])
  })

  it('is paid for once also in a request for several, item by item', async () => {
    await prepare()
    const several = (...domains: readonly string[]) => ({
      stdin: JSON.stringify({ accounts: domains.map((domain) => ({ domain })) }),
    })
    const bulk = 'accounts enrich --bulk --input - --json'
    const ask = async (...domains: readonly string[]) => {
      const before = await here.balance()
      const { json, stderr } = await ends(here.run(bulk, several(...domains)), 0)
      const { results } = json as { results: ({ domain: string } | null)[] }
      return { found: results.map((one) => one?.domain), cost: before - (await here.balance()), stderr }
    }
    expect(await ask('bolt.example', 'nobody.example')).toMatchObject({
      found: ['bolt.example', undefined],
      cost: 1,
    })
    expect(await ask('acme.example', 'bolt.example')).toEqual({
      found: ['acme.example', 'bolt.example'],
      cost: 1,
      stderr: expect.stringMatching(/^1 of 2 were paid .* ago, not again; --refresh asks again\.$/m),
    })
    expect(await ask('bolt.example', 'acme.example', 'bolt.example')).toEqual({
      found: ['bolt.example', 'acme.example', 'bolt.example'],
      cost: 0,
      stderr: expect.stringMatching(/^Paid .* ago, not again; --refresh asks again\.$/m),
    })
    const quote = await here.run(`${bulk} --dry-run`, several('acme.example', 'bolt.example'))
    expect(quote.json).toMatchObject({ in_store: true })
    expect(await costs(acme)).toEqual([0])
    await ends(here.run(`${bulk} --refresh`, several('acme.example', 'bolt.example')), 0)
  })

  it('has its cost on record before its answer is stored, so that a kill in between loses neither', async () => {
    await prepare()
    await here.run('ledger')
    const state = new Database(here.path('state.db'))
    state.exec(`CREATE TRIGGER too_early BEFORE UPDATE OF body ON lookups
      WHEN (SELECT coalesce(sum(credits), 0) FROM spending) = 0 BEGIN SELECT RAISE(ABORT, 'stored first'); END`)
    state.close()
    const { stderr } = await ends(here.run(acme), 0)
    expect(stderr).toBe('')
    expect(await costs(acme)).toEqual([0])
  })

  it('sends what was not found again, since that costs nothing', async () => {
    await prepare()
    const late = 'accounts enrich --domain late.example'
    expect((await here.run(late)).code).toBe(9)
    await here.fill('companies', 'name,domain\nLate,late.example\n')
    expect((await here.run(late)).code).toBe(0)
  })

  it('is sent again after an import, which may have changed its answer', async () => {
    await prepare()
    expect(await costs(acme, acme)).toEqual([1, 0])
    await here.fill('companies', 'name,domain\nAcme Inc,acme.example\n')
    expect(await costs(acme, acme)).toEqual([1, 0])
    expect(await here.json(acme)).toMatchObject({ name: 'Acme Inc' })
  })

  it('says with --dry-run that the answer is stored, and costs nothing', async () => {
    await prepare()
    const quote = `${acme} --dry-run`
    expect(await here.json(quote)).toMatchObject({ price: { min: 0, max: 1 } })
    await here.run(acme)
    expect(await here.json(quote)).toMatchObject({ in_store: true, price: { min: 0, max: 0 } })
    expect(await here.json(`${quote} --refresh`)).toMatchObject({ price: { min: 0, max: 1 } })
  })

  it('takes a stored answer although no budget is left, and asks nothing', async () => {
    await prepare()
    await here.run(acme)
    await here.run('engine credits set 0')
    expect((await here.run(`${acme} --max-credits 0`)).code).toBe(0)
  })

  it('is forgotten with the person, and purged by its age', async () => {
    await prepare()
    await here.run('contacts reverse-lookup --email ann@acme.example')
    await here.run(acme)
    expect(await here.json('data purge --older-than 1d')).toMatchObject({ runs: 0, answers: 0 })
    const forgotten = await here.json<{ state: object }>('data forget ann@acme.example --yes')
    expect(forgotten).toMatchObject({ state: { answers: 1 } })
    expect(await costs(acme)).toEqual([0])
    expect(await here.json('data purge --older-than 0s')).toMatchObject({ runs: 0, answers: 2 })
    expect(await costs(acme)).toEqual([1])
  })
})

it('a governed proxy pays once for a company that two members and a batch beside it ask for at the same time', async () => {
  const server = await serves(0, 20)
  const proxy = await proxyOf(server, '', async (one) => {
    await one.run('engine members add you@localhost')
  })
  const key = await proxy.machine.newKey('you@localhost')
  const ask = async (one: string, at: number) =>
    (await enrich({ ...proxy, key: one }, `${at % 2 ? 'www.' : ''}robots-${at}.example`)).status
  const before = await server.machine.balance()
  const stdin = `domain\n${Array.from({ length: 20 }, (_, at) => `robots-${19 - at}.example`).join('\n')}\n`
  const [batch, ...statuses] = await Promise.all([
    proxy.machine.run('accounts enrich --csv - --quiet', { env: server.env, stdin }),
    ...Array.from({ length: 20 }, (_, at) => [ask(proxy.key, at), ask(key, at)]).flat(),
  ])
  expect([batch.code, [...new Set(statuses)]]).toEqual([0, [200]])
  expect(before - (await server.machine.balance())).toBe(20)
})

it('a governed proxy pays once for equal items of requests for several that members send in the same moment', async () => {
  const server = await serves(0, 4)
  await ends(server.machine.run('engine faults add all --delay 0.2s'), 0)
  const proxy = await proxyOf(server, '', async (one) => {
    await one.run('engine members add you@localhost')
  })
  const other = { baseUrl: proxy.baseUrl, key: await proxy.machine.newKey('you@localhost') }
  const before = await server.machine.balance()
  const several = async (at: Parameters<typeof ask>[0], numbers: readonly number[], key?: string) => {
    const accounts = numbers.map((number) => ({ domain: `robots-${number}.example` }))
    const headers = key === undefined ? undefined : { 'idempotency-key': key }
    const { status, json } = await ask(at, '/accounts/bulk_enrich', { accounts }, headers)
    const { results } = json<{ results: ({ domain: string } | null)[] }>()
    return [status, results.map((one) => one?.domain)]
  }
  const found = (...numbers: readonly number[]) => [200, numbers.map((number) => `robots-${number}.example`)]
  expect(
    await Promise.all([
      several(proxy, [0, 1]),
      several(other, [1, 0], 'own'),
      several(other, [0, 1, 2]),
      enrich(proxy, 'robots-2.example').then(({ status }) => status),
    ]),
  ).toEqual([found(0, 1), found(1, 0), found(0, 1, 2), 200])
  expect(before - (await server.machine.balance())).toBe(3)
  expect(await several(proxy, [3, 3, 3])).toEqual(found(3, 3, 3))
  const state = new Database(proxy.machine.path('state.db'))
  expect(state.prepare("SELECT count(*) FROM lookups WHERE state <> 'found'").pluck().get()).toBe(0)
  state.close()
})

it('an answer that is hidden because it is about somebody suppressed is paid for once, and nothing of it is stored', async () => {
  const server = await serves(0, 0)
  const header = 'first_name,last_name,email,title,company_domain,network_profile_url'
  const url = 'https://www.network.example/in/hidden-ann'
  await server.machine.fill('people', `${header}\nAnn,Lee,ann@acme.example,CTO,acme.example,${url}\n`)
  const run = (line: string, stdin?: string) =>
    here.run(line, { env: server.env, ...(stdin === undefined ? {} : { stdin }) })
  const before = await server.machine.balance()
  const spent = async () => before - (await server.machine.balance())
  await ends(run('suppress add ann@acme.example'), 0)
  const lookups = [
    ['leads enrich --first-name Ann --last-name Lee --domain acme.example', 1],
    [`contacts waterfall --sync --enrichment-type email --network-url ${url}`, 3],
  ] as const
  let paid = 0
  for (const [line, price] of lookups) {
    paid += price
    const first = await run(line)
    expect([first.code, first.stderr]).toEqual([
      9,
      expect.stringContaining(`The server charged ${price} credit`),
    ])
    const again = await run(line)
    expect(again.code).toBe(9)
    expect(again.stderr).toMatch(/^Paid (a moment|\d+ s) ago, not again; --refresh asks again\.\n/)
    expect(again.stderr).toContain('about somebody who is suppressed')
    expect(again.stderr).not.toContain('charged 1')
    expect(await spent()).toBe(paid)
  }
  const state = readFileSync(here.path('state.db')).toString('latin1')
  const log = here.exists('state.db-wal') ? readFileSync(here.path('state.db-wal')).toString('latin1') : ''
  expect(state + log).not.toContain('"email":"ann@acme.example"')
  const stdin = 'first_name,last_name,domain\nAnn,Lee,acme.example\n'
  const file = await ends(run('leads enrich --csv - --json', stdin), 0)
  expect(file.json).toMatchObject([{ _status: 'suppressed', _credits: 0 }])
  expect(await spent()).toBe(paid)
  await run(`${lookups[0][0]} --refresh`)
  expect(await spent()).toBe(paid + 1)
})

it('a governed proxy pays once for a file of contacts that two members look up, also where it does not say what it is', async () => {
  const server = await serves(0, 0)
  const people = Array.from({ length: 5 }, (_, at) => `Ann,Lee${at},ann${at}@acme.example,acme.example`)
  await server.machine.fill('people', ['first_name,last_name,email,company_domain', ...people, ''].join('\n'))
  const proxy = await proxyOf(server, '', async (one) => {
    await one.run('engine members add you@localhost')
  })
  const other = await proxy.machine.newKey('you@localhost')
  // As while it is starting.
  const silent = await silentAbout(proxy)
  const stdin = `first_name,last_name,domain\n${people.map((line) => line.replace(/,[^,]*@[^,]*/, '')).join('\n')}\n`
  const before = await server.machine.balance()
  for (const [key, baseUrl] of [
    [proxy.key, silent],
    [other, proxy.baseUrl],
  ] as const) {
    const member = machine()
    const env = { PROSPECT_BASE_URL: baseUrl, PROSPECT_API_KEY: key }
    const { json } = await ends(
      member.run('contacts waterfall --enrichment-type email --csv - --json --yes', { env, stdin }),
      0,
    )
    member.remove()
    expect((json as { email: string }[]).map(({ email }) => email)).toEqual(
      people.map((_, at) => `ann${at}@acme.example`),
    )
  }
  expect(before - (await server.machine.balance())).toBe(15)
  expect(await proxy.machine.json('ledger --by member')).toMatchObject([
    { member: 'me@localhost', credits: 15 },
  ])
})

it('is not sent where a batch has sent it together with others, and whether it was charged is not known', async () => {
  const asked: string[] = []
  const { origin } = closeAfterTest(
    await listening(async (request, response) => {
      await request.resume().toArray()
      const url = request.url ?? ''
      const isBulk = url.endsWith('/contacts/bulk_enrich')
      if (request.method === 'POST') asked.push(url.replace('/api/v2', ''))
      const contact = { enrichment_id: 'e1', status: 'finished', email: 'ann0@acme.example', credits_used: 3 }
      response.writeHead(isBulk ? 500 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isBulk ? { error: 'Internal server error' } : contact))
    }),
  )
  const env = { PROSPECT_BASE_URL: `${origin}/api/v2`, PROSPECT_API_KEY: 'key' }
  const stdin = 'first_name,last_name,company_domain\nAnn,Lee,acme.example\nBo,Day,acme.example\n'
  const waterfall = 'contacts waterfall --enrichment-type email'
  await here.run(`${waterfall} --csv - --yes -o out.csv`, { env, stdin })
  expect(here.rows('out.csv').map(({ _error }) => _error)).toEqual(['outcome_unknown', 'outcome_unknown'])
  const sent = asked.length
  const ann = `${waterfall} --first-name Ann --last-name Lee --domain acme.example --sync --json`
  const refused = await here.run(ann, { env })
  expect(JSON.parse(refused.stderr)).toMatchObject({ code: 'outcome_unknown', exit_code: 10 })
  expect(asked).toHaveLength(sent)
  await ends(here.run(`${ann} --refresh`, { env }), 0)
  expect(asked).toHaveLength(sent + 1)
})

it('is not the answer of another item where a server answers a request for several in another order', async () => {
  const named = (domain: string) => ({ id: domain, name: `Company ${domain}`, domain })
  const { origin } = closeAfterTest(
    await listening(async (request, response) => {
      const text = Buffer.concat(await request.toArray()).toString()
      const { accounts, domain } = JSON.parse(text || '{}') as Partial<Record<string, never>> & {
        accounts?: { domain: string }[]
        domain?: string
      }
      const body = accounts
        ? { results: accounts.map((one) => named(one.domain)).reverse(), credits_used: accounts.length }
        : named(domain ?? '')
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }),
  )
  const env = { PROSPECT_BASE_URL: `${origin}/api/v2`, PROSPECT_API_KEY: 'key' }
  const domains = ['a-one.example', 'b-two.example', 'c-three.example']
  const stdin = JSON.stringify({ accounts: domains.map((domain) => ({ domain })) })
  await ends(here.run('accounts enrich --bulk --input - --json', { env, stdin }), 0)
  const found = await Promise.all(
    domains.map((domain) => here.run(`accounts enrich ${domain} --json`, { env })),
  )
  expect(found.map(({ json }) => (json as { domain: string }).domain)).toEqual(domains)
})

describe('equal lookups', () => {
  const argv = `${acme} --json`
  const found = { body: { name: 'Acme', domain: 'acme.example' }, credits: 1 }

  const reused = { ...found.body, _credits: 0, _source: 'reused' }

  /** A target that keeps its answers until they are released. */
  function held() {
    const asked = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const caller = answering(async () => {
      asked.resolve()
      await released.promise
      return found
    })
    return { caller, isAsked: asked.promise, release: released.resolve }
  }

  it('are sent once when another command has one of them under way', async () => {
    const { caller, isAsked, release } = held()
    const first = here.run(argv, { caller })
    await isAsked
    const other = answering(found)
    const second = await here.run(argv, { caller: other, sleep: async () => release() })
    release()
    expect([(await first).json, second.json]).toEqual([found.body, reused])
    expect([caller.asked.length, other.asked.length]).toEqual([1, 0])
  })

  it('are sent once when a batch has one of them under way', async () => {
    const { caller, isAsked, release } = held()
    const csv = 'accounts enrich --csv - --json --concurrency 1'
    const batch = here.run(csv, { caller, stdin: 'domain\nacme.example\nwww.acme.example\n' })
    await isAsked
    const waits: string[] = []
    const single = here.run(argv, {
      caller,
      sleep: async () => {
        if (waits.push('') === 25) release()
      },
      onErrorOutput: (text) => waits.push(text),
    })
    expect([(await single).code, JSON.parse((await single).stdout), (await batch).code]).toEqual([
      0,
      reused,
      0,
    ])
    expect(waits.join('')).toContain('An equal lookup is under way in another command')
    expect(caller.asked).toHaveLength(1)
  })

  it('are sent once when a batch begins beside a single one, while another batch is under way', async () => {
    const [other, single, second] = [held(), held(), answering(found)]
    const csv = 'accounts enrich --csv - --json'
    const first = here.run(csv, { caller: other.caller, stdin: 'domain\nbolt.example\n' })
    await other.isAsked
    const asked = here.run(`${acme} --json`, { caller: single.caller })
    await single.isAsked
    const sleep = async () => single.release()
    const batch = here.run(csv, { caller: second, sleep, stdin: 'domain\nacme.example\n' })
    expect([(await batch).json, (await asked).json]).toMatchObject([
      [{ _credits: 0, _source: 'reused', _status: 'found' }],
      found.body,
    ])
    other.release()
    expect([(await first).code, single.caller.asked.length, second.asked.length]).toEqual([0, 1, 0])
  })

  it('are sent beside a batch with --refresh and --max-age 0, and where the batch asks for others', async () => {
    const { caller, isAsked, release } = held()
    const csv = 'accounts enrich --csv - --quiet'
    const batch = here.run(csv, { caller, stdin: 'domain\nacme.example\n' })
    await isAsked
    const target = answering(found)
    for (const more of ['--refresh', '--max-age 0', '--no-live'])
      await ends(here.run(`${acme} ${more}`, { caller: target }), 0)
    release()
    expect([(await batch).code, target.asked.length]).toEqual([0, 3])
  })

  it('of other workspaces are paid for by each, as far as their keys tell', async () => {
    const target = answering(found)
    const csv = 'accounts enrich --csv in.csv -o out.csv --quiet'
    here.write('in.csv', 'domain\nacme.example\n')
    for (const key of ['of-one-workspace', 'of-another-one', 'of-one-workspace']) {
      const given = { env: { PROSPECT_API_KEY: key }, caller: target }
      for (const line of [csv, argv]) await ends(here.run(line, given), 0)
    }
    expect(target.asked).toHaveLength(2)
  })

  it('have the same idempotency key until an answer is stored, and cost nothing from then on', async () => {
    let isKilled = true
    const caller = answering(async () => {
      if (isKilled) throw new ConnectionLost('cut', true)
      return { body: found.body, headers: { 'idempotent-replayed': 'true' }, replayed: 1 }
    })
    const run = () => here.run(argv, { caller })
    expect((await run()).code).toBe(10)
    isKilled = false
    expect([(await run()).code, (await run()).code]).toEqual([0, 0])
    const keys = caller.asked.map(({ options }) => options.idempotencyKey)
    expect(keys).toEqual([expect.any(String), keys[0]])
  })

  it('are paid once by the engine of this machine when the first one is killed before its answer is stored', async () => {
    const bench = await openBench()
    let isKilled = true
    const caller = answering(async (...call) => {
      const reply = await bench.caller.call(...call)
      if (isKilled) throw new Error('killed')
      return reply
    })
    const known = 'accounts enrich --domain known.example'
    const run = () => here.run(known, { env: { PROSPECT_API_KEY: bench.key }, caller })
    expect((await run()).code).toBe(1)
    isKilled = false
    expect([(await run()).code, (await run()).code, await bench.balance()]).toEqual([0, 0, 999])
    await bench.caller.close()
  })

  it('are paid again when the answer lacks what credits cut off', async () => {
    const caller = answering({
      body: { total_jobs: 9, truncated: true, jobs: [{ job_title: 'x' }] },
      credits: 1,
    })
    const hiring = 'accounts hiring --company-domain acme.example'
    for (const _ of [1, 2]) await here.run(hiring, { caller })
    expect(caller.asked).toHaveLength(2)
  })
})

describe('equal lookups of which one is killed', () => {
  const there = perTest(served)
  const asked: unknown[] = []
  let release = () => {}

  beforeEach(() => {
    const released = Promise.withResolvers<void>()
    release = released.resolve
    asked.length = 0
    there.bench.source.before = ({ domain }) => {
      asked.push(domain)
      return released.promise
    }
    for (const name of ['acme', 'bolt']) here.write(`${name}.csv`, `domain\nknown-${name}.example\n`)
  })

  /** Starts a lookup of the server, which answers once that is released. */
  const start = (...argv: string[]) =>
    launch(prospect, ['accounts', 'enrich', ...argv], here.home, {
      PROSPECT_HOME: here.home,
      PROSPECT_BASE_URL: there.server.baseUrl,
      PROSPECT_API_KEY: there.bench.key,
    })
  const single = () => start('--domain', 'known-acme.example')
  const batchOf = (name: string) => start('--csv', `${name}.csv`, '-o', `${name}.out.csv`, '--yes')

  it('are paid for once: a single one goes on with the key of the batch that it waited for', async () => {
    const killed = batchOf('acme')
    await until(() => asked.length === 1)
    const waiting = single()
    let said = ''
    waiting.stderr.on('data', (text) => {
      said += text
    })
    await until(() => said.includes('An equal lookup is under way in another command'))
    killed.kill('SIGKILL')
    expect((await killed).signal).toBe('SIGKILL')
    release()
    expect([(await waiting).exitCode, (await batchOf('acme')).exitCode]).toEqual([0, 0])
    expect([asked, await there.bench.balance()]).toEqual([['known-acme.example'], 999])
  })

  it('are paid for once: a batch goes on with the key of the single one that it waited for', async () => {
    const other = batchOf('bolt')
    await until(() => asked.length === 1)
    const killed = single()
    await until(() => asked.length === 2)
    const run = batchOf('acme')
    killed.kill('SIGKILL')
    expect((await killed).signal).toBe('SIGKILL')
    release()
    expect([(await run).exitCode, (await other).exitCode]).toEqual([0, 0])
    expect([asked.length, await there.bench.balance()]).toEqual([2, 998])
  })

  it('are sent again with the key of a killed one, too, when a batch has come between them', async () => {
    const killed = single()
    await until(() => asked.length === 1)
    killed.kill('SIGKILL')
    await killed
    const other = batchOf('bolt')
    await until(() => asked.length === 2)
    release()
    expect([(await single()).exitCode, (await other).exitCode]).toEqual([0, 0])
    expect([asked.length, await there.bench.balance()]).toEqual([2, 998])
  })
})
