import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/engine/admin/admin.js'
import { listWorkspaces } from '../../src/engine/tables/members.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { served } from '../client/serving.js'
import { runBank } from '../support/bank.js'
import { tries } from '../support/effort.js'
import { randomIds } from '../support/engine.js'
import { freshSchema, type TestDatabase } from '../support/postgres.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'

let program: string
let bank: string
let schema: TestDatabase
let store: Driver
let admin: Admin
let key: string

beforeAll(async () => {
  program = await bundled('programs/client.ts')
  bank = await bundled('programs/worker-bank.ts')
})

beforeEach(async () => {
  schema = await freshSchema()
  store = await openEngineDatabase(schema.url)
  admin = createAdmin({ store, clock: { now: () => Date.now() }, ids: randomIds })
  key = (await admin.init()).key ?? ''
})

afterEach(async () => {
  await store.close()
  await schema.drop()
})

/** Runs a node per clock that is wrong by so many milliseconds; answers what each call came to. */
const calls = (skews: readonly number[], ...args: string[]): Promise<string[]> => callsAt([], skews, ...args)

/** Like `calls`. Nodes with a server's address and its key are governed proxies in front of it. */
async function callsAt(
  server: readonly string[],
  skews: readonly number[],
  ...args: string[]
): Promise<string[]> {
  const running = skews.map((skew) => start(program, schema.url, key, ...args, String(skew), ...server))
  expect(await Promise.all(running.map(({ ended }) => ended))).toEqual(running.map(() => 0))
  return running.flatMap(({ lines }) => lines)
}

const withStatus = (lines: readonly string[], status: number) =>
  lines.filter((line) => line.split(' ')[1] === String(status))

const right = tries([0, 0], [0, 0, 0, 0])
const minutes = 60_000

describe('several nodes on one PostgreSQL', () => {
  it('P02: spend exactly the balance', async () => {
    const credits = tries(40, 100)
    await admin.setCredits(credits)
    const lines = await calls(right, 'accounts.enrich', String(credits), '16', '-')
    expect(withStatus(lines, 200)).toHaveLength(credits)
    expect(withStatus(lines, 402)).toHaveLength(credits * right.length - credits)
    expect((await admin.status()).credits.enrichment).toBe(0)
    expect((await admin.verify()).ok).toBe(true)
  })

  it('P06, P45: admit exactly the plan limit, however wrong their clocks are', async () => {
    const skews = tries([-10 * minutes, 3 * minutes], [-10 * minutes, 0, 10 * minutes, 3 * minutes])
    const lines = await calls(skews, 'accounts.technologies', '60', '12', '-')
    expect(withStatus(lines, 200)).toHaveLength(100)
    expect(withStatus(lines, 429)).toHaveLength(60 * skews.length - 100)
  })

  it('P10: execute a key once, however many send it', async () => {
    const lines = await calls(right, 'accounts.enrich', '25', '5', 'key')
    expect(lines.filter((line) => line.endsWith('200 executed'))).toHaveLength(25)
    expect(withStatus(lines, 200).length + withStatus(lines, 409).length).toBe(25 * right.length)
    expect((await admin.status()).credits.enrichment).toBe(975)
  })

  it('P59: spend exactly the weekly limit of a member at a server behind several governed proxies', async () => {
    const { bench, server, close } = await served()
    const upstream = [server.baseUrl, bench.key]
    await admin.changeMember('me@localhost', { weeklyLimit: 60 })
    const nodes = [-10 * minutes, 0, 10 * minutes, ...tries<readonly number[]>([], [0, 0, 3 * minutes, 0, 0])]
    const lines = await callsAt(upstream, nodes, 'accounts.enrich', String(tries(40, 300)), '6', '-')
    const known = lines.filter((line) => Number(line.split(' ')[0]) % 3 !== 0)
    expect(withStatus(known, 200)).toHaveLength(60)
    expect(withStatus(known, 403)).toHaveLength(known.length - 60)
    expect(await bench.balance()).toBe(1_000 - 60)
    const again = await callsAt(upstream, [0], 'accounts.enrich', '6', '6', '-')
    expect(withStatus(again, 403)).toHaveLength(6)
    await close()
  })

  it('P12, P43: give every key one effect, however often nodes are killed', async () => {
    const acknowledged = new Set<string>()
    const keys = tries(60, 200)
    for (let kill = 0; kill < tries(1, 4); kill++) {
      const running = start(program, schema.url, key, 'accounts.enrich', String(keys), '8', 'key')
      while (running.lines.length < 5 + kill * 7 && running.child.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 2))
      running.child.kill('SIGKILL')
      await running.ended
      for (const line of withStatus(running.lines, 200)) acknowledged.add(line.split(' ')[0] ?? '')
    }
    // As if the leases of the killed ones had run out.
    await schema.sql('UPDATE replies SET lease_until = 0 WHERE status IS NULL')
    const lines = await calls([0], 'accounts.enrich', String(keys), '8', 'key')
    expect(withStatus(lines, 200)).toHaveLength(keys)
    const executed = lines.filter((line) => line.endsWith('executed')).map((line) => line.split(' ')[0] ?? '')
    expect(executed.filter((at) => acknowledged.has(at))).toEqual([])
    expect((await admin.status()).credits.enrichment).toBe(1_000 - keys)
    expect((await admin.verify()).ok).toBe(true)
  })

  it('P42: see one total at every moment, whoever moves credits', async () => {
    const own = await freshSchema()
    const banked = await runBank(bank, {
      ms: tries(300, 3_000),
      kills: tries(1, 3),
      writers: tries(2, 3),
      readers: tries(1, 2),
      location: own.url,
    })
    expect(banked.transfers).toBeGreaterThan(0)
    expect(banked.looks).toBeGreaterThan(0)
    await own.drop()
  })

  it('P39: migrate the schema once when eight start at the same time', async () => {
    const fresh = await freshSchema()
    const stores = await Promise.all(Array.from({ length: 8 }, () => openEngineDatabase(fresh.url)))
    for (const one of stores) expect(await one.read((tx) => listWorkspaces(tx))).toEqual([])
    await Promise.all(stores.map((one) => one.close()))
    await fresh.drop()
  })
})
