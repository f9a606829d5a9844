import { setTimeout as pause } from 'node:timers/promises'
import { execa } from 'execa'
import pg from 'pg'
import { expect } from 'vitest'
import { openEngine } from '../../src/index.js'
import { answering, freePort, received } from '../client/listeners.js'
import { newFolder } from '../support/new-folder.js'
import { prospect } from '../support/processes.js'
import { until } from '../support/until.js'
import { type Asked, ask, type Heard, nothingHeard } from './asked.js'
import { keepRunning } from './kept-running.js'
import { count } from './load.js'
import { hasPatroni, type PatroniNode, startCluster, ttl } from './patroni-nodes.js'
import { grouped, listCounts, soak, some } from './soak.js'

const changes = some(20, 3)
const clients = 6
const database = 'prospect'
/** Seconds until requests are answered again: after PostgreSQL died or handed over, and after all of its node has gone. */
const soon = 20
const afterNode = ttl + 10

type Cluster = Awaited<ReturnType<typeof startCluster>>

interface Change {
  readonly name: string
  readonly limit: number
  readonly act: (leader: PatroniNode) => unknown
  /** What ends it, after so many seconds. */
  readonly heal?: (leader: PatroniNode) => unknown
  readonly lasts?: number
}

const kinds: readonly Change[] = [
  { name: 'PostgreSQL killed', limit: soon, act: (leader) => leader.killServer() },
  {
    name: 'leader switched over',
    limit: soon,
    act: (leader) => leader.ask('/switchover', { leader: leader.name }),
  },
  {
    name: 'node killed',
    limit: afterNode,
    act: (leader) => leader.kill(),
    heal: (leader) => leader.start(),
    lasts: ttl + 5,
  },
  {
    name: 'node frozen',
    limit: afterNode,
    act: (leader) => leader.freeze(),
    heal: (leader) => leader.thaw(),
    lasts: ttl + 15,
  },
  {
    name: 'cut off from etcd',
    limit: afterNode,
    act: (leader) => leader.cutOff(),
    heal: (leader) => leader.mend(),
    lasts: ttl + 15,
  },
  {
    name: 'disk full',
    // The server lives, and refuses what it has no room for: no reason for Patroni to replace it.
    limit: ttl + 10 + soon,
    act: (leader) => leader.fill(),
    heal: (leader) => leader.clear(),
    lasts: ttl + 10,
  },
]

async function inLeader(cluster: Cluster, sql: string, at = database) {
  const leader = await cluster.leader()
  const client = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${leader?.port}/${at}` })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

const numberIn = async (cluster: Cluster, sql: string) => Number((await inLeader(cluster, sql))[0]?.n)

/** Two servers and two workers: one of each finds the primary by itself, the other goes through PgBouncer and HAProxy. */
async function startOurs(cluster: Cluster, folder: ReturnType<typeof newFolder>, target: string) {
  const { mkdirSync } = await import('node:fs')
  const direct = { PROSPECT_DATABASE_URL: cluster.direct(database) }
  const pooled = {
    PROSPECT_DATABASE_URL: cluster.pooled(database),
    PROSPECT_DATABASE_DIRECT_URL: cluster.direct(database),
  }
  const envOf = (name: string, env: object) => {
    mkdirSync(folder.at(name), { mode: 0o700 })
    return { PROSPECT_HOME: folder.at(name), ...env }
  }
  const ports = [await freePort(), await freePort()] as const
  await cluster.balance(ports)
  const engine = await openEngine({ engine: cluster.direct(database) })
  const key = (await engine.admin.init()).key ?? ''
  await engine.admin.setPlan('scale')
  await engine.admin.setCredits(100_000_000)
  await engine.close()
  const companies = Array.from({ length: 100 }, (_, at) => `Company ${at},c${at}.example`)
  const people = 'first_name,last_name,email,company_domain\nAnn,Lee,ann@c1.example,c1.example\n'
  for (const [kind, input] of [
    ['companies', `name,domain\n${companies.join('\n')}\n`],
    ['people', people],
  ] as const)
    await execa(process.execPath, [prospect, 'data', 'import', kind, '-'], {
      env: envOf(`import-${kind}`, direct),
      input,
    })
  const serve = (port: number) => [
    'serve',
    '--port',
    String(port),
    '--quiet',
    '--no-worker',
    '--allow-host',
    `127.0.0.1:${cluster.api}`,
    '--allow-target',
    target,
  ]
  const work = ['worker', '--allow-target', target]
  const all = [
    keepRunning(prospect, serve(ports[0]), envOf('api-1', direct)),
    keepRunning(prospect, serve(ports[1]), envOf('api-2', pooled)),
    keepRunning(prospect, work, envOf('worker-1', direct)),
    keepRunning(prospect, work, envOf('worker-2', pooled)),
  ]
  const bases = [...ports, cluster.api].map((port) => `http://127.0.0.1:${port}`)
  await until(async () => (await Promise.all(bases.map(isReady))).every(Boolean), 600_000)
  return { key, bases, all, end: async () => void (await Promise.all(all.map((one) => one.end()))) }
}

