import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
// @ts-expect-error it has no declarations
import autocannon from 'autocannon'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { alphabet, isKey, makeKey } from '../../src/engine/request/access.js'
import { freePort } from '../client/listeners.js'
import { openBench, randomIds } from '../support/engine.js'
import { random } from '../support/killed-batch.js'
import { prospect } from '../support/processes.js'
import { found, grouped } from './findings.js'
import { type KeptRunning, keepRunning } from './kept-running.js'
import { seedOf, some } from './share.js'

let home: string
let env: Record<string, string>

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'prospect-http-'))
  env = { PROSPECT_HOME: home }
  await execa(process.execPath, [prospect, 'init', '--yes', '--json'], { env })
  await execa(process.execPath, [prospect, 'engine', 'credits', 'set', '100000000'], { env })
})

afterAll(() => {
  rmSync(home, { recursive: true })
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

it('P29: the duration of a refusal does not reveal how similar a key is to a valid one', async () => {
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
  found({
    promise: 'P29',
    tried: `${grouped(2 * samples)} refusals of keys that share all but a letter with one of 100 good ones, or with one of nobody (seed ${seed})`,
    lost: 'nothing that could be told apart',
    measured: `Welch t ${t.toFixed(2)} (less than 4.5 either way)`,
  })
  expect(Math.abs(t)).toBeLessThan(4.5)
})

async function serving(): Promise<{ running: KeptRunning; pid: number; port: number; key: string }> {
  const made = await execa(
    process.execPath,
    [prospect, 'engine', 'keys', 'create', '--member', 'me@localhost', '--json'],
    { env },
  )
  const port = await freePort()
  const running = keepRunning(prospect, ['serve', '--port', String(port), '--json', '--quiet'], env)
  while (running.lines.length === 0) await pause(20)
  const { pid } = JSON.parse(running.lines[0] ?? '{}') as { pid: number }
  return { running, pid, port, key: (JSON.parse(made.stdout) as { key: string }).key }
}

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024

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

it.runIf(process.platform === 'linux')('P33: 500 slow connections beside a healthy client', async () => {
  const { running, pid, port, key } = await serving()
  try {
    const body = JSON.stringify({ domain: 'nobody.example' })
    const headers = { 'content-type': 'application/json', 'x-api-key': key }
    const url = `http://127.0.0.1:${port}/api/v2/accounts/single_enrich`
    const ask = async () => {
      const began = performance.now()
      const response = await fetch(url, { method: 'POST', headers, body })
      await response.arrayBuffer()
      expect(response.status).toBe(404)
      return performance.now() - began
    }
    for (let at = 0; at < 200; at++) await ask()
    const baseline = descriptorsOf(pid)
    const open = new Set<Socket>()
    const host = `Host: 127.0.0.1:${port}\r\n`
    const kinds = [
      [`POST /api/v2/accounts/single_enrich HTTP/1.1\r\n${host}X-Slow: `, 'a'],
      [
        `POST /api/v2/accounts/single_enrich HTTP/1.1\r\n${host}Content-Type: application/json\r\nX-API-KEY: ${key}\r\nContent-Length: 1000\r\n\r\n`,
        ' ',
      ],
      [`GET /health HTTP/1.1\r\n${host}\r\n`, ''],
    ] as const
    const slowly = Promise.all(
      Array.from({ length: 500 }, (_, at) => {
        const [first, drip] = kinds[at % kinds.length] ?? ['', '']
        return slow(port, first, drip, open)
      }),
    )
    const waits: number[] = []
    const asking: Promise<void>[] = []
    for (let at = 0; at < 20 * 20; at++) {
      asking.push(ask().then((ms) => void waits.push(ms)))
      await pause(50)
    }
    await Promise.all(asking)
    const left = open.size
    for (const socket of open) socket.destroy()
    const longest = Math.max(...(await slowly))
    await pause(3_000)
    const after = descriptorsOf(pid)
    const p95 = waits.sort((one, other) => one - other)[Math.ceil(waits.length * 0.95) - 1] ?? Number.NaN
    found({
      promise: 'P33',
      tried: `500 connections with slow headers, slow bodies or nothing, beside ${waits.length} requests at 20 a second`,
      lost: `${waits.length - 400} requests; ${left} connections left open`,
      measured:
        `healthy p95 ${Math.round(p95)} ms (at most 200); longest slow connection ${(longest / 1_000).toFixed(1)} s ` +
        `(at most 20); descriptors ${baseline} before, ${after} afterwards`,
    })
    expect([left, after <= baseline + 2]).toEqual([0, true])
    expect(longest).toBeLessThanOrEqual(20_500)
    expect(p95).toBeLessThanOrEqual(200)
  } finally {
    await running.end()
  }
})

it.runIf(process.platform === 'linux')(
  'P33: 200 clients that read nothing of what they ask for',
  async () => {
    const { running, pid, port, key } = await serving()
    try {
      const healthy = async () => {
        const began = performance.now()
        const url = `http://127.0.0.1:${port}/api/v2/credits`
        const response = await fetch(url, { headers: { 'x-api-key': key } })
        await response.arrayBuffer()
        expect(response.status).toBe(200)
        return performance.now() - began
      }
      for (let at = 0; at < 50; at++) await healthy()
      const baseline = descriptorsOf(pid)
      const request = `GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`
      // More than the buffers of both systems hold.
      const clients = Array.from({ length: 200 }, () => {
        const socket = connect(port, '127.0.0.1').on('error', () => {})
        socket.pause().write(request.repeat(50))
        return socket
      })
      const waits: number[] = []
      let most = 0
      const began = performance.now()
      do {
        waits.push(await healthy())
        most = Math.max(most, descriptorsOf(pid))
        await pause(250)
      } while (descriptorsOf(pid) > baseline + 2 && performance.now() - began < 120_000)
      const seconds = (performance.now() - began) / 1_000
      const after = descriptorsOf(pid)
      for (const socket of clients) socket.destroy()
      found({
        promise: 'P33',
        tried: `200 clients that ask for ${grouped(10_000)} documents and read none, beside ${waits.length} requests`,
        lost: `0 requests; ${Math.max(0, after - baseline - 2)} connections left open`,
        measured:
          `all closed after ${seconds.toFixed(1)} s; longest request of others ${Math.round(Math.max(...waits))} ms; ` +
          `memory ${Math.round(residentMb(pid))} MB; descriptors ${baseline} before, at most ${most}, ${after} afterwards`,
      })
      expect(most).toBeGreaterThan(baseline + 100)
      expect(after).toBeLessThanOrEqual(baseline + 2)
    } finally {
      await running.end()
    }
  },
)

it.runIf(process.platform === 'linux')('P33: 100,000 requests', async () => {
  const { running, pid, port, key } = await serving()
  try {
    const shoot = (amount: number) =>
      autocannon({
        url: `http://127.0.0.1:${port}/api/v2/accounts/single_enrich`,
        connections: 20,
        amount,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: JSON.stringify({ domain: 'nobody.example' }),
      })
    // What is compiled, prepared and kept for good is there by then.
    const [warm, requests] = [some(50_000, 20_000), some(100_000, 20_000)]
    await shoot(warm)
    await pause(2_000)
    const before = residentMb(pid)
    const { non2xx, errors, timeouts } = await shoot(requests)
    await pause(2_000)
    const growth = residentMb(pid) - before
    expect([non2xx, errors, timeouts]).toEqual([requests, 0, 0])
    found({
      promise: 'P33',
      tried: `${grouped(requests)} requests, behind ${grouped(warm)} that are not counted`,
      lost: '0 without their answer',
      measured: `memory grew by ${growth.toFixed(1)} MB from ${Math.round(before)} (at most 30)`,
    })
    expect(growth).toBeLessThanOrEqual(30)
  } finally {
    await running.end()
  }
})
