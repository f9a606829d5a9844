import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openEngine } from '../../src/index.js'
import { freePort } from '../client/listeners.js'
import { type OwnServer, ownServer } from '../support/postgres.js'
import { bundled, prospect, start } from '../support/processes.js'
import { ask, nothingHeard } from './asked.js'
import { found, grouped } from './findings.js'
import { keepRunning } from './kept-running.js'
import { some } from './share.js'

const minute = 60_000
const skews = [-10 * minute, 0, 10 * minute, 3 * minute]
const limit = 100
/** What is told is a little older when it is noted; of a busy machine it may be much. */
const toleranceMs = 500

let program: string
let server: OwnServer

beforeAll(async () => {
  program = await bundled('programs/skewed.ts')
  server = await ownServer()
}, 60_000)

afterAll(async () => {
  rmSync(program)
  await server.stop()
})

it('P45: nodes whose clocks are 20 minutes apart share each rate window and its end', async () => {
  const windows = some(4, 2)
  const { admin, close } = await openEngine({ engine: server.url })
  const { key = '' } = await admin.init()
  await close()
  const forMs = String((windows - 0.5) * minute)
  const nodes = skews.map((skew) => start(program, server.url, key, String(skew), forMs))
  expect(await Promise.all(nodes.map(({ ended }) => ended))).toEqual(skews.map(() => 0))
  const answers = nodes.flatMap(({ lines }, node) =>
    lines.map((line) => {
      const [at = 0, status, reset = 0] = line.split(' ').map(Number)
      return { node, status, endsAt: at + 1_000 * reset }
    }),
  )
  expect(answers.every(({ endsAt }) => Number.isFinite(endsAt))).toBe(true)
  const seen: (typeof answers)[] = []
  for (const answer of answers.sort((one, other) => one.endsAt - other.endsAt)) {
    const last = seen.at(-1)
    if (last && answer.endsAt - (last[0]?.endsAt ?? 0) < minute / 2) last.push(answer)
    else seen.push([answer])
  }
  expect(seen).toHaveLength(windows)
  const spreads = seen.map((one) => (one.at(-1)?.endsAt ?? 0) - (one[0]?.endsAt ?? 0))
  for (const one of seen) {
    expect(one.filter(({ status }) => status !== 429)).toHaveLength(limit)
    expect(new Set(one.map(({ node }) => node)).size).toBe(skews.length)
  }
  expect(Math.max(...spreads)).toBeLessThanOrEqual(toleranceMs)
  found({
    promise: 'P45',
    tried: `${windows} windows of ${limit}, 4 nodes with clocks from 10 minutes behind to 10 ahead, ${grouped(answers.length)} requests`,
    lost: `0 requests too many or too few in any window`,
    measured: `the ends that nodes told of one window were ${Math.max(...spreads)} ms apart at most`,
  })
})

const earlier = process.env.PROSPECT_SOAK_EARLIER

it('P45: an earlier version and this one can share a database', async () => {
  if (!earlier) {
    found({
      promise: 'P45',
      tried: 'an earlier version beside this one',
      lost: 'not run: PROSPECT_SOAK_EARLIER names no program',
    })
    return
  }
  const seconds = some(600, 20)
  const own = await ownServer()
  const home = mkdtempSync(join(tmpdir(), 'prospect-versions-'))
  // It is there first, and goes on while this one brings the schema up to date under it.
  const envOf = (at: number) => {
    mkdirSync(join(home, String(at)), { mode: 0o700 })
    return { PROSPECT_HOME: join(home, String(at)), PROSPECT_DATABASE_URL: own.url }
  }
  const [theirs, ours] = [envOf(0), envOf(1)]
  const owner = (...words: string[]) =>
    execa(process.execPath, [earlier, ...words, '--json'], { env: theirs })
  await owner('init', '--yes')
  await owner('engine', 'plan', 'set', 'scale')
  const made = await owner('engine', 'keys', 'create', '--member', 'me@localhost')
  const { key } = JSON.parse(made.stdout) as { key: string }
  const ports = [await freePort(), await freePort()]
  const serve = async (path: string, port: number | undefined, env: Record<string, string>) => {
    const running = keepRunning(path, ['serve', '--port', String(port), '--quiet'], env)
    while (running.lines.length === 0) {
      if (running.starts > 3) throw new Error(`${path} does not start: ${running.said.at(-1)}`)
      await pause(100)
    }
    return running
  }
  const nodes = [await serve(earlier, ports[0], theirs), await serve(prospect, ports[1], ours)]
  try {
    const heard = nothingHeard()
    const bases = ports.map((port) => `http://127.0.0.1:${port}/api/v2`)
    const until = performance.now() + 1_000 * seconds
    let asked = 0
    const client = async () => {
      while (performance.now() < until) {
        const at = asked++
        const body = JSON.stringify({ name: `List ${at}`, companies: [{ domain: 'c1.example' }] })
        await ask({ key: `soak-${at}`, path: '/lists', body }, bases, key, heard)
        await pause(200)
      }
    }
    await Promise.all(Array.from({ length: 4 }, client))
    const failed = [...heard.refusals].filter(([kind]) => kind.startsWith('5'))
    expect([heard.wrong, failed, nodes.map(({ starts }) => starts)]).toEqual([[], [], [1, 1]])
    found({
      promise: 'P45',
      tried: `${seconds} s, an earlier version and this one, ${grouped(asked)} lists`,
      lost: '0 answers 5xx',
    })
  } finally {
    await Promise.all(nodes.map((one) => one.end()))
    await own.stop()
    rmSync(home, { recursive: true })
  }
})
