import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { usualBody } from '../../src/api/operations/facts.js'
import { type Operation, operations } from '../../src/api/operations/table.js'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { requests } from '../spec/requests.js'
import { randomIds } from '../support/engine.js'
import { random } from '../support/killed-batch.js'
import { prospect, start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { found, grouped } from './findings.js'
import { seedOf, some } from './share.js'

const members = 200
const seconds = some(300, 20)
/** Each member waits that long between two requests. */
const pauseMs = 500
const maxHeldMs = 50
const mebibyte = 1_048_576

let preload: string
beforeAll(async () => {
  preload = await bundled('programs/held-loop.ts')
})

/** Repeats a unit until a body has a size, or so many units. */
const filled = (
  head: string,
  unit: string,
  tail: string,
  size: number,
  most = Number.POSITIVE_INFINITY,
): Buffer => {
  const times = Math.min(most, Math.floor((size - head.length - tail.length) / unit.length))
  const body = head + unit.repeat(times).replace(/,$/, '') + tail
  return Buffer.from(body.padStart(size))
}

/** Returns the largest bodies that an operation accepts: valid fields, and what fills them up. */
function largestBodies(row: Operation, webhookUrl: string): readonly Buffer[] {
  const { bytes, values } = row.body ?? usualBody
  const fields = Object.fromEntries(
    Object.entries({ ...requests[row.id], webhook_url: webhookUrl }).filter(
      ([name]) => !row.path.includes(`{${name}}`),
    ),
  )
  const head = `${JSON.stringify(fields).slice(0, -1)},`
  const item = (text: string) => JSON.stringify({ name: text.repeat(250), domain: 'known.example' })
  const lists =
    row.id === 'lists.create'
      ? [filled('{"name":"x","companies":[', `${item('x')},`, ']}', bytes, 100_000)]
      : row.id === 'contacts.bulk_enrich'
        ? [
            filled(
              '{"enrichment_type":["email"],"contacts":[',
              `${JSON.stringify({ firstname: 'A', lastname: 'B', domain: 'known.example', custom: { x: 'x'.repeat(10_000) } })},`,
              ']}',
              bytes,
              100,
            ),
          ]
        : []
  return [
    ...lists,
    filled(`${head}"x":[`, '{},', ']}', bytes, Math.floor(values / 2) - 100),
    filled(`${head}"x":[`, '12345678901234567890,', ']}', bytes / 8, values - 100),
    filled(`${head}"x":"`, 'é', '"}', bytes / 2),
    filled(`${head}"x":[`, `"${'x'.repeat(2 * Math.floor(bytes / values))}",`, ']}', bytes, values - 100),
  ]
}

/** The largest replies that a proxy takes: what a client asked for, and what fills it up. */
const replies: readonly Buffer[] = [
  filled('{"credits_used":1,"id":"a","x":[', '{},', ']}', 31 * mebibyte, 190_000),
  filled(
    '{"credits_used":1,"jobs":[',
    '{"job_title":"Head of Sales","company":{"name":"x"}},',
    ']}',
    15 * mebibyte,
    60_000,
  ),
  filled('{"credits_used":1,"x":"', 'é', '"}', 15 * mebibyte),
  filled('{"credits_used":1,"x":[', '12345678901234567890,', ']}', 4 * mebibyte, 100_000),
  filled('{"enrichment_id":"a","contacts":[', '{"enrichment_id":"b","status":"finished"},', ']}', mebibyte),
  Buffer.from('{"credits_used":1,"id":"a"}'),
]
const delivery = filled(
  '{"event":"account_search.completed","accounts":[',
  '{"account":{"domain":"known.example"}},',
  ']}',
  8 * mebibyte,
  5_000,
)

/** Sends a request; resolves with its status, or with why there is none. */
function send(
  port: number,
  agent: Agent,
  path: string,
  key: string,
  method: string,
  body: Buffer,
): Promise<string> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': key, 'content-length': body.length }
    const sent = httpRequest({ host: '127.0.0.1', port, agent, path, method, headers })
    sent.setTimeout(600_000, () => resolve('late'))
    // A refusal may come before all of the body is sent.
    sent.on('error', () => resolve('closed'))
    sent.on('response', (response) => {
      response.resume().on('error', () => {})
      response.on('close', () => resolve(String(response.statusCode)))
    })
    sent.end(body)
  })
}

