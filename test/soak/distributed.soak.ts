import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Cluster, openCluster, type Working } from '../support/distributed.js'
import { type OwnServer, ownServer } from '../support/postgres.js'
import { prospect } from '../support/processes.js'
import { found, grouped, secondsSince } from './findings.js'
import { some } from './share.js'

const rows = some(100_000)

let server: OwnServer
let cluster: Cluster

beforeEach(async () => {
  server = await ownServer()
})

afterEach(async () => {
  await cluster.remove()
  await server.stop()
})

/** One row in seven repeats one before it, one in eleven is in no catalogue. */
const domainOf = (row: number): string => {
  if (row % 7 === 6) return domainOf(row >> 1)
  return row % 11 === 5 ? `unknown-${row}.example` : `company-${row}.example`
}
const isKnown = (domain: string): boolean => domain.startsWith('company-')

const enrich = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--distribute', '--quiet']

async function charged(share: number, price: number): Promise<void> {
  while ((await cluster.charges()) < share * price) await pause(100)
}

/** The run, again until the lock of the one that was killed is free. */
async function resumed() {
  for (;;) {
    const ended = await cluster.run(...enrich)
    if (ended.exitCode !== 15) return ended
    await pause(1_000)
  }
}

it('P19: 100,000 rows on three workers are complete, though two workers and the command are killed', async () => {
  const domains = Array.from({ length: rows }, (_, row) => domainOf(row))
  const known = [...new Set(domains.filter(isKnown))]
  const price = known.length
  cluster = await openCluster(prospect, server, known)
  cluster.write('in.csv', `Website\n${domains.join('\n')}\n`)
  const began = performance.now()
  const workers: Working[] = []
  for (let at = 0; at < 3; at++) workers.push(await cluster.worker())
  const first = cluster.start(enrich)
  await charged(0.2, price)
  await workers[0]?.end('SIGKILL')
  await charged(0.4, price)
  first.kill('SIGKILL')
  await first
  const going = resumed()
  await charged(0.6, price)
  await workers[1]?.end('SIGKILL')
  workers.push(await cluster.worker())
  const { exitCode, stderr } = await going
  expect([exitCode, stderr]).toEqual([0, ''])
  const measured = secondsSince(began)
  const out = cluster.rows('out.csv')
  expect(out.map(({ Website }) => Website)).toEqual(domains)
  for (const { Website = '', domain, _status } of out)
    expect([domain, _status]).toEqual(isKnown(Website) ? [Website, 'found'] : ['', 'not_found'])
  const told = out.reduce((sum, { _credits }) => sum + Number(_credits), 0)
  const [ledger] = await server.sql("SELECT sum(amount) AS paid FROM movements WHERE kind = 'charge'")
  expect([told, Number(ledger?.paid)]).toEqual([price, price])
  expect(await cluster.json('engine', 'ledger', 'verify')).toMatchObject({ ok: true, problems: [] })
  expect(await server.sql('SELECT id FROM chunks')).toEqual([])
  found({
    promise: 'P19',
    tried: `${grouped(rows)} rows on 3 workers of a shared database, 2 of them killed, and the command once`,
    lost: '0 rows lost, 0 doubled; the ledger is the price of each company found, once',
    measured: `${grouped(price)} credits; ${measured}`,
  })
})

/** A server that answers each lookup after a while, and counts what it was paid. */
async function slowServer(ms: number) {
  const keys = new Set<string>()
  let [underWay, most] = [0, 0]
  const listening = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => {
      body += part.toString()
    })
    request.on('end', async () => {
      most = Math.max(most, ++underWay)
      await pause(ms)
      underWay--
      const { domain } = JSON.parse(body || '{}') as { domain?: string }
      // Whether it honours keys is asked for without one.
      const key = request.headers['idempotency-key']
      if (typeof key === 'string') keys.add(key)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ id: domain, name: domain, domain }))
    })
  })
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(listening.address() as AddressInfo).port}/api/v2`,
    keys,
    most: () => most,
    close: () => {
      listening.closeAllConnections()
      listening.close()
    },
  }
}

/** Of one worker. */
const callsAtOnce = 4

it('two workers share the calls to a server that answers after 20 ms', async () => {
  cluster = await openCluster(prospect, server, [])
  const behind = await slowServer(20)
  const lookups = 4_000
  const seconds: number[] = []
  const working: Working[] = []
  for (const workers of [1, 2]) {
    working.push(await cluster.worker('--upstream', behind.baseUrl, '--calls', String(callsAtOnce)))
    const domains = Array.from({ length: lookups }, (_, row) => `company-${row}-of-${workers}.example`)
    cluster.write('in.csv', `Website\n${domains.join('\n')}\n`)
    const began = performance.now()
    const { exitCode, stderr } = await cluster.run(...enrich, '--base-url', behind.baseUrl)
    expect([exitCode, stderr]).toEqual([0, ''])
    seconds.push((performance.now() - began) / 1_000)
    const out = cluster.rows('out.csv')
    expect(out.map(({ domain }) => domain)).toEqual(domains)
  }
  expect(behind.keys.size).toBe(2 * lookups)
  expect(behind.most()).toBeLessThanOrEqual(2 * callsAtOnce)
  behind.close()
  const [one = 0, two = 1] = seconds
  found({
    promise: 'P19',
    tried: `${grouped(lookups)} lookups of a server that takes 20 ms, ${callsAtOnce} calls at once for each worker`,
    lost: '0 rows lost, 0 sent twice under different keys',
    measured: `${one.toFixed(1)} s with one worker, ${two.toFixed(1)} s with two: ${(one / two).toFixed(2)} times as fast`,
  })
  process.stdout.write(`one worker ${one.toFixed(1)} s, two ${two.toFixed(1)} s: ${(one / two).toFixed(2)}\n`)
})