const isReady = (base: string) =>
  fetch(`${base}/ready`, { signal: AbortSignal.timeout(3_000) }).then(
    ({ status }) => status === 200,
    () => false,
  )

interface Answered extends Asked {
  readonly began: number
  ended: number
}

/** Clients that ask for what is paid, each third time for a job that ends in a webhook, through both servers. */
async function askAll(
  bases: readonly string[],
  key: string,
  hook: string,
  heard: Heard,
  isOver: () => boolean,
): Promise<Answered[]> {
  const all: Answered[] = []
  const client = async () => {
    while (!isOver()) {
      const at = all.length
      const body =
        at % 3 === 2
          ? {
              ...{ firstname: 'Ann', lastname: 'Lee', domain: 'c1.example', enrichment_type: ['email'] },
              ...{ webhook_url: hook, custom: { row: String(at) } },
            }
          : { domain: `c${at % 100}.example` }
      const path = at % 3 === 2 ? '/contacts/single_enrich' : '/accounts/single_enrich'
      const one = { key: `soak-${at}`, path, body: JSON.stringify(body), began: Date.now(), ended: 0 }
      all.push(one)
      await ask(
        one,
        bases.map((base) => `${base}/api/v2`),
        key,
        heard,
      )
      one.ended = Date.now()
      await pause(50)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return all
}

/** When each server last answered a paid request, and was ready; the longest gap of each since it was last asked. */
function watch(bases: readonly string[], key: string, isOver: () => boolean) {
  const last = bases.map(() => Date.now())
  const longest = bases.map(() => 0)
  let paid = 0
  const look = async (base: string, at: number) => {
    while (!isOver()) {
      const status = await fetch(`${base}/api/v2/accounts/single_enrich`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-api-key': key,
          'idempotency-key': `watch-${at}-${paid++}`,
        },
        body: JSON.stringify({ domain: 'c1.example' }),
        signal: AbortSignal.timeout(2_500),
      }).then(
        (response) => response.text().then(() => response.status),
        () => 0,
      )
      if (status === 200) {
        longest[at] = Math.max(longest[at] ?? 0, Date.now() - (last[at] ?? 0))
        last[at] = Date.now()
      }
      await pause(200)
    }
  }
  const done = Promise.all(bases.map(look))
  return {
    done,
    /** Returns the longest gap of any server in seconds, also one that lasts, and begins anew. */
    take: () => {
      const lasting = last.map((at) => Date.now() - at)
      const most = Math.max(...longest, ...lasting) / 1_000
      longest.fill(0)
      return most
    },
  }
}