/** Starts a server whose replies and deliveries are as large as may be, and which takes what is forwarded. */
async function startUpstream(): Promise<Server> {
  let count = 0
  const server = createServer((request, response) => {
    let hook: string | undefined
    request.on('data', (chunk: Buffer) => {
      hook ??= /"webhook_url":"http:\/\/127\.0\.0\.1:(\d+\/[^"]*hooks[^"]*)"/.exec(
        chunk.toString('latin1'),
      )?.[1]
    })
    request.on('end', () => {
      const path = request.url ?? ''
      if (!path.startsWith('/api')) return response.end('{}')
      response.end(replies[count++ % replies.length])
      if (hook === undefined || count % 5 > 0) return
      const [port = '', ...rest] = hook.split('/')
      void send(Number(port), new Agent(), `/${rest.join('/')}`, '', 'POST', delivery)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

it.runIf(process.platform === 'linux').each([
  ['serve', 'Free'],
  ['serve', 'Scale'],
  ['a proxy', 'Free'],
])('P46: the largest bodies hold the event loop of %s at most 50 ms (plan %s)', async (name, plan) => {
  const home = mkdtempSync(join(tmpdir(), 'prospect-bodies-'))
  const seed = seedOf()
  const store = await openEngineDatabase(join(home, 'engine.db'))
  const admin = createAdmin({ store, clock: { now: Date.now }, ids: randomIds })
  await admin.init()
  await admin.setPlan(plan)
  await admin.setCredits(1_000_000)
  const keys: string[] = []
  for (let at = 0; at < members; at++) {
    const { email } = await admin.addMember({ email: `m${at}@localhost` })
    keys.push((await admin.createKey({ member: email })).key)
  }
  const upstream = await startUpstream()
  const file = join(home, 'held')
  Object.assign(process.env, {
    PROSPECT_HOME: home,
    PROSPECT_API_KEY: 'key_of_the_upstream',
    PROSPECT_TEST_HELD_LOOP: file,
    PROSPECT_BASE_URL: `http://127.0.0.1:${portOf(upstream)}/api/v2`,
  })
  const proxy = [
    '--upstream',
    `http://127.0.0.1:${portOf(upstream)}/api/v2`,
    '--public-url',
    'http://127.0.0.1:4999',
  ]
  const args = [
    'serve',
    '--port',
    name === 'serve' ? '0' : '4999',
    '--json',
    '--no-worker',
    '--allow-target',
    '127.0.0.1',
  ]
  const server = start('--import', preload, prospect, ...args, ...(name === 'serve' ? [] : proxy))
  const agent = new Agent({ keepAlive: true, maxSockets: members })
  try {
    while (server.lines.length === 0) await pause(20)
    const { base_url } = JSON.parse(server.lines[0] ?? '{}') as { base_url: string }
    const port = Number(new URL(base_url).port)
    const hook = `http://127.0.0.1:${portOf(upstream)}/in`
    const bodies = operations()
      .filter(({ method }) => method === 'POST')
      .flatMap((row) => largestBodies(row, hook).map((body) => ({ row, body })))
    const pick = random(seed)
    const statuses = new Map<string, number>()
    const ask = async (key: string) => {
      const { row, body } = bodies[pick(bodies.length)] as (typeof bodies)[number]
      const path = `/api/v2${row.path.replace(/\{\w+\}/g, 'x')}`
      const status = await send(port, agent, path, key, row.method, body)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    // What is compiled once is compiled before.
    for (const { row, body } of bodies)
      await send(port, agent, `/api/v2${row.path.replace(/\{\w+\}/g, 'x')}`, keys[0] ?? '', row.method, body)
    server.child.kill('SIGUSR2')
    const until = performance.now() + seconds * 1_000
    await Promise.all(
      keys.map(async (key) => {
        while (performance.now() < until) {
          await ask(key)
          await pause(pauseMs)
        }
      }),
    )
    server.child.kill('SIGTERM')
    await server.ended
    const { heldMs, queriesMs, delayMs } = JSON.parse(readFileSync(file, 'utf8'))
    const all = [...statuses.values()].reduce((sum, count) => sum + count, 0)
    const counts = [...statuses].sort().map(([status, count]) => `${status}: ${count}`)
    found({
      promise: 'P46',
      tried: `${grouped(all)} requests with the largest bodies by ${members} members in ${seconds} s to ${name} (plan ${plan}, seed ${seed}); ${counts.join(', ')}`,
      lost: `${statuses.get('500') ?? 0} answers 500`,
      measured: `the event loop was held ${Math.round(heldMs)} ms at most (processor time without queries, at most ${maxHeldMs}); its queries took up to ${Math.round(queriesMs)} ms; longest delay ${Math.round(delayMs)} ms`,
    })
    expect([statuses.get('500'), statuses.get('late')]).toEqual([undefined, undefined])
    expect(heldMs).toBeLessThanOrEqual(maxHeldMs)
  } finally {
    agent.destroy()
    server.child.kill('SIGTERM')
    await server.ended
    upstream.closeAllConnections()
    upstream.close()
    await store.close()
    for (const variable of ['PROSPECT_API_KEY', 'PROSPECT_BASE_URL', 'PROSPECT_TEST_HELD_LOOP'])
      delete process.env[variable]
    rmSync(home, { recursive: true })
  }
})
