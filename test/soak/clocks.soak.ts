import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { execa } from 'execa'
import { expect } from 'vitest'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { sharedClock } from '../../src/engine/clock.js'
import { takeQuota } from '../../src/engine/credits/quotas.js'
import { findWorkspace } from '../../src/engine/tables/members.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { openEngine } from '../../src/index.js'
import { freePort } from '../client/listeners.js'
import { perFile, perTest } from '../support/each.js'
import { randomIds } from '../support/engine.js'
import { random } from '../support/killed-batch.js'
import { newFolder } from '../support/new-folder.js'
import { ownServer } from '../support/postgres.js'
import { prospect, serving, start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { ask, nothingHeard } from './asked.js'
import { keepRunning } from './kept-running.js'
import { grouped, seedOf, soak, some } from './soak.js'

const minute = 60_000
const skews = [-10 * minute, 0, 10 * minute, 3 * minute]
const limit = 100
/** What is told is a little older when it is noted; of a busy machine it may be much. */
const toleranceMs = 500

const program = await bundled('programs/skewed.ts')
const server = perFile(ownServer)
const folder = perTest(newFolder)

soak('P45', 'nodes whose clocks are 20 minutes apart share each rate window and its end', async () => {
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
  return {
    tried: `${windows} windows of ${limit}, 4 nodes with clocks from 10 minutes behind to 10 ahead, ${grouped(answers.length)} requests`,
    measured: `the ends that nodes told of one window were ${Math.max(...spreads)} ms apart at most`,
  }
})

const earlier = process.env.PROSPECT_SOAK_EARLIER

soak('P45', 'an earlier version and this one can share a database', async () => {
  if (!earlier) return { notRun: 'PROSPECT_SOAK_EARLIER names no program' }
  const seconds = some(600, 20)
  const own = await ownServer()
  // It is there first, and goes on while this one brings the schema up to date under it.
  const envOf = (at: number) => {
    mkdirSync(folder.at(String(at)), { mode: 0o700 })
    return { PROSPECT_HOME: folder.at(String(at)), PROSPECT_DATABASE_URL: own.url }
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
    return { tried: `${seconds} s, ${grouped(asked)} lists` }
  } finally {
    await Promise.all(nodes.map((one) => one.end()))
    await own.stop()
  }
})

const day = 1_440 * minute
/** How much later than measured something may have happened, on a busy machine. */
const slackMs = 2_000

/** A count with its end, in engine time. */
interface Span {
  readonly count: number
  readonly endsAt: number
}

/** Returns what a span has to be at a moment: over, as it was, or, when it begins later, begun then. */
const spanAt = ({ count, endsAt }: Span, lengthMs: number, now: number): Span => {
  if (now >= endsAt) return { count: 0, endsAt: now + lengthMs }
  return now < endsAt - lengthMs ? { count, endsAt: now + lengthMs } : { count, endsAt }
}

/** Returns whether a moment is so near to the end of a span that it may be over or not. */
const isNear = ({ endsAt }: Span, now: number): boolean => Math.abs(now - endsAt) < slackMs

for (const database of ['SQLite', 'PostgreSQL'])
  soak(
    'P49',
    `three servers on ${database} keep every count and every end through steps of the clock`,
    async () => {
      const [seed, steps] = [seedOf(), some(1_000, 40)]
      const pick = random(seed)
      const own = database === 'PostgreSQL' ? await ownServer() : undefined
      const location = own?.url ?? folder.at('engine.db')
      const store = await openEngineDatabase(location)
      const admin = createAdmin({ store, clock: sharedClock(store, { now: Date.now }), ids: randomIds })
      const { key = '' } = await admin.init()
      await admin.changeMember('me@localhost', { weeklyLimit: 1_000_000 })
      const env = { PROSPECT_HOME: folder.path, PROSPECT_DATABASE_URL: location }
      await execa(process.execPath, [prospect, 'data', 'import', 'companies', '-'], {
        env,
        input: 'name,domain\nKnown,known.example\n',
      })
      const servers = await Promise.all(
        [0, 1, 2].map(() => serving(prospect, folder.path, '--database', location)),
      )
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      /** Sends a request to a server; resolves with the window as that server tells it. */
      const send = async (server: number, path: string, body?: object) => {
        const sent = body ? { method: 'POST', body: JSON.stringify(body) } : {}
        const response = await fetch(`${servers[server]?.baseUrl}${path}`, { headers, ...sent })
        await response.arrayBuffer()
        const told = (name: string) => Number(response.headers.get(name))
        const count = told('ratelimit-limit') - told('ratelimit-remaining')
        return { status: response.status, count, leftMs: 1_000 * told('x-ratelimit-reset-after') }
      }
      /** Takes a company from the quota of the day. */
      const importOne = () =>
        store.transaction(async (tx) => {
          const workspace = await findWorkspace(tx)
          if (workspace) await takeQuota(tx, workspace, 'companies', 1, Math.round(engineNow()))
        })
      let engineAt = { now: (await admin.clock()).now, at: performance.now() }
      const engineNow = () => engineAt.now + performance.now() - engineAt.at
      const setClock = async (now: number, byCommand: boolean) => {
        const whole = 1_000 * Math.round(now / 1_000)
        if (byCommand)
          await execa(process.execPath, [prospect, 'engine', 'clock', 'set', new Date(whole).toISOString()], {
            env,
          })
        else await admin.setClock(whole, false)
        const { now: after } = await admin.clock()
        engineAt = { now: after, at: performance.now() }
      }
      let window: Span = { count: 0, endsAt: 0 }
      let [compared, near, refused] = [0, 0, 0]
      const wrong: string[] = []
      const compare = (what: string, is: Span, due: Span) => {
        compared++
        if (is.count !== due.count || Math.abs(is.endsAt - due.endsAt) > slackMs)
          wrong.push(`${what}: ${is.count} until ${is.endsAt}, should be ${due.count} until ${due.endsAt}`)
      }
      const longs = async () => {
        const { weekly, quotas } = await admin.limits(key)
        return [
          { name: 'week', lengthMs: 7 * day, count: weekly?.spent ?? -1, endsAt: weekly?.resetsAt ?? -1 },
          {
            name: 'day',
            lengthMs: day,
            count: quotas.daily_company_import.used,
            endsAt: quotas.daily_company_import.resetsAt,
          },
        ]
      }
      try {
        for (let step = 0; step < steps; step++) {
          await send(pick(3), '/accounts/single_enrich', { domain: 'known.example' })
          await importOne()
          const before = await longs()
          // Mostly short and back, so that windows become full.
          const seconds = pick(25) === 0 ? pick(80 * 86_400) - 40 * 86_400 : pick(75) - 50
          await setClock(engineNow() + 1_000 * seconds, pick(20) === 0)
          for (let times = 3 + pick(5); times > 0; times--) {
            const now = engineNow()
            const { status, count, leftMs } = await send(pick(3), '/accounts/technologies')
            const took = engineNow() - now
            const is = { count, endsAt: engineNow() + leftMs }
            if (status === 429) refused++
            const due = spanAt(window, minute, now)
            if (took > slackMs || isNear(window, now)) near++
            else if (status === 429) compare('refused', is, { ...due, count: limit })
            else if (status !== 200) wrong.push(`status ${status}`)
            else compare('window', is, { ...due, count: due.count + 1 })
            window = is
          }
          const now = engineNow()
          for (const [at, after] of (await longs()).entries()) {
            const { name, lengthMs, ...span } = before[at] as (typeof before)[number]
            const due = spanAt(span, lengthMs, now)
            if (isNear(span, now)) near++
            else if (now >= span.endsAt) compared++
            else compare(name, after, due)
            if (after.endsAt > now + lengthMs + slackMs) wrong.push(`${name} ends after more than its length`)
          }
        }
        expect(wrong).toEqual([])
        expect(compared).toBeGreaterThan(near)
        expect(refused).toBeGreaterThan(0)
        expect((await admin.verify()).problems).toEqual([])
        return {
          tried: `${grouped(steps)} steps of the engine's clock by up to 40 days (seed ${seed})`,
          measured: `${grouped(compared)} comparisons; ${grouped(refused)} of the requests were refused; ${grouped(near)} answers too near to an end to compare`,
        }
      } finally {
        await Promise.all(servers.map(({ stop }) => stop()))
        await store.close()
        await own?.stop()
      }
    },
  )
