import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ConnectionLost, type Input, type Reply } from '../../src/api/calls/caller.js'
import { type OperationId, operation } from '../../src/api/operations/table.js'
import { type RecentRequest, RecentRequests } from '../../src/client/recent-requests.js'
import type { RemoteOptions } from '../../src/client/remote.js'
import { tries } from '../support/effort.js'
import { TestClock } from '../support/engine.js'
import { casesOf, rowsOf } from '../support/fixtures.js'
import { answers, closeAfterTest, received, socksProxy } from './listeners.js'
import { remoteTo } from './serving.js'
import { numbersFrom, strayServer } from './stray-server.js'

const honoured = { idempotency: 'Idempotency-Key' }
const acme = { domain: 'acme.example', name: 'Acme', network_url: 'https://www.linkedin.com/company/acme' }

const seed = Number(process.env.PROSPECT_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

/** Calls for companies, 100 at once; every tenth is asked for by a subdomain. Returns how many were answered how. */
async function enrichMany(baseUrl: string, calls: number) {
  let suspect = 0
  const remote = closeAfterTest(remoteTo(baseUrl, { timeoutMs: 60_000 }))
  const counts = { own: 0, others: 0, unknown: 0 }
  const numbers = Array.from({ length: calls }, (_, n) => n).values()
  const work = async () => {
    for (const n of numbers) {
      const domain = `${n % 10 === 0 ? 'shop.' : ''}northwind${n}.example`
      const reply = await remote
        .call('accounts.enrich', { domain }, { onSuspect: () => suspect++ })
        .catch((error: unknown) => error as ConnectionLost)
      if (reply instanceof ConnectionLost) {
        // It was out on a connection that was closed for the answer to another call.
        expect([reply.unknown, reply.message]).toEqual([true, expect.stringMatching(/confused the answers/)])
        counts.unknown++
        continue
      }
      const { domain: found } = reply.body as { domain?: unknown }
      if (reply.status === 200) counts[found === `northwind${n}.example` ? 'own' : 'others']++
      else {
        expect(reply).toMatchObject({ status: 502, unknown: true, isSuspect: true, credits: 0 })
        counts.unknown++
      }
    }
  }
  await Promise.all(Array.from({ length: 100 }, work))
  return { ...counts, suspect }
}

describe(`a server that sends surplus answers (seed ${seed})`, () => {
  it.each([
    ['honours no keys: what is suspect is unknown', false],
    ['honours keys: what is suspect is asked for again', true],
  ])('never gives a call the company of another one, where it %s', async (_, knowsKeys) => {
    const server = await strayServer({ seed, nth: 10, knowsKeys })
    const calls = tries(1_000, 3_000)
    const { own, others, unknown, suspect } = await enrichMany(server.baseUrl, calls)
    expect([others, own + unknown]).toEqual([0, calls])
    // A connection with a surplus answer is not used again.
    expect(server.connections()).toBeGreaterThan(server.strays() / 4)
    expect(suspect).toBeGreaterThan(0)
    // A call is sent four times at most, and any of its answers can be suspect.
    if (knowsKeys) expect(unknown).toBeLessThan(calls / 250)
    else expect(unknown).toBeGreaterThan(0)
  })
})

it.each([
  ['does not take the answer to another request for a denial of idempotency keys', [acme, honoured], true],
  ['asks once more about idempotency keys when the connection is lost', [undefined, honoured], true],
  ['believes a server that denies idempotency keys twice', [{}, {}, honoured], false],
])('%s', async (_, said, honours) => {
  const left = said.values()
  const server = await answers((request, response) => {
    const answer = left.next().value
    if (answer) response.end(JSON.stringify(answer))
    else request.socket.destroy()
  })
  const remote = closeAfterTest(remoteTo(server.baseUrl))
  expect(await remote.supportsIdempotency()).toBe(honours)
})

it('does not take the answer about idempotency keys for that to a call', async () => {
  const late = new WeakMap<Socket, ServerResponse>()
  const stray = JSON.stringify(acme)
  const server = await answers(async (request, response) => {
    const { body } = await received(request)
    if (request.url === '/health') {
      late.set(request.socket, response)
      return request.socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${stray.length}\r\n\r\n${stray}`)
    }
    late.get(request.socket)?.end('{}')
    return response.end(body)
  })
  const remote = closeAfterTest(remoteTo(server.baseUrl))
  expect(await remote.supportsIdempotency()).toBe(false)
  const { body } = await remote.call('accounts.enrich', { domain: 'globex.example' })
  expect(body).toMatchObject({ domain: 'globex.example' })
})

it(`notices surplus answers behind a SOCKS proxy, too (seed ${seed})`, async () => {
  const server = await strayServer({ seed, nth: 3 })
  const { port } = closeAfterTest(await socksProxy(server.port))
  const env = { http_proxy: `socks5://127.0.0.1:${port}` }
  const baseUrl = server.baseUrl.replace('127.0.0.1', 'api.example')
  const remote = closeAfterTest(remoteTo(baseUrl, { env, timeoutMs: 60_000 }))
  let suspect = 0
  for (const domain of Array.from({ length: 100 }, (_, n) => `northwind${n}.example`)) {
    const reply = await remote.call('accounts.enrich', { domain }, { onSuspect: () => suspect++ })
    if (reply.status === 200) expect(reply.body).toMatchObject({ domain })
    else expect(reply).toMatchObject({ status: 502, isSuspect: true })
  }
  expect(suspect).toBeGreaterThan(0)
})

/** A server that answers each request as a function says, and a remote to it. */
async function answeringWith(
  answer: (asked: Input, url: string) => unknown,
  options: Partial<RemoteOptions> = {},
) {
  const server = await answers(async (request, response) => {
    const { body } = await received(request)
    response.end(JSON.stringify(answer(JSON.parse(body || '{}'), request.url ?? '')))
  })
  return closeAfterTest(remoteTo(server.baseUrl, { timeoutMs: 60_000, ...options }))
}

/** A request, and whom the server says it is about. */
type Exchange = readonly [OperationId, Input, answer: object]

const statusesOf = async (exchanges: readonly Exchange[]): Promise<Reply['status'][]> => {
  const answers = exchanges.map(([, , answer]) => answer).values()
  const remote = await answeringWith((_, url) => (url === '/health' ? {} : answers.next().value))
  const statuses: number[] = []
  for (const [id, input] of exchanges) statuses.push((await remote.call(id, input)).status)
  return statuses
}

describe('the answer to a request', () => {
  it.each(casesOf<[string, Exchange, Exchange]>('client/stray-answers/refused'))(
    'is refused when it has the %s of another request of the last 10 seconds',
    async (_, first, second) => {
      expect(await statusesOf([first, second])).toEqual([200, 502])
    },
  )

  it.each(casesOf<[string, ...exchanges: Exchange[]]>('client/stray-answers/accepted'))(
    'is accepted for the same one in another spelling: %s',
    async (_, ...exchanges) => {
      expect(await statusesOf(exchanges)).toEqual(exchanges.map(() => 200))
    },
  )
})

describe('a request that ended', () => {
  /** Asks for one company, then after a time for another one, and gets the first one both times. */
  async function afterwards(ms: number): Promise<Reply['status']> {
    const clock = new TestClock()
    const remote = await answeringWith((_, url) => (url === '/health' ? {} : acme), { clock })
    await remote.call('accounts.enrich', { domain: 'acme.example' })
    clock.advance(ms)
    return (await remote.call('accounts.enrich', { domain: 'northwind.example' })).status
  }

  it('contradicts an answer for 10 seconds, and not later, even if no other request ended meanwhile', async () => {
    expect(await Promise.all([0, 9_000, 10_001, 60_000].map(afterwards))).toEqual([502, 502, 200, 200])
  })

  it('contradicts none for as long as the clock was set back', async () => {
    expect(await Promise.all([-1_000, -3_600_000].map(afterwards))).toEqual([502, 200])
  })

  it('is forgotten first where there are too many, and then those that have been under way for longest', () => {
    const clock = new TestClock()
    const recent = new RecentRequests(() => clock.now())
    const row = operation('accounts.enrich')
    const begin = (at: number) => recent.begin(row, { domain: `company${at}.example` }) as RecentRequest
    const ask = begin(0)
    const isRemembered = (at: number) =>
      recent.isOfAnother(ask, { domain: `company${at}.example` }, undefined)
    for (let at = 1; at <= 10; at++) recent.end(begin(at))
    for (let at = 11; at <= 70_000; at++) begin(at)
    // None of the others ends.
    expect([1, 10, 11, 4_000].map(isRemembered)).toEqual([false, false, false, false])
    expect([5_000, 70_000].map(isRemembered)).toEqual([true, true])
    // The items of bulk requests count one by one.
    const bulk = operation('accounts.bulk_enrich')
    const items = (from: number) =>
      Array.from({ length: 1_000 }, (_, at) => ({ domain: `bulk${from + at}.example` }))
    for (let at = 0; at < 66; at++) recent.begin(bulk, { accounts: items(at * 1_000) })
    expect(isRemembered(70_000)).toBe(false)
    begin(70_001)
    expect(isRemembered(70_001)).toBe(true)
  })
})

it('is never doubted where a real company is asked for by name as lists write it, and by its domain at once', () => {
  const row = operation('accounts.enrich')
  const doubted = realCompanies().flatMap(({ name, domain, written }) =>
    written.filter((one) => {
      const recent = new RecentRequests(() => 0)
      recent.begin(row, { domain })
      const asked = recent.begin(row, { name: one }) as RecentRequest
      return !recent.fits(asked, { name, domain }) && recent.isOfAnother(asked, { name, domain }, undefined)
    }),
  )
  expect(doubted).toEqual([])
})

interface Company {
  readonly name: string
  readonly domain: string
  /** Its name as lists write it. */
  readonly written: readonly string[]
}

/** Returns the real companies of the fixtures. Those without a known domain get one. */
function realCompanies(): Company[] {
  const brands = rowsOf('brands/brands.tsv').map(([name = '', domain = '']) => ({
    name,
    domain,
    written: [],
  }))
  const rows = rowsOf('company-names/written.tsv')
  const named = Map.groupBy(rows, ([, name = '']) => name)
  const companies = [...named].map(([name, all], at) => ({
    name,
    domain: all.find((row) => row[4])?.[4] ?? `company${at}.example`,
    written: all.map(([written = '']) => written),
  }))
  return [...brands, ...companies]
}

const profileOf = ({ domain }: Company) => `https://www.linkedin.com/company/${domain.replaceAll('.', '-')}`

/** How people ask for a company. */
const spellingsOf = (company: Company): Input[] => {
  const { name, domain, written } = company
  const names = [name, name.toUpperCase(), ...written]
  const domains = [domain, `https://www.${domain}/`, `info@${domain}`, domain.toUpperCase(), `shop.${domain}`]
  return [
    ...names.map((one) => ({ name: one })),
    ...domains.map((one) => ({ domain: one })),
    { name: written[0] ?? name, domain },
    { company_network_url: profileOf(company).replace('https://www.', '') },
  ]
}

it(`P62: at most 1 correct answer in 10,000 is suspect where real companies are asked for as lists write them (seed ${seed})`, async () => {
  const calls = tries(1_000, 3_000)
  const random = numbersFrom(seed)
  const shuffled = <T>(all: readonly T[]): T[] =>
    all
      .map((one) => ({ one, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ one }) => one)
  const asked = shuffled(realCompanies())
    .flatMap((company) =>
      shuffled(spellingsOf(company))
        .slice(0, 4)
        .map((input) => ({ company, input })),
    )
    .slice(0, calls)
  expect(asked).toHaveLength(calls)
  const found = new Map(asked.map(({ company, input }) => [JSON.stringify(input), company]))
  const remote = await answeringWith((input) => {
    const company = found.get(JSON.stringify(input))
    return company ? { name: company.name, domain: company.domain, network_url: profileOf(company) } : {}
  })
  const suspect: Input[] = []
  const left = shuffled(asked).values()
  const work = async () => {
    for (const { input } of left) {
      const { status, isSuspect } = await remote.call('accounts.enrich', input)
      if (isSuspect) suspect.push(input)
      else expect(status).toBe(200)
    }
  }
  await Promise.all(Array.from({ length: 100 }, work))
  expect(suspect.length, JSON.stringify(suspect)).toBeLessThanOrEqual(1)
})
