import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, expect } from 'vitest'
import { openEngine } from '../../src/index.js'
import { freePort } from '../client/listeners.js'
import { type CutConnection, cutConnection } from '../support/cut-connection.js'
import { perFile } from '../support/each.js'
import { random } from '../support/killed-batch.js'
import { newFolder } from '../support/new-folder.js'
import { ownServer } from '../support/postgres.js'
import { prospect } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { type Asked, ask, type Heard, nothingHeard } from './asked.js'
import { type KeptRunning, keepRunning } from './kept-running.js'
import { count } from './load.js'
import { grouped, listCounts, seedOf, soak, some } from './soak.js'

const seconds = some(300, 20)
const clients = 12
const banks = 8
const each = 1_000
const everything = 100_000_000
/** Longer than the lease of a job and the claim of a key. */
const suspendedMs = 35_000

const bank = await bundled('programs/worker-bank.ts')
const server = perFile(ownServer)
const folder = perFile(newFolder)
let apiKey: string
let ways: CutConnection[] = []

/** A way of its own to the database for each process, so that each can be cut off alone. */
const through = (way: CutConnection | undefined) => `postgres://postgres@127.0.0.1:${way?.port}/postgres`

beforeAll(async () => {
  const engine = await openEngine({ engine: server.url })
  apiKey = (await engine.admin.init()).key ?? ''
  await engine.admin.setPlan('scale')
  await engine.admin.setCredits(everything)
  for (let at = 0; at < banks; at++) {
    await engine.admin.createWorkspace(`bank ${at}`)
    await engine.admin.useWorkspace(`bank ${at}`)
    await engine.admin.setCredits(each)
  }
  await engine.admin.useWorkspace('Local')
  await engine.close()
  const companies = Array.from({ length: 100 }, (_, at) => `Company ${at},c${at}.example`)
  await execa(process.execPath, [prospect, 'data', 'import', 'companies', '-'], {
    env: { PROSPECT_HOME: folder.path, PROSPECT_DATABASE_URL: server.url },
    input: `name,domain\n${companies.join('\n')}\n`,
  })
  await server.sql(conflicts)
  ways = await Promise.all(Array.from({ length: 8 }, () => cutConnection(server.folder)))
}, 120_000)

afterAll(() => Promise.all(ways.map((way) => way.close())))

/** One transaction in twenty that pays is undone, as if it had met another one; how often is counted outside of it. */
const conflicts = `
CREATE SEQUENCE soak_conflicts;
CREATE FUNCTION soak_conflict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF hashint8(CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)) % 20 = 0 THEN
    PERFORM nextval('soak_conflicts');
    IF random() < 0.5 THEN RAISE EXCEPTION 'soak' USING ERRCODE = '40001'; END IF;
    RAISE EXCEPTION 'soak' USING ERRCODE = '40P01';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER soak_conflict BEFORE INSERT ON movements FOR EACH ROW EXECUTE FUNCTION soak_conflict()`

type Nodes = Awaited<ReturnType<typeof startNodes>>

/** Three servers and two workers, each with a home and a way of its own; two that move credits, and two that look. */
async function startNodes() {
  const envOf = (at: number) => {
    mkdirSync(folder.at(String(at)), { mode: 0o700 })
    return { PROSPECT_HOME: folder.at(String(at)), PROSPECT_DATABASE_URL: through(ways[at]) }
  }
  const ports = await Promise.all([0, 1, 2].map(freePort))
  const servers = ports.map((port, at) =>
    keepRunning(prospect, ['serve', '--port', String(port), '--quiet', '--no-worker'], envOf(at)),
  )
  const workers = [3, 4].map((at) => keepRunning(prospect, ['worker', '--quiet'], envOf(at)))
  const total = String(banks * each)
  const bankers = ['write', 'write', 'read', 'read'].map((role, at) =>
    keepRunning(bank, [through(ways[5 + (at % 3)]), role, total]),
  )
  const all = [...servers, ...workers]
  return {
    bases: ports.map((port) => `http://127.0.0.1:${port}/api/v2`),
    all,
    bankers,
    end: async () => void (await Promise.all([...all, ...bankers].map((one) => one.end()))),
  }
}

