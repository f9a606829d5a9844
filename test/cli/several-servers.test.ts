import { describe, expect, it } from 'vitest'
import { handler } from '../../src/http/handler.js'
import { listen } from '../../src/http/listen.js'
import { answering, closeAfterTest, freePort, received } from '../client/listeners.js'
import { served } from '../client/serving.js'
import { ends, errorOf, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { proxyOf } from './call/serving.js'

const here = perTest(machine)
const one = perTest(served)

/** Another server over the same engine. */
async function another() {
  const serve = handler({ caller: one.bench.caller, version: 'test', document: async () => ({}) })
  return closeAfterTest(await listen({ handler: serve, host: '127.0.0.1', port: 0 }))
}

/** A server that notes the key of each request, and accepts any. */
async function noting(port = 0) {
  const keys: string[] = []
  const listener = await answering(
    async (request, response) => {
      const { body } = await received(request)
      if (request.url !== '/health') keys.push(String(request.headers['x-api-key']))
      const contact = { enrichment_id: 'e', status: 'finished', email: null, credits_used: 0 }
      const isSync = request.url?.startsWith('/v2/') === true
      response.end(JSON.stringify(isSync && body ? contact : { credits: { enrichment: 7 }, account: {} }))
    },
    { port },
  )
  return Object.assign(closeAfterTest(listener), { keys })
}

const gone = async () => `http://127.0.0.1:${await freePort()}/api/v2`
const login = (addresses: string, key = one.bench.key) =>
  here.run(`login --base-url ${addresses} --api-key-stdin`, { stdin: key })

describe('login at several servers', () => {
  it('tries the key at each, stores it for the first and says which answered', async () => {
    const two = await another()
    const dead = await gone()
    const { code, json, stderr } = await login(`${one.server.baseUrl},${two.baseUrl},${dead}`)
    expect([code, json]).toEqual([
      0,
      {
        origin: one.server.origin,
        stored: true,
        credits: 1_000,
        servers: [
          { base_url: one.server.baseUrl, answered: true, error: null },
          { base_url: two.baseUrl, answered: true, error: null },
          { base_url: dead, answered: false, error: expect.stringContaining('refused the connection') },
        ],
      },
    ])
    expect(stderr).toContain(`${two.baseUrl} accepts the key.\n`)
    expect(stderr).toContain(`${dead} did not answer (`)
    expect(JSON.parse(here.read('credentials.json')).keys).toEqual({
      [one.server.origin]: expect.objectContaining({ origins: [two.origin, new URL(dead).origin] }),
    })
  })

  it('stores no key that one of them refuses, or that the first could not try', async () => {
    const other = closeAfterTest(await served())
    await ends(
      login(`${one.server.baseUrl},${other.server.baseUrl}`),
      3,
      `${other.server.baseUrl}: Invalid API key.`,
      'not stored',
    )
    const { code } = await login(`${await gone()},${one.server.baseUrl}`)
    expect([code, here.exists('credentials.json')]).toEqual([10, false])
  })

  it('chooses all of them for later commands, as init does', async () => {
    const two = await another()
    const addresses = `${one.server.baseUrl},${two.baseUrl}`
    const init = await here.run(`init --base-url ${addresses} --api-key-stdin`, { stdin: one.bench.key })
    expect(init.json).toMatchObject({
      base_url: addresses,
      servers: [{ answered: true }, { answered: true }],
    })
    expect(await here.json('config get base_url')).toBe(addresses)
    await one.server.close()
    expect((await here.run('accounts enrich --domain known.example')).code).toBe(0)
    expect((await login(addresses)).code).toBe(10)
    await here.run('config unset base_url')
    const again = await login(`${two.baseUrl},${await gone()}`)
    expect(again.stderr).toContain(`prospect config set base_url ${two.baseUrl},`)
  })
})

describe('the key of several servers', () => {
  it('that is stored for one goes to no other, however they are given', async () => {
    const [first, other] = [await noting(), await noting()]
    await login(first.baseUrl, 'key-of-the-first')
    await first.close()
    const addresses = `${first.baseUrl},${other.baseUrl}`
    for (const [line, env] of [
      [`credits --base-url ${addresses}`, {}],
      ['credits', { PROSPECT_BASE_URL: addresses }],
      [`credits --direct --base-url ${addresses}`, {}],
    ] as const) {
      const ended = await here.run(`${line} --json`, { env })
      expect([ended.code, errorOf(ended)]).toMatchObject([
        3,
        {
          error: `The API key that is stored for ${first.origin} is not for ${other.origin}, too.`,
          hint: `If both serve the same database: prospect login --base-url ${addresses}`,
        },
      ])
    }
    expect(other.keys).toEqual([])
  })

  it('that is stored for all of them, or for the first of a profile that has them, goes to each', async () => {
    // A login chooses its servers for the profile where nothing else was set up.
    await here.setUp()
    const [first, other] = [await noting(), await noting()]
    const addresses = `${first.baseUrl},${other.baseUrl}`
    await login(addresses, 'key-of-both')
    await here.json(`profiles add team --base-url ${addresses}`)
    await first.close()
    other.keys.splice(0)
    expect((await here.run(`credits --base-url ${addresses}`)).code).toBe(0)
    expect((await here.run(`credits --profile team`)).code).toBe(0)
    expect(new Set(other.keys)).toEqual(new Set(['key-of-both']))
    // A login at the first alone takes the others back, but not from the profile.
    const back = await noting(first.port)
    await login(back.baseUrl, 'key-of-one')
    await back.close()
    expect((await here.run(`credits --base-url ${addresses}`)).code).toBe(3)
    expect((await here.run('credits --profile team')).code).toBe(0)
    expect(other.keys.at(-1)).toBe('key-of-one')
  })

  it('of the environment goes to those that the environment names, where it names some', async () => {
    const [first, other] = [await noting(), await noting()]
    const addresses = `${first.baseUrl},${other.baseUrl}`
    await first.close()
    const run = (line: string, address: string) =>
      here.run(line, { env: { PROSPECT_API_KEY: 'key-of-env', PROSPECT_BASE_URL: address } })
    expect((await run(`credits --base-url ${addresses}`, first.baseUrl)).code).toBe(3)
    expect(other.keys).toEqual([])
    expect((await run('credits', addresses)).code).toBe(0)
    expect((await run(`credits --base-url ${other.baseUrl}`, addresses)).code).toBe(0)
    expect(other.keys).toEqual(['key-of-env', 'key-of-env'])
  })

  it('goes to the synchronous addresses of the same servers, and never to others', async () => {
    const [first, second, other] = [await noting(), await noting(), await noting()]
    const addresses = `${first.baseUrl},${second.baseUrl}`
    const line =
      'contacts waterfall --sync --profile team --network-url https://www.network.example/in/a --enrichment-type email'
    const env = { PROSPECT_API_KEY: 'key-of-both' }
    await here.json(`profiles add team --base-url ${addresses}`)
    await here.json(`config set sync_base_url ${second.origin}/v2,${first.origin}/v2 --profile team`)
    await second.close()
    expect((await here.run(line, { env })).code).toBe(9)
    expect(first.keys).toEqual(['key-of-both'])
    await here.json(`config set sync_base_url ${first.origin}/v2,${other.origin}/v2 --profile team`)
    const refused = await here.run(line, { env })
    expect([refused.code, other.keys, first.keys.length]).toEqual([3, [], 1])
  })
})

describe('doctor at several servers', () => {
  const run = (addresses: string) =>
    here.run(`doctor --json --base-url ${addresses}`, { env: { PROSPECT_API_KEY: one.bench.key } })
  const serverLines = (stdout: string) =>
    (JSON.parse(stdout) as { checks: { name: string; status: string; text: string }[] }).checks
      .filter(({ name }) => name === 'server')
      .map(({ status, text }) => `${status} ${text}`)

  it('reports on each, and warns of one that is dead while another one answers', async () => {
    const two = await another()
    const dead = await gone()
    const { code, stdout } = await run(`${dead},${one.server.baseUrl},${two.baseUrl}`)
    expect(code).toBe(0)
    const lines = serverLines(stdout)
    expect(lines).toEqual([
      expect.stringContaining(`warning ${dead} cannot be reached: `),
      ...[one.server, two].flatMap(({ baseUrl }) => [
        `ok ${baseUrl} is reached.`,
        expect.stringContaining(`ok ${baseUrl} accepts the key; 1,000 credits are left.`),
      ]),
    ])
  })

  it('has a problem with each where none is reached, with a key that one refuses, and with other databases', async () => {
    const dead = [await gone(), await gone()]
    const none = await run(dead.join())
    expect([none.code, serverLines(none.stdout)]).toEqual([
      13,
      dead.map((url) => expect.stringContaining(`problem ${url} cannot be reached`)),
    ])
    const other = closeAfterTest(await served())
    const refused = await run(`${one.server.baseUrl},${other.server.baseUrl}`)
    expect(refused.code).toBe(13)
    expect(serverLines(refused.stdout).at(-1)).toContain(
      `problem GET /credits is refused at ${other.server.baseUrl} with 401`,
    )
    const elsewhere = await answering((request, response) =>
      response.end(
        request.url?.endsWith('/account')
          ? '{"account":{"email":"a@b.example"},"workspace":{"id":"another"},"integrations":{}}'
          : '{"credits":{"enrichment":3},"limits":{}}',
      ),
    )
    closeAfterTest(elsewhere)
    const { code, stdout } = await run(`${one.server.baseUrl},${elsewhere.baseUrl}`)
    expect([code, stdout]).toEqual([13, expect.stringContaining('answer for different workspaces')])
  })
})

describe('a proxy in front of several servers', () => {
  it('asks the next one where one is gone', async () => {
    const two = await another()
    const addresses = `${await gone()},${two.baseUrl}`
    const proxy = await proxyOf({ baseUrl: addresses, key: one.bench.key })
    const answer = await fetch(`${proxy.baseUrl}/accounts/single_enrich`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': proxy.key },
      body: '{"domain":"known.example"}',
    })
    expect([answer.status, await one.bench.balance()]).toEqual([200, 999])
  })
})