async function soakOf(isSynchronous: boolean, times: number) {
  const folder = newFolder()
  const cluster = await startCluster(folder.path, isSynchronous)
  const arrived = new Set<string>()
  const receiver = await answering(async (request, response) => {
    const { body } = await received(request)
    const { custom } = JSON.parse(body) as { custom?: { row?: string } }
    if (custom?.row !== undefined) arrived.add(custom.row)
    response.writeHead(204).end()
  })
  let ours: Awaited<ReturnType<typeof startOurs>> | undefined
  let isOver = false
  try {
    await inLeader(cluster, `CREATE DATABASE ${database}`, 'postgres')
    ours = await startOurs(cluster, folder, '127.0.0.1')
    const { bases, key } = ours
    const heard = nothingHeard()
    const asking = askAll(bases, key, `${receiver.origin}/hooks`, heard, () => isOver)
    const watching = watch(bases.slice(0, 2), key, () => isOver)
    const gaps: {
      readonly name: string
      readonly limit: number
      readonly from: number
      readonly until: number
      readonly gap: number
    }[] = []
    const counts = new Map<string, number>()
    for (let at = 0; at < times; at++) {
      const change = kinds[at % kinds.length] as Change
      await until(cluster.isWhole, 600_000)
      await until(async () => (await Promise.all(bases.map(isReady))).every(Boolean), 600_000)
      await pause(3_000)
      watching.take()
      const leader = (await cluster.leader()) as PatroniNode
      const from = Date.now()
      await change.act(leader)
      await pause(1_000 * (change.lasts ?? 8))
      await change.heal?.(leader)
      await until(cluster.isWhole, 600_000)
      await until(async () => (await Promise.all(bases.map(isReady))).every(Boolean), 600_000)
      await pause(1_000)
      const gap = watching.take()
      gaps.push({ name: change.name, limit: change.limit, from, until: Date.now(), gap })
      count(counts, change.name)
      process.stderr.write(
        `${at + 1} ${change.name} at ${leader.name}: no answer for at most ${gap.toFixed(1)} s\n`,
      )
    }
    isOver = true
    const asked = await asking
    await watching.done
    // Whatever was acknowledged is known, with the same words; what is asked again is not paid again.
    let lost = 0
    const waiting = [...asked]
    const check = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop())
        if (!(await ask(next, [`${bases[0]}/api/v2`], key, heard))) lost++
    }
    await Promise.all(Array.from({ length: clients }, check))
    const jobs = asked.filter(({ path }) => path !== '/accounts/single_enrich')
    const isArrived = () => arrived.size === jobs.length
    const patience = Date.now() + 120_000
    await until(() => isArrived() || Date.now() > patience, 600_000)
    const engine = await openEngine({ engine: cluster.direct(database) })
    const { problems } = await engine.admin.verify()
    await engine.close()
    const paid = await numberIn(cluster, charges)
    const watched = await numberIn(
      cluster,
      "SELECT count(*) AS n FROM replies WHERE key LIKE 'watch-%' AND status = 200",
    )
    const failed = await inLeader(
      cluster,
      "SELECT id, state, error, spent FROM jobs WHERE state <> 'finished' OR spent <> 3",
    )
    const said = [...new Set(ours.all.flatMap((one) => one.said))]
    return { asked, jobs, arrived, gaps, counts, heard, lost, problems, paid, watched, failed, said }
  } finally {
    isOver = true
    await ours?.end()
    await receiver.close()
    await cluster.remove()
    folder.remove()
  }
}

const charges = "SELECT coalesce(sum(amount), 0) AS n FROM movements WHERE kind IN ('charge', 'settle')"
/** How long requests that were sent while a change lasted waited for the answer under their key, at most, by its kind. */
const waitsOf = ({ asked, gaps }: Awaited<ReturnType<typeof soakOf>>) =>
  longestOf(
    gaps.map(({ name, from, until: to }) => {
      const waits = asked
        .filter(({ began, ended }) => began < to && ended > from)
        .map((one) => one.ended - one.began)
      return { name, gap: Math.max(0, ...waits) / 1_000 }
    }),
  )

const longestOf = (gaps: readonly { name: string; gap: number }[]) =>
  [...new Set(gaps.map(({ name }) => name))]
    .map((name) => {
      const own = gaps.filter((one) => one.name === name).map(({ gap }) => gap)
      return `${name} ${Math.max(...own).toFixed(1)} s`
    })
    .join(', ')

soak(
  'P50',
  'a change of the primary under Patroni loses nothing that was acknowledged, and pays nothing twice',
  async () => {
    const found = await soakOf(true, changes)
    const { asked, jobs, arrived, gaps, counts, heard, lost, problems, paid, watched, failed, said } = found
    const report = {
      tried: `${changes} changes (${listCounts(counts)}): ${grouped(asked.length)} requests with keys, ${grouped(jobs.length)} jobs with webhooks`,
      measured: `longest without an answer: ${longestOf(gaps)}; longest wait for the answer under a key: ${waitsOf(found)}; told to ask again: ${listCounts(heard.refusals) || 'nobody'}`,
    }
    process.stderr.write(`${JSON.stringify({ ...report, lost, paid, watched, arrived: arrived.size })}\n`)
    expect(heard.wrong).toEqual([])
    expect([lost, problems]).toEqual([0, []])
    expect(arrived.size).toBe(jobs.length)
    // What a process said explains why it gave up accepted work.
    expect(failed, said.join('\n')).toEqual([])
    expect(paid).toBe(asked.length - jobs.length + 3 * jobs.length + watched)
    expect(gaps.filter(({ gap, limit }) => gap > limit)).toEqual([])
    return report
  },
  hasPatroni,
)

soak(
  'P50',
  'without a synchronous standby what a failover loses is counted',
  async () => {
    const times = some(6, 3)
    const { asked, gaps, lost, counts, heard } = await soakOf(false, times)
    const other = heard.wrong.filter((text) => !text.startsWith('another answer'))
    expect(other).toEqual([])
    return {
      tried: `${times} changes (${listCounts(counts)}): ${grouped(asked.length)} requests with keys`,
      measured: `${lost} acknowledged requests lost; longest without an answer: ${longestOf(gaps)}`,
    }
  },
  hasPatroni,
)