/** What goes wrong, at random, until it is over; answers how often each did. */
async function havoc(nodes: Nodes, isOver: () => boolean, seed: number): Promise<Map<string, number>> {
  const pick = random(seed)
  const counts = new Map<string, number>()
  const wayOf = () => ways[pick(ways.length)]
  // One at a time, so that there are others to take over.
  let suspended: Promise<void> | undefined
  const suspend = (node: KeptRunning | undefined) => {
    suspended ??= node?.standStill(suspendedMs).then(() => {
      suspended = undefined
    })
  }
  const acts: Record<string, () => unknown> = {
    'nodes killed': () => nodes.all[pick(nodes.all.length)]?.kill(),
    'bankers killed': () => nodes.bankers[pick(nodes.bankers.length)]?.kill(),
    'database stopped at once': () => server.crash(),
    'half-open, the node waiting': () => wayOf()?.strandAll('client'),
    'half-open, the database waiting': () => wayOf()?.strandAll('server'),
    'half-open, both waiting': () => wayOf()?.freezeAll(),
    'suspended for longer than a lease': () => void suspend(nodes.all[pick(nodes.all.length)]),
    'cut off for a second': async () => {
      const way = wayOf()
      way?.cutAll()
      await pause(1_000)
      way?.mend()
    },
  }
  const names = Object.keys(acts)
  // A way that is half-open holds others up for up to 40 seconds.
  const weights = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 6, 6, 7, 7, 7]
  for (let at = 0; !isOver(); at++) {
    await pause(1_000 + pick(2_500))
    // Each in turn first, so that a short form has all of them.
    const name = names[at < names.length ? at : (weights[pick(weights.length)] ?? 0)] ?? ''
    await acts[name]?.()
    count(counts, name)
  }
  await suspended
  return counts
}

/** Clients that ask for what is paid, and now and then for a list, until it is over. */
async function askAll(nodes: Nodes, isOver: () => boolean, heard: Heard): Promise<Asked[]> {
  const all: Asked[] = []
  const next = (): Asked => {
    const at = all.length
    const asked =
      at % 40 === 39
        ? {
            path: '/lists',
            body: JSON.stringify({ name: `List ${at}`, companies: [{ domain: 'c1.example' }] }),
          }
        : { path: '/accounts/single_enrich', body: JSON.stringify({ domain: `c${at % 100}.example` }) }
    all.push({ key: `soak-${at}`, ...asked })
    return all[at] as Asked
  }
  const client = async () => {
    while (!isOver()) await ask(next(), nodes.bases, apiKey, heard)
  }
  await Promise.all(Array.from({ length: clients }, client))
  return all
}

const one = async (sql: string) => Number((await server.sql(sql))[0]?.n)

const isPaid = ({ path }: Asked) => path !== '/lists'

const charges = `SELECT coalesce(sum(amount), 0) AS n FROM movements m JOIN workspaces w ON w.id = m.workspace_id
  WHERE w.name = 'Local' AND kind = 'charge'`

soak('P43', 'three nodes and two workers lose nothing and pay once, whatever goes wrong', async () => {
  const seed = seedOf()
  const heard = nothingHeard()
  const nodes = await startNodes()
  const until = performance.now() + 1_000 * seconds
  const isOver = () => performance.now() > until
  try {
    const [asked, counts] = await Promise.all([askAll(nodes, isOver, heard), havoc(nodes, isOver, seed)])
    const times = asked.length
    expect(heard.wrong).toEqual([])
    // Whatever was confirmed is known to another node, with the same words.
    let executedAgain = 0
    const waiting = [...asked]
    const check = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop())
        if (!(await ask(next, nodes.bases, apiKey, heard))) executedAgain++
    }
    await Promise.all(Array.from({ length: clients }, check))
    expect([executedAgain, heard.wrong]).toEqual([0, []])
    expect(await one(charges)).toBe(asked.filter(isPaid).length)
    expect(await one('SELECT count(*) AS n FROM lists')).toBe(times - asked.filter(isPaid).length)
    while ((await one("SELECT count(*) AS n FROM jobs WHERE state IN ('queued', 'running')")) > 0)
      await pause(100)
    expect(await one("SELECT count(*) AS n FROM jobs WHERE state = 'failed'")).toBe(0)
    await nodes.end()
    const seen = nodes.bankers.flatMap(({ lines }) => lines)
    expect(seen.filter((line) => line !== 'ok' && line !== 'away')).toEqual([])
    const { admin, close } = await openEngine({ engine: server.url })
    for (const { name } of await admin.workspaces()) {
      await admin.useWorkspace(name)
      expect((await admin.verify()).problems).toEqual([])
    }
    await close()
    const injected = await one('SELECT last_value AS n FROM soak_conflicts')
    const told = heard.refusals.size === 0 ? 'nobody' : listCounts(heard.refusals)
    return {
      tried:
        `${seconds} s, 3 servers, 2 workers, 4 bankers: ${grouped(times)} requests with keys, ` +
        `${grouped(seen.length)} looks and transfers; ${listCounts(counts)}; ${injected} conflicts injected (seed ${seed})`,
      measured: `longest wait for an answer ${(Math.max(...heard.waits) / 1_000).toFixed(1)} s; told to ask again: ${told}`,
    }
  } finally {
    await nodes.end()
  }
})
