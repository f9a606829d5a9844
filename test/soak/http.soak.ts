import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
// @ts-expect-error it has no declarations
import autocannon from 'autocannon'
import { beforeAll, expect } from 'vitest'
import { alphabet, isKey, makeKey } from '../../src/engine/request/access.js'
import { machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { openBench, randomIds } from '../support/engine.js'
import { random } from '../support/killed-batch.js'
import { prospect, serving } from '../support/processes.js'
import { memoryMb, percentile } from './load.js'
import { grouped, isLinux, type Report, seedOf, soak, some } from './soak.js'

const here = perFile(machine)
beforeAll(async () => {
  await here.json('init')
  await here.json('engine', 'credits', 'set', '100000000')
})

/** Welch's t of two samples. */
function welch(one: readonly number[], other: readonly number[]): number {
  const [a, b] = [one, other].map((values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
    return { mean, error: variance / values.length }
  }) as [{ mean: number; error: number }, { mean: number; error: number }]
  return (a.mean - b.mean) / Math.sqrt(a.error + b.error)
}

/** Without the slowest, which are those of the machine: what is measured takes microseconds. */
const cropped = (values: readonly number[]): number[] =>
  [...values].sort((one, other) => one - other).slice(0, Math.floor(values.length * 0.95))

soak('P29', 'the duration of a refusal does not reveal how similar a key is to a valid one', async () => {
  const samples = some(20_000, 2_000)
  const bench = await openBench()
  const seed = seedOf()
  const pick = random(seed)
  const bodyOf = (key: string) => Uint8Array.from(key.slice(3, 35), (letter) => alphabet.indexOf(letter))
  const near = (body: Uint8Array): string => {
    const bytes = Uint8Array.from(body)
    bytes[31] = ((bytes[31] ?? 0) + 1 + pick(61)) % 62
    return makeKey({ ...randomIds, bytes: () => bytes })
  }
  // A key that comes for the first time takes longer than one that came before: both kinds come as often. Of many keys,
  // since the letters of one may take a little longer than those of another.
  const member = (await bench.admin.keys())[0]?.member ?? ''
  const good: Uint8Array[] = []
  for (let at = 0; at < 100; at++) good.push(bodyOf((await bench.admin.createKey({ member })).key))
  const nobodys = good.map(() => bodyOf(makeKey(randomIds)))
  // Made before anything is measured, so that making them leaves no trace in it.
  const asked = Array.from({ length: 2 * samples }, () => {
    const isNear = pick(2) === 0
    const body = (isNear ? good : nobodys)[pick(good.length)] as Uint8Array
    const apiKey = Buffer.from(near(body)).toString()
    expect(isKey(apiKey)).toBe(true)
    return { isNear, apiKey }
  })
  const times = { near: [] as number[], far: [] as number[] }
  for (const [at, { isNear, apiKey }] of asked.entries()) {
    const began = process.hrtime.bigint()
    const { status } = await bench.call('credits.show', {}, { apiKey })
    const took = Number(process.hrtime.bigint() - began)
    // The first are those of a program that is being compiled.
    if (at >= samples / 10) times[isNear ? 'near' : 'far'].push(took)
    if (status !== 401) throw new Error(`${status} for a key that is none`)
  }
  const t = welch(cropped(times.near), cropped(times.far))
  await bench.caller.close()
  expect(Math.abs(t)).toBeLessThan(4.5)
  return {
    tried: `${grouped(2 * samples)} keys that share all but a letter with one of 100 good ones, or with one of nobody (seed ${seed})`,
    measured: `Welch t ${t.toFixed(2)} (less than 4.5 either way)`,
  }
})

/** Tests a promise of a server that runs as a process. */
const soakServer = (
  title: string,
  work: (server: { pid: number; baseUrl: string; headers: Record<string, string> }) => Promise<Report>,
) =>
  soak(
    'P33',
    title,
    async () => {
      const { key } = await here.json<{ key: string }>('engine', 'keys', 'create', '--member', 'me@localhost')
      const { pid, baseUrl, stop } = await serving(prospect, here.home, '--quiet')
      try {
        return await work({ pid, baseUrl, headers: { 'content-type': 'application/json', 'x-api-key': key } })
      } finally {
        await stop()
      }
    },
    isLinux,
  )

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** A connection that says something, then a byte a second or nothing; resolves with how long it was open. */
function slow(port: number, first: string, drip: string, open: Set<Socket>): Promise<number> {
  return new Promise((resolve) => {
    const began = performance.now()
    const socket = connect(port, '127.0.0.1')
    open.add(socket)
    socket.on('error', () => {})
    socket.resume()
    socket.write(first)
    const timer = drip === '' ? undefined : setInterval(() => socket.write(drip), 1_000)
    socket.on('close', () => {
      clearInterval(timer)
      open.delete(socket)
      resolve(performance.now() - began)
    })
  })
}

soakServer(
  'slow connections are closed, and a healthy client beside them waits at most 200 ms',
  async (server) => {
    const { pid, baseUrl, headers } = server
    const ask = async () => {
      const began = performance.now()
      const body = JSON.stringify({ domain: 'nobody.example' })
      const response = await fetch(`${baseUrl}/accounts/single_enrich`, { method: 'POST', headers, body })
      await response.arrayBuffer()
      expect(response.status).toBe(404)
      return performance.now() - began
    }
    for (let at = 0; at < 200; at++) await ask()
    const baseline = descriptorsOf(pid)
    const open = new Set<Socket>()
    const { host, port } = new URL(baseUrl)
    const post = `POST /api/v2/accounts/single_enrich HTTP/1.1\r\nHost: ${host}\r\n`
    const kinds = [
      [`${post}X-Slow: `, 'a'],
      [
        `${post}Content-Type: application/json\r\nX-API-KEY: ${headers['x-api-key']}\r\nContent-Length: 1000\r\n\r\n`,
        ' ',
      ],
      [`GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`, ''],
    ] as const
    const slowly = Promise.all(
      Array.from({ length: 500 }, (_, at) => {
        const [first, drip] = kinds[at % kinds.length] ?? ['', '']
        return slow(Number(port), first, drip, open)
      }),
    )
    const asking: Promise<number>[] = []
    for (let at = 0; at < 20 * 20; at++) {
      asking.push(ask())
      await pause(50)
    }
    const waits = await Promise.all(asking)
    const left = open.size
    for (const socket of open) socket.destroy()
    const longest = Math.max(...(await slowly))
    await pause(3_000)
    const after = descriptorsOf(pid)
    const p95 = percentile(waits, 0.95)
    expect([left, after <= baseline + 2]).toEqual([0, true])
    expect(longest).toBeLessThanOrEqual(20_500)
    expect(p95).toBeLessThanOrEqual(200)
    return {
      tried: `500 connections with slow headers, slow bodies or nothing, beside ${waits.length} requests at 20 a second`,
      measured:
        `healthy p95 ${Math.round(p95)} ms (at most 200); longest slow connection ${(longest / 1_000).toFixed(1)} s ` +
        `(at most 20); descriptors ${baseline} before, ${after} afterwards`,
    }
  },
)

soakServer('memory does not grow with the number of requests', async ({ pid, baseUrl, headers }) => {
  const shoot = (amount: number) =>
    autocannon({
      url: `${baseUrl}/accounts/single_enrich`,
      connections: 20,
      amount,
      method: 'POST',
      headers,
      body: JSON.stringify({ domain: 'nobody.example' }),
    })
  // What is compiled, prepared and kept for good is there by then.
  const [warm, requests] = [some(50_000, 20_000), some(100_000, 20_000)]
  await shoot(warm)
  await pause(2_000)
  const before = memoryMb(pid)
  const { non2xx, errors, timeouts } = await shoot(requests)
  await pause(2_000)
  const growth = memoryMb(pid) - before
  expect([non2xx, errors, timeouts]).toEqual([requests, 0, 0])
  expect(growth).toBeLessThanOrEqual(30)
  return {
    tried: `${grouped(requests)} requests, after ${grouped(warm)} that are not counted`,
    measured: `memory grew by ${growth.toFixed(1)} MB from ${Math.round(before)} (at most 30)`,
  }
})
