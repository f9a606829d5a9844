import { existsSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { execa } from 'execa'
import fc from 'fast-check'
import { expect } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { openapi } from '../../src/reference/openapi.js'
import { inputs, type Schema } from '../http/requests.js'
import { perTest } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'
import { random } from '../support/killed-batch.js'
import { newFolder } from '../support/new-folder.js'
import { ownServer } from '../support/postgres.js'
import { launchServer, prospect as program } from '../support/processes.js'
import { count, filled, memoryMb, openOwner, percentile, send } from './load.js'
import { grouped, isLinux, listCounts, seedOf, soak, some } from './soak.js'

const requests = some(20_000, 1_000)
const proxied = some(5_000, 500)
const attackers = 16
const members = 20
/** The largest body takes 32 MiB, the thread that parses it some times more. */
const maxMemoryMb = 1_200

/** A request that is sent as it is. */
interface Hostile {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer | undefined
  /** Whether the client leaves before the reply. */
  readonly leaves: boolean
  /** The statuses that the OpenAPI document has for it. */
  readonly documented: readonly string[]
}

type Pick = (below: number) => number

const mebibyte = 1_048_576
/** Bodies made for the parser, the validation and the memory of a server. */
const bodies: readonly ((size: number) => Buffer)[] = [
  ...casesOf<[head: string, unit: string, tail: string]>('soak/attack-bodies').map(
    (parts) => (size: number) => filled(...parts, size),
  ),
  (size) => Buffer.alloc(size, 0xff),
  (size) => Buffer.alloc(size),
]

const contentTypes = [
  'application/json',
  'text/plain',
  'application/json; charset=latin1',
  'multipart/form-data',
  '',
]
const encodings = ['gzip', 'br', 'identity', 'deflate, gzip', 'x']
const queries = '__proto__=1 constructor=1 limit=1e400 cursor=%00 page=-1 % = &&& per_page=999999'.split(' ')
const paths = [
  '/lists',
  '/job_title_suggestions',
  '/accounts/single_enrich',
  '/contacts/bulk_enrich',
  '/searches',
  '/credits',
]
/** Statuses of requests to no operation. */
const generic = ['400', '401', '404', '405', '408', '413', '415', '431', '503']
/** What a client sees that leaves, or of a body that is refused before its end. */
const unanswered = ['left', 'closed']
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE']

/** Returns a generator of hostile requests, which a seed makes again. */
async function createAttack(seed: number, keys: readonly string[]): Promise<() => Hostile> {
  const pick: Pick = random(seed)
  const one = <T>(values: readonly T[]): T => values[pick(values.length)] as T
  const schemas = (await openapi({ version: 'test' })) as {
    components: { schemas: Record<string, Schema> }
    paths: Record<string, Record<string, { responses: object }>>
  }
  const samples = Object.entries(schemas.components.schemas)
    .filter(([name]) => name.endsWith('Request'))
    .flatMap(([, schema], at) => fc.sample(inputs(schema), { seed: seed + at, numRuns: 50 }))
    .map((input) => Buffer.from(JSON.stringify(input)))
  const rows = operations()
  const sizeOf = () => {
    const kind = pick(400)
    if (kind === 0) return 31 * mebibyte + pick(2 * mebibyte)
    if (kind < 20) return pick(2 * mebibyte)
    return kind < 120 ? pick(100_000) : pick(2_000)
  }
  const damaged = (body: Buffer): Buffer => {
    const copy = Buffer.from(body)
    for (let times = pick(4); times > 0 && copy.length > 0; times--) copy[pick(copy.length)] = pick(256)
    return pick(5) === 0 ? copy.subarray(0, pick(copy.length + 1)) : copy
  }
  return () => {
    const row = one(rows)
    const isKnown = pick(10) > 0
    const method = isKnown ? row.method : one(methods)
    const isElsewhere = pick(6) === 0
    const given = isElsewhere
      ? one(paths)
      : row.path.replace(/\{\w+\}/, () => one(['x', '%00', '%', 'a%2fb', '__proto__']))
    const query = pick(4) === 0 ? `?${one(queries)}` : ''
    const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
    const body = hasBody ? (pick(2) === 0 ? damaged(one(samples)) : one(bodies)(sizeOf())) : undefined
    const headers: Record<string, string> = {
      'content-type': pick(8) === 0 ? one(contentTypes) : 'application/json',
    }
    if (pick(12) > 0) headers['x-api-key'] = pick(20) === 0 ? 'x'.repeat(1 + pick(500)) : one(keys)
    if (pick(20) === 0) headers['content-encoding'] = one(encodings)
    if (pick(10) === 0) headers['idempotency-key'] = one(['a', 'b', '"c"', 'x'.repeat(300)])
    if (pick(40) === 0) headers['x-long'] = 'x'.repeat(pick(20_000))
    if (body && pick(3) > 0) headers['content-length'] = String(body.length)
    const described = isElsewhere ? undefined : schemas.paths[row.path]?.[method.toLowerCase()]
    const documented = [
      ...Object.keys(described?.responses ?? {}),
      // A path with a value that is none is that of no operation.
      ...(described && !row.path.includes('{') ? [] : generic),
      ...(isElsewhere
        ? Object.values(schemas.paths[given] ?? {}).flatMap((of) => Object.keys(of.responses))
        : []),
    ]
    return {
      method,
      path: `/api/v2${given}${query}`,
      headers,
      body,
      leaves: pick(50) === 0,
      documented: documented.filter((status) => status !== '500'),
    }
  }
}

/** Asks for the balance every 20 ms, in a thread of its own; resolves with its delays and what went wrong. */
function observe(port: number, key: string) {
  const worker = new Worker(
    `const { parentPort, workerData: { port, key } } = require('node:worker_threads')
    let isOver = false
    parentPort.on('message', () => { isOver = true })
    const run = async () => {
      const delays = [], wrong = []
      while (!isOver) {
        const began = performance.now()
        try {
          const response = await fetch('http://127.0.0.1:' + port + '/api/v2/credits', { headers: { 'x-api-key': key } })
          await response.arrayBuffer()
          if (response.status !== 200) wrong.push(response.status)
        } catch (error) { wrong.push(String(error.cause ?? error)) }
        delays.push(performance.now() - began)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      parentPort.postMessage({ delays, wrong })
      parentPort.close()
    }
    run()`,
    { eval: true, workerData: { port, key } },
  )
  const ended = new Promise<{ delays: number[]; wrong: unknown[] }>((resolve) =>
    worker.once('message', resolve),
  )
  return () => {
    worker.postMessage('end')
    return ended
  }
}

const folder = perTest(newFolder)
const kinds = [
  { name: 'serve on SQLite', times: requests },
  { name: 'serve on PostgreSQL', times: requests, isShared: true },
  { name: 'serve --upstream', times: proxied, front: [] },
  { name: 'serve --upstream --direct', times: proxied, front: ['--direct'] },
]

for (const { name, times, isShared = false, front } of kinds)
  soak(
    'P46',
    `${name} with sample data survives hostile requests, and answers others meanwhile`,
    async () => {
      const database = isShared ? await ownServer() : undefined
      const seed = seedOf()
      const homes = { engine: folder.at('engine'), front: folder.at('front') }
      const address = database?.url ?? folder.at('engine/engine.db')
      const run = (own: string, ...args: string[]) =>
        execa(process.execPath, [program, ...args], {
          env: { PROSPECT_HOME: own, ...(database ? { PROSPECT_DATABASE_URL: address } : {}) },
        })
      const makeKeys = ({ addKeys }: Awaited<ReturnType<typeof openOwner>>) =>
        addKeys(members + 1, (at) => (at === 1 ? ['credits'] : undefined))
      const serve = (own: string, env: Record<string, string>, ...args: string[]) =>
        launchServer(program, ['serve', '--port', '0', '--json', '--quiet', ...args], folder.path, {
          PROSPECT_HOME: own,
          ...env,
        })
      const baseOf = (line = '{}') => JSON.parse(line) as { base_url: string; pid: number }
      await run(homes.engine, 'data', 'sample', '--companies', '2000', '--people', '5000')
      const owners = [await openOwner(address)]
      let [observer = '', ...keys] = await makeKeys(owners[0] as (typeof owners)[0])
      const servers = [await serve(homes.engine, {}, '--database', address)]
      if (front) {
        const upstream = ['--upstream', baseOf(servers[0]?.line).base_url, ...front]
        if (front.length === 0) {
          await run(homes.front, 'init', '--yes')
          const proxy = await openOwner(folder.at('front/engine.db'))
          owners.push(proxy)
          servers.push(await serve(homes.front, { PROSPECT_API_KEY: observer }, ...upstream))
          ;[observer = '', ...keys] = await makeKeys(proxy)
        } else servers.push(await serve(homes.front, {}, ...upstream))
      }
      const agent = new Agent({ keepAlive: true, maxSockets: attackers })
      try {
        const { base_url, pid } = baseOf(servers.at(-1)?.line)
        const port = Number(new URL(base_url).port)
        const before = memoryMb(pid)
        const next = await createAttack(seed, keys)
        const stop = observe(port, observer)
        const statuses = new Map<string, number>()
        const undocumented: string[] = []
        let left = times
        const attacker = async () => {
          while (left-- > 0) {
            const { documented, body, leaves, ...options } = next()
            const status = await send(agent, { port, ...options }, body, { lateMs: 60_000, leaves })
            count(statuses, status)
            if (![...documented, ...unanswered].includes(status))
              undocumented.push(`${status} ${options.method} ${options.path} ${body?.length}`)
          }
        }
        await Promise.all(Array.from({ length: attackers }, attacker))
        const { delays, wrong } = await stop()
        const peak = memoryMb(pid, 'VmHWM')
        await pause(some(15_000))
        const after = memoryMb(pid)
        const areAlive = servers.every(({ line }) => existsSync(`/proc/${baseOf(line).pid}`))
        const verified = await Promise.all(owners.map(({ admin }) => admin.verify()))
        const problems = verified.flatMap((one) => one.problems)
        expect([areAlive, problems, wrong, undocumented]).toEqual([true, [], [], []])
        expect(peak).toBeLessThanOrEqual(maxMemoryMb)
        return {
          tried: `${grouped(times)} requests by ${attackers} clients beside ${grouped(delays.length)} others (seed ${seed}); ${listCounts(statuses)}`,
          measured:
            `others waited at most ${Math.round(Math.max(...delays))} ms, p99 ${Math.round(percentile(delays, 0.99))} ms; ` +
            `memory ${[before, peak, after].map(Math.round).join(', ')} MB before, at most and afterwards`,
        }
      } finally {
        agent.destroy()
        for (const { stop } of servers.reverse()) await stop()
        for (const { store } of owners) await store.close()
        await database?.stop()
      }
    },
    isLinux,
  )
